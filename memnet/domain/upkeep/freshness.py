"""Plan the refresh of a document: remove expired entries, and return stale ones for confirmation."""

from datetime import datetime

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents.confidence import text_of
from memnet.domain.documents.entry import (
    confidence_of,
    entries_at,
    evidence_of,
    expires_at,
    is_stale,
    stale_at,
    verified_at,
)
from memnet.domain.documents.pending_item import pending_item
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan
from memnet.domain.upkeep.section_editor import ContentEditor

ID_CHARS = 32


def plan_freshness(
    content: Json, rules: WriteRules, protected: ProtectedSections, now: datetime, *, proposer: str
) -> MaintenancePlan:
    """Return the plan; `content` is not changed. `proposer` is the principal of the pending items.

    A stale entry becomes a pending item that would restore it, the stalest first, as far as the section has room.
    """
    editor = ContentEditor(content, rules, protected)
    while True:
        before = len(editor.steps)
        editor.kept_for_space = 0
        editor.expire(now)
        for rule in editor.maintained:
            _downgrade(editor, rule, now, proposer)
        if len(editor.steps) == before:
            return editor.plan()


def next_refresh(content: Json, rules: WriteRules, now: datetime) -> datetime | None:
    """Return when the next entry of a content expires or becomes stale; None: no entry does."""
    found = [
        at
        for rule in rules.section_rules
        for entry in entries_at(content, rule.section)
        for at in (expires_at(entry, rule), stale_at(entry, rule))
        if at is not None and at > now
    ]
    return min(found, default=None)


def _downgrade(editor: ContentEditor, rule: SectionUpkeep, now: datetime, proposer: str) -> None:
    entries = editor.section(rule.section).entries
    stale = [(verified_at(entry, rule), entry) for entry in entries if is_stale(entry, rule, now)]
    for _, entry in sorted(stale, key=lambda row: (row[0], canonical(row[1]))):
        position = next(place for place, other in enumerate(entries) if other is entry)
        if not _move(editor, rule, position, to_text(now), proposer):
            editor.kept_for_space += 1


def _move(editor: ContentEditor, rule: SectionUpkeep, position: int, proposed_at: str, proposer: str) -> bool:
    pending, entries = editor.pending_room(), editor.section(rule.section).entries
    if pending is None or canonical(entries[position]) in editor.protected_entries(rule.section):
        return False
    entry = entries.pop(position)
    item = _item(editor, rule, entry, proposed_at, proposer)
    pending.entries.append(item)
    fits = editor.is_sound()
    entries.insert(position, entry)
    if not fits:
        pending.entries.pop()
        return False
    pending.origins.append(None)
    editor.remove(rule.section, position, EntryAction.STALE, into=item, save=False)
    return True


def _item(editor: ContentEditor, rule: SectionUpkeep, entry: Json, proposed_at: str, proposer: str) -> Json:
    return pending_item(
        {"op": "add", "path": f"/{ROOT}{rule.section}/-", "value": entry},
        editor.content,
        text_of(entry.get(rule.text_field, entry)),
        pending_id=sha256_hex(canonical([proposed_at, rule.section, len(editor.steps), entry]))[:ID_CHARS],
        profile_id=editor.rules.profile.profile_id,
        binding_id=editor.rules.binding.binding_id,
        confidence=confidence_of(entry, rule),
        evidence=entry[rule.evidence_field] if evidence_of(entry, rule) else None,
        proposed_at=proposed_at,
        proposed_by=proposer,
        on_behalf_of=None,
        proposed_on=editor.protected.etag,
    )
