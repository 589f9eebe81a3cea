"""What is wrong, and where."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One mistake, as one line."""

    file: str
    line: int
    code: str
    """What kind of mistake: a word or two with dashes."""
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}: {self.message}"
