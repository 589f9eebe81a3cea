"""A finding of the checks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One mistake, as one line."""

    file: str
    line: int
    code: str
    """The kind of mistake, in kebab case."""
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}: {self.message}"
