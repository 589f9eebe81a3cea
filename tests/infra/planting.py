"""The project with mistakes, each planted by one edit in memory."""

from local.infra_check.tree import Tree

MAIN = "infra/main.bicep"
NAMES = "infra/names.json"
STORAGE = "infra/modules/storage.bicep"


def planted(*edits: tuple[str, str, str]) -> Tree:
    """The project with edits: file, old text, new text."""
    texts: dict[str, str] = {}
    for file, old, new in edits:
        before = texts.get(file) or Tree().text(file)
        assert old in before
        texts[file] = before.replace(old, new)
    return Tree(replaced=texts)
