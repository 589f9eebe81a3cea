"""The upkeep of a document: who says how, what a plan is made of, and the proof that it loses nothing durable.

A plan is worked out on a worksheet, a copy of the content in whose sections entries are removed, replaced and added.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import orjson

from memnet.domain.catalog import Catalog
from memnet.domain.document import DocumentKey, ETag, Json
from memnet.domain.draft import Governance
from memnet.domain.entry import entries_at, identity
from memnet.domain.json_text import canonical
from memnet.domain.patch import Op, Pointer, pointer
from memnet.domain.path_policy import touches
from memnet.domain.upkeep_rules import SectionUpkeep


class Fate(StrEnum):
    """What becomes of an entry."""

    EXPIRED = "expired"
    MERGED = "merged"
    TRIMMED = "trimmed"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Step:
    """One entry that leaves its section. `into`: the entry it is merged into, or the pending item it becomes."""

    section: str
    fate: Fate
    entry: Json
    into: Json = None


@dataclass(frozen=True, slots=True)
class Detail:
    """Entries of one section that are written to events before they go."""

    section: str
    entries: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Plan:
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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the profiles that cover a document say of it together: each keeps it up by its own rules, none may harm
    what is durable to another, or what waits for another's confirmation.
    """

    durable: tuple[Pointer, ...]
    pending: tuple[str, ...]
    etag: ETag | None = None
    """The version under upkeep."""

    def is_durable(self, section: str) -> bool:
        """Whether something in the section is durable to some profile."""
        return any(touches(pointer(section), durable) for durable in self.durable)


Planner = Callable[[Json, Governance, Surroundings, datetime], Plan]
"""Decides on a content what to do, by one profile's rules."""


def caretakers(catalog: Catalog, key: DocumentKey) -> list[Governance]:
    """Every profile with upkeep rules for a binding that covers the document, in the order of their ids.

    One after the other keeps the document up, each in a change of its own.
    """
    return [rules for rules in catalog.covering(key) if rules.profile.upkeep_rules.get(rules.binding.binding_id)]


def surroundings(catalog: Catalog, key: DocumentKey, etag: ETag | None = None) -> Surroundings:
    """What is durable and what is pending in the document, whichever profile says so."""
    found = catalog.covering(key)
    durable = [d for r in found for d in r.profile.durable_sections.get(r.binding.binding_id, ())]
    pending = [s for r in found if (s := r.profile.pending_sections.get(r.binding.binding_id)) is not None]
    return Surroundings(tuple(pointer(text) for text in dict.fromkeys(durable)), tuple(dict.fromkeys(pending)), etag)


def lost(before: Json, plan: Plan, rules: Governance, around: Surroundings, *, told: Sequence[Json]) -> tuple[str, ...]:
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
    said = {identity(entry, rule) for entry in found} - {None}
    return all(canonical(entry) in same or identity(entry, rule) in said for entry in entries)


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
