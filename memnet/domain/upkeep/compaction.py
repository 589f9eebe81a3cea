"""What makes a document compact: expired entries go, entries that say the same become one, sections give way.

Sections give way in the order of the profile's rules and only as far as needed: until the document has room again
below its limits, or until each section is down to what it keeps.
"""

from collections import defaultdict
from datetime import datetime

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import pointer
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import (
    confidence_of,
    entry_identity,
    evidence_of,
    merge_evidence,
    rank,
    value_of,
    with_sources_of_targets,
)
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan
from memnet.domain.upkeep.section_editor import ContentEditor


def plan_compaction(content: Json, rules: WriteRules, around: ProtectedSections, now: datetime) -> MaintenancePlan:
    """Work out what to do; `content` is not changed. A plan on what a plan has made has nothing to do."""
    sheet = ContentEditor(content, rules, around)
    while True:
        # A proposal that goes may be what held others in their places: once more, until nothing moves.
        before = len(sheet.steps)
        sheet.expire(now)
        for rule in sheet.tended:
            if rule.merge:
                _merge(sheet, rule)
        _give_way(sheet)
        if len(sheet.steps) == before:
            return sheet.plan()


def _merge(sheet: ContentEditor, rule: SectionUpkeep) -> None:
    entries = sheet.sheet(rule.section).entries
    proposed = sheet.tended if rule.section == sheet.pending else None
    groups: dict[bytes, list[int]] = defaultdict(list)
    held = sheet.held_entries(rule.section)
    for position, entry in enumerate(entries):
        said = entry_identity(entry, rule, proposed)
        if said is not None and canonical(entry) not in held:
            groups[said].append(position)
    folded: dict[int, Json] = {}
    for positions in groups.values():
        stays = max(positions, key=lambda position: rank(entries[position], rule, position))
        gone = [position for position in positions if position != stays]
        if gone:
            _fold(sheet, rule, stays, [entries[position] for position in gone])
            folded |= dict.fromkeys(gone, entries[stays])
    for position in sorted(folded, reverse=True):
        into = folded[position]
        known = {canonical(item) for item in evidence_of(into, rule)}
        whole = known >= {canonical(item) for item in evidence_of(entries[position], rule)}
        sheet.remove(rule.section, position, EntryAction.MERGED, into=into, tell=not whole)


def _fold(sheet: ContentEditor, rule: SectionUpkeep, stays: int, merged: list[Json]) -> None:
    """Put into the entry that stays what the others know, as far as the schema has room for it."""
    entries = sheet.sheet(rule.section).entries
    kept = entries[stays]
    candidates = merge_evidence(kept, merged, rule)
    if rule.section == sheet.pending:
        whole = [with_sources_of_targets(one, merged, sheet.tended) for one in [*candidates, kept]]
        candidates = [one for one in [*whole, *candidates] if one is not kept]
    for candidate in candidates:
        entries[stays] = candidate
        if not sheet.rules.schema.violations(sheet.content):
            sheet.replace(rule.section, stays, candidate)
            return
    entries[stays] = kept


def _give_way(sheet: ContentEditor) -> None:
    fill = sheet.rules.profile.upkeep_fill
    for rule in sheet.tended:
        name, *deeper = pointer(rule.section)
        if name in sheet.limits and not deeper:
            _trim(sheet, rule, entries=len(sheet.sheet(rule.section).entries) - int(sheet.limits[name] * fill))
    excess = sheet.size() - int(sheet.rules.binding.max_chars * fill)
    for rule in sheet.tended:
        excess -= _trim(sheet, rule, characters=excess)


def _trim(sheet: ContentEditor, rule: SectionUpkeep, *, entries: int = 0, characters: int = 0) -> int:
    """Take out the least valuable entries that may go, so many or so long; return how many characters that were."""
    there = sheet.sheet(rule.section).entries
    may_go = _may_go(sheet, rule)
    gone: list[int] = []
    freed = 0
    for position in may_go:
        if len(gone) >= entries and freed >= characters:
            break
        gone.append(position)
        # The comma beside it goes, too, unless nothing else is left.
        freed += len(canonical(there[position]).decode()) + (len(gone) < len(there))
    for position in sorted(gone, reverse=True):
        sheet.remove(rule.section, position, EntryAction.TRIMMED)
    return freed


def _may_go(sheet: ContentEditor, rule: SectionUpkeep) -> list[int]:
    """The positions of the entries that may go, the least valuable first and the oldest first among equals."""
    entries = sheet.sheet(rule.section).entries
    if rule.keep is None or (rule.trim_below is None and sheet.around.is_durable(rule.section)):
        return []
    held = sheet.held_entries(rule.section)
    free = [i for i, entry in enumerate(entries) if canonical(entry) not in held]
    unsure = [i for i in free if rule.trim_below is None or _below(entries[i], rule)]
    unsure.sort(key=lambda i: value_of(entries[i], rule))
    return unsure[: max(0, len(entries) - rule.keep)]


def _below(entry: Json, rule: SectionUpkeep) -> bool:
    sure = confidence_of(entry, rule)
    return sure is not None and rule.trim_below is not None and sure < rule.trim_below
