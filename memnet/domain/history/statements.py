"""What an entry says of time: whether it holds, since and until when, and which statements replaced one another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.json_types import text_member
from memnet.domain.core.scope import Json


class EntryState(StrEnum):
    """The state of an entry. CLOSED: a statement that has held. WAITING: it waits for confirmation."""

    OPEN = "open"
    CLOSED = "closed"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """When a statement holds, and the ids of the statements before and after it; None: unknown, or there is none."""

    valid_from: str | None = None
    valid_until: str | None = None
    replaces: str | None = None
    replaced_by: str | None = None
    chain: Sequence[str] = ()
    """The ids of the statements that replaced one another, oldest first, this one included; empty: only this one."""


NO_STATEMENT = Validity()


def entry_id(value: Json, rule: SectionUpkeep) -> str | None:
    """Return the id of an entry, if it has one."""
    return text_member(value, rule.id_field)


def validities(entries: Sequence[Json], rule: SectionUpkeep) -> Sequence[Validity]:
    """Return the validity of each entry of a section of statements.

    A chain continues through the entries given. It ends at an id that none of them has: that statement was moved to an
    event.
    """
    told = rule.statements
    if told is None:
        return [NO_STATEMENT] * len(entries)
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for entry in entries:
        own, replaced = entry_id(entry, rule), text_member(entry, told.replaces_field)
        if own is not None and replaced is not None:
            before[own] = replaced
            after.setdefault(replaced, own)
    for entry in entries:
        own, successor = entry_id(entry, rule), text_member(entry, told.replaced_field)
        if own is not None and successor is not None:
            after[own] = successor
            before.setdefault(successor, own)
    return [
        Validity(
            valid_from=text_member(entry, told.from_field),
            valid_until=text_member(entry, told.until_field),
            replaces=text_member(entry, told.replaces_field),
            replaced_by=text_member(entry, told.replaced_field),
            chain=_chain(entry_id(entry, rule), before, after),
        )
        for entry in entries
    ]


def _chain(own: str | None, before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[str]:
    if own is None or (own not in before and own not in after):
        return ()
    earlier = _walk(own, before, {own})
    later = _walk(own, after, {own, *earlier})
    return (*reversed(earlier), own, *later)


def _walk(own: str, steps: Mapping[str, str], seen: set[str]) -> list[str]:
    """Return the ids that the steps lead to; links that a client wrote may form a circle, which ends it."""
    found: list[str] = []
    here = steps.get(own)
    while here is not None and here not in seen:
        seen.add(here)
        found.append(here)
        here = steps.get(here)
    return found
