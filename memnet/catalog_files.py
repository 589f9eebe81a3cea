"""Read the files of the catalog, and gather what is wrong with them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from memnet.domain.catalog.model_problems import model_problems
from memnet.domain.catalog.rule_types import ProfilePart
from memnet.domain.core.canonical_json import canonical, parse
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import Json
from memnet.domain.core.violations import Problem

RELEASED = "released.json"
EXAMPLES = ".examples.json"
FindFaults = Callable[[Json], Iterable[tuple[str, str]]]
"""Finds texts that a model must not read: the pointer and the reason of each."""


def no_faults(_: Json) -> Iterable[tuple[str, str]]:
    """Return nothing: the texts are not checked."""
    return ()


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One fault in one file; its text is `file: pointer: reason; remedy`, without the parts that are empty."""

    file: str
    pointer: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        fault = ": ".join(part for part in (self.file, self.pointer, self.reason) if part)
        return f"{fault}; {self.remedy}" if self.remedy else fault


class CatalogError(Exception):
    """The profiles, schemas and prompts cannot be used; the message lists every fault, one a line."""

    def __init__(self, problems: tuple[FileProblem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(slots=True)
class Reading:
    """What has been read so far and what was wrong with it."""

    find_faults: FindFaults = no_faults
    problems: list[FileProblem] = field(default_factory=list)

    def report(self, path: Path, *problems: Problem) -> None:
        """Add the problems of a file."""
        self.problems += [FileProblem(path.as_posix(), p.pointer, p.reason, p.remedy) for p in problems]

    def report_texts(self, path: Path, value: Json) -> None:
        """Report the texts of the file that a model must not read."""
        self.report(path, *(Problem(*fault) for fault in self.find_faults(value)))

    def json(self, path: Path) -> Json:
        """The parsed file, or None (reported) if it cannot be read; a JSON null is refused like it."""
        try:
            value = parse(path.read_bytes())
        except OSError as error:
            self.report(path, Problem("", f"cannot be read: {error.strerror}"))
            return None
        except MalformedRequest as error:
            self.report(path, Problem("", error.message.replace("The body", "The file")))
            return None
        if value is None:
            self.report(path, Problem("", "is null"))
        return value

    def files(self, directory: Path, suffix: str = ".json") -> list[Path]:
        """The files with that suffix directly in `directory`, by name. Others (a README) are left alone."""
        if not directory.is_dir():
            self.report(directory, Problem("", "is not a directory"))
            return []
        return sorted(path for path in directory.iterdir() if path.suffix == suffix and path.is_file())

    def stop(self) -> None:
        """Raise CatalogError if there are problems."""
        if self.problems:
            raise CatalogError(tuple(self.problems))


P = TypeVar("P", bound=ProfilePart)


def read_part(reading: Reading, path: Path, model: type[P], noun: str) -> P | None:
    """Return the content of a file, or None (reported); `noun` names it in the problems."""
    body = reading.json(path)
    return None if body is None else part_of(reading, path, body, model, noun)


def part_of(reading: Reading, path: Path, body: Json, model: type[P], noun: str) -> P | None:
    """Return the content of a file that was parsed, or None (reported)."""
    try:
        # From JSON text, because only there does a strict model take an array for a tuple.
        return model.model_validate_json(canonical(body))
    except ValidationError as error:
        reading.report(path, *model_problems(error, model, noun))
        return None


def folders(directory: Path) -> list[Path]:
    """Return the folders directly in `directory`, by name."""
    found = directory.iterdir() if directory.is_dir() else ()
    return sorted(path for path in found if path.is_dir() and not path.name.startswith("."))


def read_digests(reading: Reading, directory: Path) -> dict[str, str]:
    """Return the hashes in the released.json of a directory; none without that file."""
    path = directory / RELEASED
    released = reading.json(path) if path.exists() else {}
    if isinstance(released, dict) and all(isinstance(value, str) for value in released.values()):
        return released
    if released is not None:
        reading.report(path, Problem("", "must be an object of digests by <id>/<version>"))
    return {}
