"""What a retraction reads of entries: the items of evidence, what they point to, and when they were observed."""

from collections.abc import Collection, Sequence
from typing import Any

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import POINTERS
from memnet.domain.core.scope import Json
from memnet.domain.documents.difference import GONE
from memnet.domain.documents.entry import ALSO, evidence_of
from memnet.domain.documents.statement import AT, statements_of, thing_of, time_of
from memnet.domain.governance.retraction_units import Unit
from memnet.domain.governance.source import parts_of
from memnet.domain.history.origin import Origin, Traced


def cited(item: Json) -> bytes:
    """Return what an item of evidence points to."""
    return canonical([item.get(name) for name in POINTERS] if isinstance(item, dict) else item)


def joined(items: Sequence[Json]) -> Json:
    """Return evidence of these items, of which there is at least one."""
    own, *rest = items
    return {**own, ALSO: rest} if rest else own


def items_of(node: Traced) -> list[tuple[Json, list[Traced]]]:
    """Return the items of evidence, each with its nodes; one item of anything that is no object."""
    if not isinstance(node.value, dict):
        return [(node.plain(), [node])]
    also = node.value.get(ALSO)
    rest = list(also.value) if also is not None and isinstance(also.value, list) else []
    own = {name: child for name, child in node.value.items() if not (rest and name == ALSO)}
    first = [({name: child.plain() for name, child in own.items()}, list(own.values()))] if own else []
    return [*first, *((child.plain(), [child]) for child in rest)]


def without_beginning(entry: dict[str, Any], gone: set[str], rule: SectionUpkeep) -> dict[str, Any]:
    """Return an entry whose beginning is that of its observations, if it began with one that is gone."""
    name = statements_of(rule).from_field
    if time_of(entry, name) not in gone or not evidence_of(entry, rule):
        return entry
    return {other: value for other, value in entry.items() if other != name}


def times_gone(units: Collection[Unit], rule: SectionUpkeep) -> set[str]:
    """Return when the observations were made that are gone from a section."""
    remain = {canonical(item) for unit in units if unit.after is not GONE for item in evidence_of(unit.after, rule)}
    items = [item for unit in units for item in evidence_of(unit.before, rule) if canonical(item) not in remain]
    return {time_of(item, AT) for item in items if isinstance(item, dict)} - {""}


def parts_cited(origin: Origin) -> set[bytes]:
    """Return what a change cites."""
    return {cited(one) for one in parts_of(dict(origin.evidence or {}))}


def with_member(entry: dict[str, Any], name: str, value: Json) -> dict[str, Any]:
    """Return an entry with another member; None: without it."""
    rest = {other: member for other, member in entry.items() if other != name}
    return rest if value is None else {**rest, name: value}


def things_of(unit: Unit, rule: SectionUpkeep) -> list[Any]:
    """Return what an entry is about, before and after."""
    return [thing_of(one, rule) for one in (unit.before, unit.after) if isinstance(one, dict)]


def id_of(node: Traced, rule: SectionUpkeep) -> Json:
    """Return the id of an entry; None: it has none."""
    own = node.value.get(rule.id_field)
    return own.value if own is not None and isinstance(own.value, str) else None
