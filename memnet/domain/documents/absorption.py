"""Let one statement take the evidence of others that say the same, and close those. Nothing is removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from memnet.domain.catalog.path_policy import ROOT, content_pointer
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import MERGES
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES
from memnet.domain.core.json_patch import Op, member_ops, pointer_text, resolve
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.entry import entries_at, evidence_of, evidence_with, is_open, merge_origins, open_entries
from memnet.domain.documents.statement import (
    Entry,
    details_of,
    newest,
    observations_of,
    statements_of,
    thing_of,
    time_of,
)
from memnet.domain.documents.statement_fold import fold

ROOM: Final = len(b'"also":[],')
"""Bytes that the list of further items of evidence takes at most, besides the items."""


@dataclass(frozen=True, slots=True)
class Absorption:
    """What becomes of the statements, by position: the one that stays, and each that it closed."""

    stays: Entry
    closed: Mapping[int, Entry]


def absorb(
    entries: Sequence[Json], stays: int, others: Sequence[int], rule: SectionUpkeep, *, at: str
) -> Absorption | None:
    """Return what becomes of `others` once the statement at `stays` has taken their evidence at the time `at`.

    As much evidence is taken as fits, of each of them the newest first; all of it stays with the closed ones, too. One
    whose evidence would change when something else about the same thing held is left open. None: all are.
    """
    kept = entries[stays]
    about = {
        place: entry
        for place, entry in enumerate(entries)
        if isinstance(entry, dict) and thing_of(entry, rule) == thing_of(kept, rule)
    }
    taken = list(others)
    if _joined(kept, [entries[place] for place in taken], about, stays, rule) is None:
        taken = []
    for other in () if taken else others:
        if _joined(kept, [entries[place] for place in [*taken, other]], about, stays, rule) is not None:
            taken.append(other)
    joined = _joined(kept, [entries[place] for place in taken], about, stays, rule) if taken else None
    if joined is None:
        return None
    return Absorption(joined, {place: closed(entries[place], kept, rule, at=at) for place in taken})


def closing_ops(item: Json, content: Json, rules: Sequence[SectionUpkeep], *, at: str) -> list[Op]:
    """Return the operations by which a confirmed pending item closes the statements that its text joins.

    Those that are closed or gone in `content`, which has the text, are left alone.
    """
    target, ids = item["target"], item.get(MERGES)
    place = content_pointer(target["path"])[:-1]
    rule = next((rule for rule in rules if rule.statements is not None and rule.place == place[:-1]), None)
    if rule is None or not isinstance(ids, list):
        return []
    own = resolve({ROOT: item["base"]}, pointer_text((ROOT, *place))).get(rule.id_field)
    entries = entries_at(content, rule.section)
    usable = {entry.get(rule.id_field): index for index, entry in open_entries(content, rule)}
    others = [usable[one] for one in ids if one in usable and one != own]
    found = absorb(entries, usable[own], others, rule, at=at) if own in usable and others else None
    if found is None:
        return []
    changed = {usable[own]: found.stays, **found.closed}
    return [
        op
        for index, entry in changed.items()
        for op in member_ops((ROOT, *rule.place, str(index)), entries[index], entry)
    ]


def closed(entry: Entry, by: Entry, rule: SectionUpkeep, *, at: str) -> Entry:
    """Return a statement that is closed by another one at `at`, or at its newest observation if that is later.

    It is never closed before it began: a PUT can store a beginning that no observation has.
    """
    statements = statements_of(rule)
    until = max(to_text(from_text(at)), newest(entry, rule), time_of(entry, statements.from_field))
    return {**entry, statements.until_field: until, statements.replaced_field: by[rule.id_field]}


def _joined(
    kept: Entry, others: Sequence[Entry], about: Mapping[int, Entry], slot: int, rule: SectionUpkeep
) -> Entry | None:
    """Return the statement with the evidence of others; None if that changes another entry about the same thing."""
    entry = merge_origins(kept, [one for one in others if isinstance(one, dict)], rule)
    items = _items(kept, others, rule)
    if items:
        entry[rule.evidence_field] = evidence_with(items)
    for run in fold({**about, slot: entry}, rule):
        if run.slot is None or (run.slot != slot and canonical(run.entry) != canonical(about[run.slot])):
            return None
        if run.slot == slot:
            found = run.entry
    return found if is_open(found, rule) and len(evidence_of(found, rule)) == len(items) else None


def _items(kept: Entry, others: Sequence[Entry], rule: SectionUpkeep) -> list[Entry]:
    """Return the items of evidence of a statement and, as many as fit, of others; each has its time."""
    details = details_of(kept, rule)
    own = {canonical(one.item): one.item_in(details) for one in observations_of(kept, rule) if one.item is not None}
    rows = zip_longest(*([one for one in observations_of(other, rule)[::-1] if one.item] for other in others))
    found, size = dict(own), ROOM + (len(canonical(evidence_with([*own.values()]))) if own else 0)
    for one in (one for row in rows for one in row if one is not None):
        item, key = one.item_in(details), canonical(one.item)
        longer = size + len(canonical(item)) + len(b",")
        if key not in found and longer <= MAX_EVIDENCE_BYTES:
            found[key], size = item, longer
    return list(found.values())
