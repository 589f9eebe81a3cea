"""The files of a project as text. A check reads nothing else, so a test can replace a file without a copy."""

import json
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from local.infra_check.syntax import Source

INFRA: Final = "infra"
ROOT: Final = Path(__file__).parents[2]


class Tree:
    """A project's directory, with other texts in place of some files."""

    def __init__(self, root: Path = ROOT, replaced: Mapping[str, str] | None = None) -> None:
        """Files of `replaced` are named by their path below `root`."""
        self.root = root
        self._replaced = dict(replaced or {})

    def text(self, name: str) -> str:
        """Return a file's text. Raises OSError if it does not exist."""
        return self._replaced[name] if name in self._replaced else _read(self.root / name)

    def json(self, name: str) -> Any:
        """Return a JSON file's value. Raises OSError or ValueError."""
        return _parse(self.text(name))

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self._replaced or (self.root / name).is_file()

    def names(self, pattern: str) -> list[str]:
        """Return the names of the files that match a pattern, sorted."""
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.glob(pattern))

    def line(self, name: str, word: str) -> int:
        """Return the first line of a file that has the word, or 1."""
        return next((i for i, written in enumerate(self.text(name).splitlines(), 1) if word in written), 1)

    @cached_property
    def sources(self) -> "dict[str, Source]":
        """Every Bicep file below infra/, by its name."""
        from local.infra_check.syntax import Source

        names = [*self.names(f"{INFRA}/**/*.bicep"), *self.names(f"{INFRA}/*.bicepparam")]
        return {name: Source(self, name) for name in names}


@cache
def _parse(text: str) -> Any:
    return json.loads(text)


def _read(path: Path) -> str:
    return path.read_text("utf-8")
