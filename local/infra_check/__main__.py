"""`python -m local.infra_check [--update]`: check infra/, or write its plans; exit 1 on findings."""

import sys

from local.infra_check import snapshots
from local.infra_check.check import check
from local.infra_check.tree import Tree


def main(arguments: list[str], tree: Tree) -> int:
    """Print one finding per line, or the numbers of checked files and plans."""
    if arguments == ["--update"]:
        tree = update(tree)
    found = check(tree)
    for finding in found:
        print(finding)
    if any(finding.code == snapshots.CODE for finding in found):
        print("If these changes are intended, run `make infra UPDATE=1` and commit infra/plans.")
    if not found:
        print(f"infra: {len(tree.sources)} files and {len(snapshots.scenarios(tree))} plans without a finding")
    return 1 if found else 0


def update(tree: Tree) -> Tree:
    """Write the plan of each scenario, and return the tree with them."""
    written = {name: content for name, _, content in snapshots.make_plans(tree)}
    written[snapshots.INTERFACE] = snapshots.make_interface(tree)
    for name, content in written.items():
        (tree.root / name).write_text(snapshots.dump(content), "utf-8")
    return Tree(tree.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Tree()))
