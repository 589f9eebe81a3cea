"""What is wrong with a profile or a schema, and where in it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: a JSON Pointer into the file ("" is the whole of it) and the reason, for the file's author."""

    pointer: str
    reason: str
