"""The blame of a document: for each value, the operation that put it and everything else that it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.errors import ValueNotFound
from memnet.domain.core.json_patch import Pointer, pointer_text
from memnet.domain.core.json_types import present
from memnet.domain.core.scope import Json
from memnet.domain.history.origin import Origin, Traced
from memnet.domain.history.origins import Origins


@dataclass(frozen=True, slots=True)
class Blamed:
    """A value with one origin: it and everything within it, but for the values that have a row of their own."""

    place: Pointer
    """Below the content."""
    node: Traced
    is_whole: bool
    """Whether everything within it has the same origin, so that the value is shown."""
    before: Sequence[Traced]
    """The values before it, the newest first."""
    knows_before: bool
    """Whether `before` is known; if not, the records that replaced them are removed or were not read."""


def blame(origins: Origins, place: Pointer) -> list[Blamed]:
    """Return a row for the value at a pointer below the content, and one for each value within it that differs.

    The rows are in document order. Raises ValueNotFound if the pointer has no value.
    """
    node = origins.content
    for segment in place:
        node = None if node is None else dict(node.children()).get(segment)
    if node is None:
        raise ValueNotFound(param="pointer", pointer=pointer_text((ROOT, *place)))
    return list(_rows(origins, place, node))


def with_before(row: Blamed, then: Origins) -> Blamed:
    """Return the row with the values before it from `then`, the origins as its change left them.

    The value is found by its operation. If several of the operation's values are equal and replaced different ones, the
    values before remain unknown.
    """
    value, key = row.node.plain(), row.node.origin.key
    found = [node for _, node in then.values() if node.origin.key == key and node.plain() == value]
    if not all(map(then.knows_before, found)):
        return row
    before = [[earlier.plain() for earlier in node.before()] for node in found]
    if not found or any(other != before[0] for other in before):
        return row
    return replace(row, before=list(found[0].before()), knows_before=True)


def row_of(row: Blamed) -> Json:
    """Return the row as the API and the command line give it."""
    node = row.node
    return {
        "pointer": pointer_text((ROOT, *row.place)),
        **({"value": node.plain()} if row.is_whole else {}),
        **_origin(node.origin),
        "further": [{"kind": source.kind.value, **_origin(source.origin)} for source in node.further],
        "before": [{"value": earlier.plain(), **_origin(earlier.origin)} for earlier in row.before],
        "before_known": row.knows_before,
    }


def _origin(origin: Origin) -> dict[str, Json]:
    known = origin.is_known
    return {
        "confirmed": origin.is_confirmed,
        **present(
            change_id=origin.change_id,
            sequence=origin.sequence if known else None,
            op_index=origin.op_index if known else None,
            op=origin.verb if known else None,
            recorded_at=origin.timestamp if known else None,
            recorded_before=None if known else origin.timestamp,
            recorded_by=origin.actor,
            application=origin.application,
            reason=origin.reason,
            profile_id=origin.profile_id,
            profile_version=origin.profile_version,
            binding_id=origin.binding_id,
            confidence=origin.confidence,
            source_time=origin.source_time,
            evidence=origin.evidence,
            proposed_by=origin.proposed_by,
            proposed_at=origin.proposed_at,
        ),
    }


def _rows(origins: Origins, place: Pointer, node: Traced) -> Iterator[Blamed]:
    within = [row for name, child in node.children() for row in _differing(origins, (*place, name), child, node)]
    yield Blamed(place, node, not within, list(node.before()), origins.knows_before(node))
    yield from within


def _differing(origins: Origins, place: Pointer, node: Traced, above: Traced) -> Iterator[Blamed]:
    if _trace(node) != _trace(above):
        yield from _rows(origins, place, node)
    else:
        for name, child in node.children():
            yield from _differing(origins, (*place, name), child, node)


def _trace(node: Traced) -> tuple[object, ...]:
    """Return what equal rows have in common. A value that replaced another one has a row of its own."""
    return (*_keys(node), None if node.was is None else id(node))


def _keys(node: Traced) -> Iterator[object]:
    yield node.origin.key
    for source in node.further:
        yield source.kind, source.origin.key
