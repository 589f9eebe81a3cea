"""What keeps a document fresh: expired entries go, and what nobody has verified for too long waits for confirmation."""

from datetime import datetime

from memnet.domain.confidence import text_of
from memnet.domain.document import Json
from memnet.domain.draft import Governance
from memnet.domain.entry import confidence_of, evidence_of, is_stale, verified_at
from memnet.domain.json_text import canonical, digest
from memnet.domain.patch import pointer
from memnet.domain.path_policy import ROOT
from memnet.domain.pending import pending_item
from memnet.domain.timestamps import to_text
from memnet.domain.upkeep import Fate, Plan, Surroundings
from memnet.domain.upkeep_rules import SectionUpkeep
from memnet.domain.worksheet import Sheet, Worksheet

ID_CHARS = 32


def plan_freshness(content: Json, rules: Governance, around: Surroundings, now: datetime, *, proposer: str) -> Plan:
    """Work out what to do; `content` is not changed. `proposer` is named by the pending items.

    A stale entry becomes a pending item whose target would put it back, as far as the pending section has room; the
    stalest goes first. A plan on what a plan has made has nothing to do.
    """
    sheet = Worksheet(content, rules, around)
    while True:
        before = len(sheet.steps)
        sheet.held = 0
        sheet.expire(now)
        for rule in sheet.tended:
            _downgrade(sheet, rule, now, proposer)
        if len(sheet.steps) == before:
            return sheet.plan()


def _downgrade(sheet: Worksheet, rule: SectionUpkeep, now: datetime, proposer: str) -> None:
    entries = sheet.sheet(rule.section).entries
    stale = [(verified_at(entry, rule), entry) for entry in entries if is_stale(entry, rule, now)]
    for _, entry in sorted(stale, key=lambda row: (row[0], canonical(row[1]))):
        position = next(place for place, other in enumerate(entries) if other is entry)
        if not _move(sheet, rule, position, to_text(now), proposer):
            sheet.held += 1


def _move(sheet: Worksheet, rule: SectionUpkeep, position: int, proposed_at: str, proposer: str) -> bool:
    pending = None if sheet.pending is None else sheet.open(sheet.pending)
    if pending is None or _is_full(sheet, pending):
        return False
    entries = sheet.sheet(rule.section).entries
    if canonical(entries[position]) in sheet.held_entries(rule.section):
        return False
    entry = entries.pop(position)
    item = _item(sheet, rule, entry, proposed_at, proposer)
    pending.entries.append(item)
    fits = sheet.is_sound()
    entries.insert(position, entry)
    if not fits:
        pending.entries.pop()
        return False
    pending.origins.append(None)
    sheet.remove(rule.section, position, Fate.STALE, into=item, tell=False)
    return True


def _item(sheet: Worksheet, rule: SectionUpkeep, entry: Json, proposed_at: str, proposer: str) -> Json:
    return pending_item(
        {"op": "add", "path": f"/{ROOT}{rule.section}/-", "value": entry},
        sheet.content,
        text_of(entry.get(rule.text_field, entry)),
        pending_id=digest(canonical([proposed_at, rule.section, len(sheet.steps), entry]))[:ID_CHARS],
        profile_id=sheet.rules.profile.profile_id,
        binding_id=sheet.rules.binding.binding_id,
        confidence=confidence_of(entry, rule),
        evidence=entry[rule.evidence_field] if evidence_of(entry, rule) else None,
        proposed_at=proposed_at,
        proposed_by=proposer,
        on_behalf_of=None,
        proposed_on=sheet.around.etag,
    )


def _is_full(sheet: Worksheet, pending: Sheet) -> bool:
    name, *deeper = pointer(pending.path)
    return not deeper and len(pending.entries) >= sheet.limits.get(name, len(pending.entries) + 1)
