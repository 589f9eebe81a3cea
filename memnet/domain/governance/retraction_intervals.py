"""The intervals of statements while a source is taken back."""

from collections.abc import Collection
from typing import Any

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Json
from memnet.domain.documents.difference import GONE
from memnet.domain.documents.entry import evidence_of
from memnet.domain.documents.statement import AT, statements_of, time_of
from memnet.domain.governance.retraction_units import Unit


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


def with_member(entry: dict[str, Any], name: str, value: Json) -> dict[str, Any]:
    """Return an entry with another member; None: without it."""
    rest = {other: member for other, member in entry.items() if other != name}
    return rest if value is None else {**rest, name: value}
