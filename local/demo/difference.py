"""What is different between two versions of a document, place by place."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import pointer_text

Place = tuple[str, ...]
NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where a value was added (`before` is NOTHING), removed (`after` is NOTHING) or changed."""

    pointer: str
    before: Any
    after: Any


def differences(before: Any, after: Any, place: Place = ()) -> Iterator[Difference]:
    """Every difference, in document order. Lists are aligned, so that one more element is one difference.

    `before` may be NOTHING; then empty members of `after` are passed over.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from differences(before.get(name, NOTHING), after.get(name, NOTHING), (*place, name))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, place)
    elif before is NOTHING and isinstance(after, dict | list):
        yield from _added(after, place)
    elif not _are_equal(before, after):
        yield Difference(pointer_text(place), before, after)


def _are_equal(before: Any, after: Any) -> bool:
    if before is NOTHING:
        return bool(after == "")
    return after is not NOTHING and canonical(before) == canonical(after)


def _added(after: Any, place: Place) -> Iterator[Difference]:
    """The members of a new value, one difference each at its first two levels."""
    if isinstance(after, list):
        for index, value in enumerate(after):
            yield Difference(pointer_text((*place, str(index))), NOTHING, value)
    elif len(place) < 2:
        for name in sorted(after):
            yield from differences(NOTHING, after[name], (*place, name))
    else:
        yield Difference(pointer_text(place), NOTHING, after)


def _of_lists(before: list[Any], after: list[Any], place: Place) -> Iterator[Difference]:
    had, has = [canonical(value) for value in before], [canonical(value) for value in after]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, had, has, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for index in range(i1, i2):
            yield Difference(pointer_text((*place, str(index))), before[index], NOTHING)
        for index in range(j1, j2):
            yield Difference(pointer_text((*place, str(index))), NOTHING, after[index])
