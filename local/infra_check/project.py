"""Files of the project beside infra/: those of the tree that is checked, or this project's own where it has none."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def text_of(root: Path, name: str) -> str:
    """The file's text."""
    path = root / name
    return (path if path.is_file() else ROOT / name).read_text("utf-8")
