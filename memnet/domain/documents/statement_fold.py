"""Fold the observations about one thing, in the order of their source times, into entries that follow each other.

Observations in a row that say the same are one entry, from the first of them until the next other one. The last entry
is open. An observation that adds members to what held completes it: it begins a new entry with all of them. An entry
that ended without a successor among the entries, because it was removed, ends what held at that time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import confidence_of, evidence_of, evidence_with, is_open, merge_origins
from memnet.domain.documents.statement import (
    AT,
    CONFIRMED_BY,
    Entry,
    Observation,
    details_of,
    observations_of,
    statements_of,
    time_of,
)


@dataclass(slots=True, eq=False)
class Run:
    """Observations in a row that say the same, and the entry that they make."""

    value: str | None
    details: frozenset[str]
    follows: "Run | None"
    """The run that this one ends."""
    completes: bool
    """Whether it says the same as the one before it, and more."""
    observations: list[Observation]
    ended: tuple[str, str | None] | None = None
    """Until when it holds, and the id of what came then, if that is not one of the runs."""
    slot: int | None = None
    """The slot of its entry; None: an entry was split."""
    entry: Entry = field(default_factory=dict)

    @property
    def began(self) -> str:
        """The time of its first observation."""
        return self.observations[0].at

    def slots(self) -> list[int]:
        """Return the slots of its observations, in ascending order."""
        return sorted({one.slot for one in self.observations})


@dataclass(frozen=True, slots=True)
class _End:
    """The end of an entry that has no successor among the entries."""

    order: tuple[str, int, str, bytes, int]
    until: str
    link: str | None


def fold(held: Mapping[int, Entry], rule: SectionUpkeep) -> list[Run]:
    """Return the runs, in the order of time, of the entries about one thing, given by slot.

    Where several entries fall into one run, that of the lowest slot stays. Where one is split, its last part keeps its
    id. No entry is changed.
    """
    runs = _runs(held, rule)
    last = {slot: run for run in runs for slot in run.slots()}
    ids = {entry.get(rule.id_field) for entry in held.values()}
    for run in runs:
        owners = [slot for slot in run.slots() if last[slot] is run]
        run.slot = owners[0] if owners else None
        run.entry = _entry(run, held, rule, [held[slot] for slot in owners[1:]])
    _link(runs, ids, rule)
    return runs


def _runs(held: Mapping[int, Entry], rule: SectionUpkeep) -> list[Run]:
    found = {slot: observations_of(entry, rule, slot) for slot, entry in held.items()}
    ends = _ends(held, found, rule)
    runs: list[Run] = []
    holds: Run | None = None
    every: list[Observation | _End] = [*(one for some in found.values() for one in some), *ends]
    for one in sorted(every, key=lambda one: one.order):
        if isinstance(one, _End):
            if holds is not None:
                holds.ended = (one.until, one.link)
            holds = None
            continue
        agrees = holds is not None and (one.value is None or holds.value is None or one.value == holds.value)
        if holds is not None and agrees and one.details <= holds.details:
            holds.observations.append(one)
            continue
        known = holds.details if holds is not None and agrees else frozenset()
        said = holds.value if holds is not None and agrees and one.value is None else one.value
        holds = Run(said, one.details | known, holds, agrees, [one])
        runs.append(holds)
    return runs


def _ends(held: Mapping[int, Entry], found: Mapping[int, list[Observation]], rule: SectionUpkeep) -> list[_End]:
    statements = statements_of(rule)
    ids = {entry.get(rule.id_field) for entry in held.values()} - {None}
    ends = []
    for slot, entry in held.items():
        link = entry.get(statements.replaced_field)
        if is_open(entry, rule) or link in ids:
            continue
        until, newest = time_of(entry, statements.until_field), found[slot][-1]
        # At an equal time the end comes before what others say, and after what the entry itself says.
        order = (until, 0, "", b"", 0) if until > newest.at else (*newest.order[:4], 1)
        ends.append(_End(order, max(until, newest.at), link))
    return ends


def _entry(run: Run, held: Mapping[int, Entry], rule: SectionUpkeep, merged: Sequence[Entry]) -> Entry:
    entry = dict(held[run.observations[0].slot if run.slot is None else run.slot])
    for name in details_of(entry, rule) - run.details:
        del entry[name]
    missing = run.details - details_of(entry, rule)
    earlier = [run.follows.entry] if run.completes and run.follows is not None else []
    for source in [*earlier, *(held[slot] for slot in run.slots())]:
        entry |= {name: source[name] for name in missing - entry.keys() if source.get(name) is not None}
    if missing and earlier:
        # A union is as sure as its less sure part.
        sure = [known for one in (entry, earlier[0]) if (known := confidence_of(one, rule)) is not None]
        entry |= {rule.confidence_field: min(sure)} if len(sure) > 1 else {}
    entry = merge_origins(entry, merged, rule)
    if run.slot is None or not isinstance(entry.get(rule.id_field), str):
        entry[rule.id_field] = derived_id(entry.get(rule.id_field), run.began, run.value)
    _write_evidence(entry, run, rule)
    return entry


def derived_id(*seed: Json) -> str:
    """Return the id of an entry that nothing gave one to; the same for the same seed."""
    return f"stm-{sha256_hex(canonical(list(seed)))[:24]}"


def _write_evidence(entry: Entry, run: Run, rule: SectionUpkeep) -> None:
    items = [one.item_in(run.details) for one in run.observations if one.item is not None]
    had = evidence_of(entry, rule)
    if not items and had and run.began:
        items = [{AT: run.began}]
    if items and {canonical(item) for item in items} != {canonical(item) for item in had}:
        entry[rule.evidence_field] = _bounded(items)


def _bounded(items: list[Entry]) -> Json:
    """Return evidence with the items; if it is too long, the first and the last, and as many others as fit.

    Items of a confirmation are dropped last, and else the oldest first.
    """
    while True:
        evidence = evidence_with(items)
        if len(items) <= 2 or len(canonical(evidence)) <= MAX_EVIDENCE_BYTES:
            return evidence
        inner = range(1, len(items) - 1)
        gone = next((place for place in inner if CONFIRMED_BY not in items[place]), 1)
        items = items[:gone] + items[gone + 1 :]


def _link(runs: Sequence[Run], ids: set[Json], rule: SectionUpkeep) -> None:
    """Write since and until when each entry held, and its neighbours."""
    statements = statements_of(rule)
    first: Run | None = None
    for run, following in zip(runs, [*runs[1:], None], strict=True):
        entry, earlier = run.entry, run.entry.get(statements.replaces_field)
        # What upkeep has moved to an event is still named.
        earlier = None if earlier in ids else earlier
        if run.follows is None or first is None:
            first = run
            _put(entry, statements.replaces_field, earlier)
        else:
            _put(entry, statements.replaces_field, run.follows.entry[rule.id_field])
            if earlier is not None and first.entry.get(statements.replaces_field) is None:
                first.entry[statements.replaces_field] = earlier
        if following is not None and following.follows is run:
            run.ended = (following.began, following.entry[rule.id_field])
        until, link = run.ended or (None, None)
        if run.began and time_of(entry, statements.from_field) != run.began:
            entry[statements.from_field] = run.began
        if until is None or time_of(entry, statements.until_field) != until:
            _put(entry, statements.until_field, until)
        _put(entry, statements.replaced_field, link)


def _put(entry: Entry, name: str, value: Json) -> None:
    if value is not None:
        entry[name] = value
    elif entry.get(name) is not None:
        del entry[name]
