"""A maintenance plan, the proof that it loses nothing durable, and the events that store the removed entries."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.catalog.catalog import Catalog, ProtectedSections, WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES, Evidence
from memnet.domain.core.json_patch import Op, pointer
from memnet.domain.core.scope import RESERVED, DocumentKey, ETag, Json
from memnet.domain.documents.entry import entries_at, entry_identity, is_open
from memnet.domain.events.event import MAX_DIGEST, Event
from memnet.domain.events.kept_entries import CLOSED

DAY = len("2026-01-31")
ID_CHARS = 40
MAX_SERVICE_ID = 128
Part = tuple[str, dict[str, Any]]
"""The digest of an event, and the members of its evidence that hold entries."""


class EntryAction(StrEnum):
    """Why an entry leaves its section, or how consolidation changes it there."""

    EXPIRED = "expired"
    MERGED = "merged"
    TRIMMED = "trimmed"
    STALE = "stale"
    CONSOLIDATED = "consolidated"
    """It is closed: another one says the same."""
    REWORDED = "reworded"
    """It stays, with a text that joins it with those that it closed."""
    PROPOSED = "proposed"
    """Such a text waits for a confirmation."""


@dataclass(frozen=True, slots=True)
class Step:
    """One entry that leaves its section or changes. `into`: the entry it is merged into, or the pending item."""

    section: str
    action: EntryAction
    entry: Json
    into: Json = None


@dataclass(frozen=True, slots=True)
class Detail:
    """Entries of one section that are written to events before they are removed."""

    section: str
    entries: tuple[Json, ...]
    closed: bool = False
    """Whether they are closed statements."""


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """The changes to one content. Without `ops` there are none."""

    ops: list[Op]
    steps: tuple[Step, ...]
    details: tuple[Detail, ...]
    kept_for_space: int
    """Stale entries that stay because the pending section has no room."""
    content: Json

    def counts(self) -> dict[str, int]:
        """Return the number of entries by action."""
        return dict(Counter(step.action.value for step in self.steps))


Planner = Callable[[Json, WriteRules, ProtectedSections, datetime], MaintenancePlan]
"""Plans the maintenance of a content by one profile's rules."""


def profiles_maintaining(catalog: Catalog, key: DocumentKey) -> list[WriteRules]:
    """Return the rules of the profiles with upkeep rules for the document, by id; each makes its own change.

    A document of a base is maintained by the base alone, not again by the profiles that extend it.
    """
    return [
        rules
        for rules in catalog.covering(key)
        if rules.section_rules and not catalog.inherits(rules.profile, rules.binding.binding_id)
    ]


def find_lost(
    before: Json, plan: MaintenancePlan, rules: WriteRules, protected: ProtectedSections, *, saved: Sequence[Json]
) -> tuple[str, ...]:
    """Return the sections that would lose a durable entry; empty if the plan is safe.

    An entry is safe if it or an equal one remains, is pending, or is among the entries `saved` in events; a statement
    also if it was closed, and names the entry that says it now. A change
    outside of the sections with rules is a loss as well, reported as "".
    """
    pending = rules.pending_section
    sections = {rule.section for rule in rules.section_rules} | ({pending} if pending else set())
    missing = [] if _without(before, sections) == _without(plan.content, sections) else [""]
    items = [] if pending is None else entries_at(plan.content, pending)
    targets = [item.get("target") for item in items if isinstance(item, dict)]
    waiting = [target.get("value") for target in targets if isinstance(target, dict)]
    for rule in rules.section_rules:
        found = [*entries_at(plan.content, rule.section), *waiting, *saved]
        if protected.is_durable(rule.section) and not _are_among(found, entries_at(before, rule.section), rule):
            missing.append(rule.section)
    return tuple(missing)


def _are_among(found: list[Json], entries: list[Json], rule: SectionUpkeep) -> bool:
    same = {canonical(entry) for entry in found}
    said = {entry_identity(entry, rule) for one in found for entry in (one, _reopened(one, rule))} - {None}
    return all(canonical(entry) in same or entry_identity(entry, rule) in said for entry in entries)


def _reopened(entry: Json, rule: SectionUpkeep) -> Json:
    """Return a closed statement that names the entry after it as an open one; any other one unchanged."""
    statements = rule.statements
    if statements is None or not isinstance(entry, dict) or entry.get(statements.replaced_field) is None:
        return entry
    members = {statements.until_field, statements.replaced_field}
    return {name: value for name, value in entry.items() if name not in members}


def _without(content: Json, sections: set[str]) -> bytes:
    """Return the content with these sections emptied; an absent section equals an empty one."""
    copy = orjson.loads(canonical(content))
    for section in sections:
        *parents, name = pointer(section)
        holder = copy
        for segment in parents:
            holder = holder.get(segment) if isinstance(holder, dict) else None
        if isinstance(holder, dict):
            holder[name] = []
    return canonical(copy)


def detail_events(
    plan: MaintenancePlan,
    key: DocumentKey,
    etag: ETag,
    rules: WriteRules,
    *,
    source_type: str,
    service_id: str,
    timestamp: str,
) -> list[Event]:
    """Return the events that store the removed entries of the version `etag`, written at `timestamp`.

    They depend on the version and the entries alone: a repeated run writes the same events. Each holds its entries as
    `evidence.entries`; an entry too long for one event is stored in several parts. The ids of events with closed
    statements begin with CLOSED, so that a listing finds them.
    """
    found = {rule.section: rule for rule in rules.section_rules}
    filled = rules.binding.value_in(key)
    events = []
    for detail in plan.details:
        origin = {"namespace": key.namespace, "path": key.path, "etag": etag, "section": detail.section}
        room = MAX_EVIDENCE_BYTES - len(canonical({**origin, "entries": []}))
        kind = CLOSED if detail.closed else f"{RESERVED}{source_type}-"
        for text, members in _parts(detail.entries, found[detail.section], room):
            seed = canonical([key.blob_name, origin, members.get("entry", [text, members])])
            part = f"-{members['part']}" if "part" in members else ""
            events.append(
                Event(
                    event_id=f"{kind}{sha256_hex(seed)[:ID_CHARS]}{part}",
                    service_id=service_id[:MAX_SERVICE_ID],
                    timestamp=timestamp,
                    source_type=source_type,
                    digest=text,
                    project_ids=[] if filled is None else [filled],
                    evidence=Evidence.model_validate({**origin, **members}),
                )
            )
    return events


def _parts(entries: Sequence[Json], rule: SectionUpkeep, room: int) -> Iterator[Part]:
    texts: list[str] = []
    held: list[Json] = []
    for entry in entries:
        text = entry_text(entry, rule)
        if texts and not _fits([*texts, text], [*held, entry], room):
            yield _joined(texts), {"entries": held}
            texts, held = [], []
        if _fits([text], [entry], room):
            texts, held = [*texts, text], [*held, entry]
        else:
            yield from _slices(entry)
    if texts:
        yield _joined(texts), {"entries": held}


def _fits(texts: list[str], entries: list[Json], room: int) -> bool:
    return len(_joined(texts)) <= MAX_DIGEST and len(canonical(entries)) - len(b"[]") <= room


def _joined(texts: list[str]) -> str:
    return "\n".join(texts)


def _slices(entry: Json) -> Iterator[Part]:
    text = canonical(entry).decode()
    count = -(-len(text) // MAX_DIGEST)
    for part in range(count):
        piece = text[part * MAX_DIGEST : (part + 1) * MAX_DIGEST]
        yield piece, {"entry": sha256_hex(text.encode()), "part": part + 1, "parts": count}


def entry_text(entry: Json, rule: SectionUpkeep) -> str:
    """Return the text of an entry for a digest. That of a closed statement says when it held."""
    text = entry.get(rule.text_field) if isinstance(entry, dict) else entry
    said = text if isinstance(text, str) and text.strip() else canonical(entry).decode()
    if rule.statements is None or is_open(entry, rule):
        return said
    since, until = (
        str(entry.get(name) or "")[:DAY] for name in (rule.statements.from_field, rule.statements.until_field)
    )
    return f"{said} ({f'{since} to' if since else 'until'} {until})"
