"""What keeps a document fresh: expired entries go, and what nobody has verified for too long waits for confirmation."""

from datetime import datetime

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.json_patch import pointer
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents.confidence import text_of
from memnet.domain.documents.entry import confidence_of, evidence_of, is_stale, verified_at
from memnet.domain.documents.pending_item import pending_item
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan
from memnet.domain.upkeep.section_editor import ContentEditor, SectionEditor

ID_CHARS = 32


def plan_freshness(
    content: Json, rules: WriteRules, around: ProtectedSections, now: datetime, *, proposer: str
) -> MaintenancePlan:
    """Work out what to do; `content` is not changed. `proposer` is named by the pending items.

    A stale entry becomes a pending item whose target would put it back, as far as the pending section has room; the
    stalest goes first. A plan on what a plan has made has nothing to do.
    """
    sheet = ContentEditor(content, rules, around)
    while True:
        before = len(sheet.steps)
        sheet.held = 0
        sheet.expire(now)
        for rule in sheet.tended:
            _downgrade(sheet, rule, now, proposer)
        if len(sheet.steps) == before:
            return sheet.plan()


def _downgrade(sheet: ContentEditor, rule: SectionUpkeep, now: datetime, proposer: str) -> None:
    entries = sheet.sheet(rule.section).entries
    stale = [(verified_at(entry, rule), entry) for entry in entries if is_stale(entry, rule, now)]
    for _, entry in sorted(stale, key=lambda row: (row[0], canonical(row[1]))):
        position = next(place for place, other in enumerate(entries) if other is entry)
        if not _move(sheet, rule, position, to_text(now), proposer):
            sheet.held += 1


def _move(sheet: ContentEditor, rule: SectionUpkeep, position: int, proposed_at: str, proposer: str) -> bool:
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
    sheet.remove(rule.section, position, EntryAction.STALE, into=item, tell=False)
    return True


def _item(sheet: ContentEditor, rule: SectionUpkeep, entry: Json, proposed_at: str, proposer: str) -> Json:
    return pending_item(
        {"op": "add", "path": f"/{ROOT}{rule.section}/-", "value": entry},
        sheet.content,
        text_of(entry.get(rule.text_field, entry)),
        pending_id=sha256_hex(canonical([proposed_at, rule.section, len(sheet.steps), entry]))[:ID_CHARS],
        profile_id=sheet.rules.profile.profile_id,
        binding_id=sheet.rules.binding.binding_id,
        confidence=confidence_of(entry, rule),
        evidence=entry[rule.evidence_field] if evidence_of(entry, rule) else None,
        proposed_at=proposed_at,
        proposed_by=proposer,
        on_behalf_of=None,
        proposed_on=sheet.around.etag,
    )


def _is_full(sheet: ContentEditor, pending: SectionEditor) -> bool:
    name, *deeper = pointer(pending.path)
    return not deeper and len(pending.entries) >= sheet.limits.get(name, len(pending.entries) + 1)
