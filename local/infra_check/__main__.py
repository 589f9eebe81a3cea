"""`python -m local.infra_check [DIRECTORY]`: check DIRECTORY/infra, by default this project's; exit 1 on findings."""

import sys
from pathlib import Path

from local.infra_check.check import check, read


def main(arguments: list[str]) -> int:
    """Print one finding a line, or how much was looked at."""
    root = Path(arguments[0]).resolve() if arguments else Path(__file__).resolve().parents[2]
    findings = check(root)
    for finding in findings:
        print(finding)
    if not findings:
        print(f"infra: {len(read(root))} files without a finding")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
