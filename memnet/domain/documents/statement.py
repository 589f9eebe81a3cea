"""Read an entry as a statement: what it is about, what it says, and the observations that it rests on.

Each item of its evidence is one observation. The service adds `at` to the item, the source time, and `lacks`, the
members of the entry that this source did not state. So the entries of a section are enough to fold them again.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import Statements
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalize, normalized_text
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.entry import evidence_of, open_entries

AT = "at"
"""The member of an item of evidence with its source time."""
LACKS = "lacks"
"""The member of an item of evidence with the names of the entry's members that this source did not state."""
CONFIRMED_BY = "confirmed_by"
"""The member of an item of evidence with the principal that confirmed the statement."""
ANSWER = "answer"
"""The member of an item of evidence with what the confirmation of a question decided (`answer`)."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
Entry = dict[str, Any]
Thing = tuple[tuple[str | None, ...], str | None]
"""What an entry is about: its `about` members, and its value where several may be open."""


def statements_of(rule: SectionUpkeep) -> Statements:
    """Return the statement rules of a section that has some."""
    assert rule.statements is not None
    return rule.statements


def takes_several(entry: Entry, rule: SectionUpkeep) -> bool:
    """Whether several entries may be open side by side about what this one is about."""
    listed = statements_of(rule).several.items()
    return any(_normal(entry.get(name)) in map(_normal, values) for name, values in listed)


def thing_of(entry: Entry, rule: SectionUpkeep) -> Thing:
    """Return what the entry is about. An entry without any `about` member is about its text alone."""
    about = tuple(_normal(entry.get(name)) for name in statements_of(rule).about)
    if not any(about):
        return about, normalized_text(entry, rule.text_field) or value_of(entry, rule)
    return about, value_of(entry, rule) if takes_several(entry, rule) else None


def value_of(entry: Entry, rule: SectionUpkeep) -> str | None:
    """Return what the entry says, in its normal form; None if it says nothing."""
    return _normal(entry.get(statements_of(rule).value_field))


def details_of(entry: Entry, rule: SectionUpkeep) -> frozenset[str]:
    """Return the names of the members that a source stated: the value, and what is neither subject nor origin."""
    return frozenset(name for name, value in entry.items() if value is not None) - _unstated(rule)


def _unstated(rule: SectionUpkeep) -> frozenset[str | None]:
    statements = statements_of(rule)
    lifetime = {
        rule.importance_field,
        rule.expires_field,
        rule.ttl_field,
        *(measure.field for measure in rule.measures),
    }
    return frozenset({*statements.about, *rule.usual_fields, *lifetime, *kept_members(rule)})


def kept_members(rule: SectionUpkeep) -> tuple[str, ...]:
    """Return the members that the service keeps: since and until when an entry held, and its neighbours in time."""
    statements = statements_of(rule)
    return statements.from_field, statements.until_field, statements.replaces_field, statements.replaced_field


@dataclass(frozen=True, slots=True)
class Observation:
    """One source of a statement. `slot`: the entry it is in."""

    at: str
    """Its source time as `timestamps` writes it; empty if it is unknown, which sorts first."""
    value: str | None
    details: frozenset[str]
    item: Entry | None
    """Its item of evidence, without `lacks`. None: the entry began at `at`, and no item says so."""
    slot: int

    @property
    def order(self) -> tuple[str, int, str, bytes, int]:
        """The total order of observations: source time, then value, then evidence. It ignores who arrives first."""
        return self.at, 1, self.value or "", b"" if self.item is None else canonical(self.item), 0

    def item_in(self, details: frozenset[str]) -> Entry:
        """Return its item of evidence as an entry with these details keeps it."""
        lacks = sorted(details - self.details)
        return {**(self.item or {}), **({LACKS: lacks} if lacks else {})}


def observations_of(entry: Entry, rule: SectionUpkeep, slot: int = 0) -> list[Observation]:
    """Return the observations that an entry rests on, in their order; at least one."""
    value, details, began = value_of(entry, rule), details_of(entry, rule), time_of(entry, _from(rule))
    found: dict[bytes, Observation] = {}
    for item in evidence_of(entry, rule):
        if not isinstance(item, dict):
            continue
        lacks = frozenset(item.get(LACKS) or ())
        at = time_of(item, AT) or began
        bare = {name: member for name, member in item.items() if name != LACKS} | ({AT: at} if at else {})
        said = None if statements_of(rule).value_field in lacks else value
        found[canonical(bare)] = Observation(at, said, details - lacks, bare, slot)
    if not found or (began and began < min(one.at for one in found.values())):
        found[b""] = Observation(began, value, details, None, slot)
    return sorted(found.values(), key=lambda one: one.order)


def newest(entry: Entry, rule: SectionUpkeep) -> str:
    """Return the time of the newest observation of an entry."""
    return observations_of(entry, rule)[-1].at


def _from(rule: SectionUpkeep) -> str:
    return statements_of(rule).from_field


def time_of(members: Mapping[str, Json], name: str) -> str:
    """Return a member as a time in UTC; a date is the beginning of that day. Empty for anything else."""
    value = members.get(name)
    try:
        if isinstance(value, str):
            return to_text(from_text(f"{value}T00:00:00Z" if _DATE.fullmatch(value) else value))
    except MalformedRequest:
        pass
    return ""


def confirmed_by(entry: Entry, rule: SectionUpkeep) -> set[str]:
    """Return the principals that confirmed the statement."""
    items = [item for item in evidence_of(entry, rule) if isinstance(item, dict)]
    return {item[CONFIRMED_BY] for item in items if isinstance(item.get(CONFIRMED_BY), str)}


def contradictions(before: Json, after: Json, rules: Sequence[SectionUpkeep]) -> list[str]:
    """Return the pointers, below the content, of open entries about one thing, where `before` had fewer of them."""
    found: list[str] = []
    for rule in rules:
        if rule.statements is not None:
            had = {thing: len(places) for thing, places in _open_by_thing(before, rule)}
            for thing, places in _open_by_thing(after, rule):
                if len(places) > max(1, had.get(thing, 0)):
                    found += [f"{rule.section}/{place}" for place in places]
    return found


def _open_by_thing(content: Json, rule: SectionUpkeep) -> Iterator[tuple[Thing, list[int]]]:
    held: defaultdict[Thing, list[int]] = defaultdict(list)
    for place, entry in open_entries(content, rule):
        held[thing_of(entry, rule)].append(place)
    yield from held.items()


def _normal(value: Json) -> str | None:
    if value is None:
        return None
    return (normalize(value) if isinstance(value, str) else canonical(value).decode()) or None
