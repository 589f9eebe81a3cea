"""The upkeep of a document: who says how, what a plan is made of, and the proof that it loses nothing durable.

A plan is worked out on a worksheet, a copy of the content in whose sections entries are removed, replaced and added.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import orjson

from memnet.domain.catalog.catalog import Catalog, ProtectedSections, WriteRules
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Op, pointer
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.documents.entry import entries_at, entry_identity


class EntryAction(StrEnum):
    """What becomes of an entry."""

    EXPIRED = "expired"
    MERGED = "merged"
    TRIMMED = "trimmed"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry that leaves its section. `into`: the entry it is merged into, or the pending item it becomes."""

    section: str
    fate: EntryAction
    entry: Json
    into: Json = None


@dataclass(frozen=True, slots=True)
class Detail:
    """Entries of one section that are written to events before they go."""

    section: str
    entries: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """What would be done. Without `ops` there is nothing to do."""

    ops: list[Op]
    steps: tuple[Step, ...]
    details: tuple[Detail, ...]
    held: int
    """Stale entries that stay because the pending section cannot take them."""
    content: Json
    """What the operations make of the content."""

    def counts(self) -> dict[str, int]:
        """How many entries have met which fate."""
        return dict(Counter(step.fate.value for step in self.steps))


Planner = Callable[[Json, WriteRules, ProtectedSections, datetime], MaintenancePlan]
"""Decides on a content what to do, by one profile's rules."""


def profiles_maintaining(catalog: Catalog, key: DocumentKey) -> list[WriteRules]:
    """Every profile with upkeep rules for a binding that covers the document, in the order of their ids.

    One after the other keeps the document up, each in a change of its own.
    """
    return [rules for rules in catalog.covering(key) if rules.profile.upkeep_rules.get(rules.binding.binding_id)]


def lost(
    before: Json, plan: MaintenancePlan, rules: WriteRules, around: ProtectedSections, *, told: Sequence[Json]
) -> tuple[str, ...]:
    """What a plan would lose for good: the sections in which a durable entry of `before` is nowhere afterwards.

    It, or one that says the same, may stand there still, or wait in the pending section, or be among the entries
    `told` in events. A change outside of the sections that the rules name is a loss, too, told as "". Empty: all is
    well.
    """
    profile, binding_id = rules.profile, rules.binding.binding_id
    tended = profile.upkeep_rules.get(binding_id, ())
    pending = profile.pending_sections.get(binding_id)
    sections = {rule.section for rule in tended} | ({pending} if pending else set())
    missing = [] if _without(before, sections) == _without(plan.content, sections) else [""]
    waiting = [item["target"].get("value") for item in _proposals(plan.content, pending)]
    for rule in tended:
        found = [*entries_at(plan.content, rule.section), *waiting, *told]
        if around.is_durable(rule.section) and not _are_among(found, entries_at(before, rule.section), rule):
            missing.append(rule.section)
    return tuple(missing)


def _are_among(found: list[Json], entries: list[Json], rule: SectionUpkeep) -> bool:
    same = {canonical(entry) for entry in found}
    said = {entry_identity(entry, rule) for entry in found} - {None}
    return all(canonical(entry) in same or entry_identity(entry, rule) in said for entry in entries)


def _proposals(content: Json, pending: str | None) -> list[dict[str, Json]]:
    items = [] if pending is None else entries_at(content, pending)
    return [item for item in items if isinstance(item, dict) and isinstance(item.get("target"), dict)]


def _without(content: Json, sections: set[str]) -> bytes:
    """The content with these sections emptied; an absent one is as good as an empty one."""
    copy = orjson.loads(canonical(content))
    for section in sections:
        *parents, name = pointer(section)
        holder = copy
        for segment in parents:
            holder = holder.get(segment) if isinstance(holder, dict) else None
        if isinstance(holder, dict):
            holder[name] = []
    return canonical(copy)
