"""The operations that turn one value into another: one for each member or element that differs."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Op, Pointer, pointer_text
from memnet.domain.core.scope import Json


class _Gone(Enum):
    GONE = "gone"


GONE: Final = _Gone.GONE
"""What remains of a value that is removed; null is a value."""


def difference(before: Json, after: Any, place: Pointer) -> Iterator[Op]:
    """Yield the operations that turn `before` at `place` into `after`, which may be GONE.

    Members of objects, and elements of an array that does not become shorter, are replaced as wholes.
    """
    path = pointer_text(place)
    if after is GONE:
        yield {"op": "remove", "path": path}
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() - after.keys()):
            yield {"op": "remove", "path": pointer_text((*place, name))}
        for name in sorted(after):
            if name not in before:
                yield {"op": "add", "path": pointer_text((*place, name)), "value": after[name]}
            else:
                yield from _replaced(before[name], after[name], (*place, name))
    else:
        yield from _replaced(before, after, place)


def _replaced(before: Json, after: Json, place: Pointer) -> Iterator[Op]:
    if canonical(before) == canonical(after):
        return
    if isinstance(before, list) and isinstance(after, list) and len(after) >= len(before):
        for index, value in enumerate(before):
            yield from _replaced(value, after[index], (*place, str(index)))
        for value in after[len(before) :]:
            yield {"op": "add", "path": pointer_text((*place, "-")), "value": value}
    else:
        yield {"op": "replace", "path": pointer_text(place), "value": after}
