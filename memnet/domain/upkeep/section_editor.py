"""The copy of a content on which a plan is worked out; at the end it tells the operations that lead there."""

from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter

import orjson

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PatchMalformed
from memnet.domain.core.json_patch import Op, pointer
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import entries_at, is_expired
from memnet.domain.upkeep.maintenance import Detail, EntryAction, MaintenancePlan, Step


@dataclass(slots=True)
class SectionEditor:
    """One section: its entries, which are those in the content itself, and where each stood before (None: nowhere)."""

    path: str
    entries: list[Json]
    origins: list[int | None]
    is_new: bool = False
    replaced: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)

    def ops(self) -> list[Op]:
        """Replace, then remove from the end, so that no index shifts before it is used, then add."""
        if self.is_new:
            return self.whole() if self.entries else []
        at = f"/{ROOT}{self.path}"
        placed = list(zip(self.origins, self.entries, strict=True))
        ops: list[Op] = [
            {"op": "replace", "path": f"{at}/{origin}", "value": entry}
            for origin, entry in placed
            if origin in self.replaced
        ]
        ops += [{"op": "remove", "path": f"{at}/{origin}"} for origin in sorted(self.removed, reverse=True)]
        return ops + [{"op": "add", "path": f"{at}/-", "value": entry} for origin, entry in placed if origin is None]

    def whole(self) -> list[Op]:
        """The same in one operation."""
        return [{"op": "add" if self.is_new else "replace", "path": f"/{ROOT}{self.path}", "value": self.entries}]


class ContentEditor:
    """A content under upkeep by one profile's rules."""

    def __init__(self, content: Json, rules: WriteRules, around: ProtectedSections) -> None:
        """`content` is copied."""
        self.content: Json = orjson.loads(canonical(content))
        self.rules = rules
        self.around = around
        binding_id = rules.binding.binding_id
        self.tended = rules.profile.upkeep_rules.get(binding_id, ())
        self.pending = rules.profile.pending_sections.get(binding_id)
        self.limits = rules.profile.array_limits(binding_id)
        self.steps: list[Step] = []
        self.held = 0
        self._sheets: dict[str, SectionEditor] = {}
        self._told: dict[str, list[tuple[int, Json]]] = {}

    def sheet(self, section: str) -> SectionEditor:
        """The section; one that is not there has no entries."""
        if section not in self._sheets:
            entries = entries_at(self.content, section)
            self._sheets[section] = SectionEditor(section, entries, list(range(len(entries))))
        return self._sheets[section]

    def open(self, section: str) -> SectionEditor | None:
        """The section to add to, made if it is not there; None if it cannot be."""
        name = pointer(section)[-1]
        holder = self._holder(section)
        if not isinstance(holder, dict):
            return None
        if name not in holder:
            holder[name] = []
            self._sheets[section] = SectionEditor(section, holder[name], [], is_new=True)
        return self.sheet(section) if isinstance(holder[name], list) else None

    def size(self) -> int:
        """Characters of the canonical JSON."""
        return len(canonical(self.content).decode())

    def is_sound(self) -> bool:
        """Whether the content is still one that the schema and `max_chars` admit."""
        return not self.rules.schema.violations(self.content) and self.size() <= self.rules.binding.max_chars

    def held_entries(self, section: str) -> set[bytes]:
        """The entries, in canonical form, that stay as they are because a pending item would change or remove them."""
        items = [item for pending in self.around.pending for item in entries_at(self.content, pending)]
        return {entry for item in items for entry in _meant(item, section)}

    def remove(self, section: str, position: int, fate: EntryAction, *, into: Json = None, tell: bool = True) -> None:
        """Take an entry out; `tell`: its detail goes to an event."""
        sheet = self.sheet(section)
        entry, origin = sheet.entries.pop(position), sheet.origins.pop(position)
        if origin is not None:
            sheet.removed.add(origin)
        self.steps.append(Step(section, fate, entry, into))
        if tell:
            self._told.setdefault(section, []).append((origin or 0, entry))

    def replace(self, section: str, position: int, value: Json) -> None:
        """Put another entry in the place of one."""
        sheet = self.sheet(section)
        sheet.entries[position] = value
        origin = sheet.origins[position]
        if origin is not None:
            sheet.replaced.add(origin)

    def expire(self, now: datetime) -> None:
        """Remove what says that its time has passed."""
        for rule in self.tended:
            entries = self.sheet(rule.section).entries
            held = self.held_entries(rule.section)
            gone = [
                i for i, entry in enumerate(entries) if is_expired(entry, rule, now) and canonical(entry) not in held
            ]
            for position in reversed(gone):
                self.remove(rule.section, position, EntryAction.EXPIRED)

    def _holder(self, section: str) -> Json:
        holder = self.content
        for segment in pointer(section)[:-1]:
            holder = holder.get(segment) if isinstance(holder, dict) else None
        return holder

    def plan(self) -> MaintenancePlan:
        """The operations, at most as many as the profile lets a patch have if it has that many sections."""
        for unused in [path for path, sheet in self._sheets.items() if sheet.is_new and not sheet.entries]:
            del self._holder(unused)[pointer(unused)[-1]], self._sheets[unused]
        changes = {path: sheet.ops() for path, sheet in self._sheets.items()}
        while sum(map(len, changes.values())) > self.rules.profile.max_ops:
            longest = max(changes, key=lambda path: len(changes[path]))
            if len(changes[longest]) == 1:
                break
            changes[longest] = self._sheets[longest].whole()
        told = [
            Detail(section, tuple(entry for _, entry in sorted(rows, key=itemgetter(0))))
            for section, rows in self._told.items()
        ]
        return MaintenancePlan(
            ops=[op for ops in changes.values() for op in ops],
            steps=tuple(self.steps),
            details=tuple(told),
            held=self.held,
            content=self.content,
        )


def _meant(item: Json, section: str) -> list[bytes]:
    """The entries of the section that the item's operation changes or removes, as they were when it was proposed."""
    target, base = (item.get("target"), item.get("base")) if isinstance(item, dict) else (None, None)
    if not isinstance(target, dict):
        return []
    entries, place = entries_at(base, section), pointer(f"/{ROOT}{section}")
    found = []
    for name in ("path", "from"):
        try:
            path = pointer(target.get(name)) if name in target else ()
        except PatchMalformed:
            continue
        is_added = name == "path" and target.get("op") in ("add", "move")
        deep_enough = len(path) > len(place) + is_added and path[: len(place)] == place
        index = path[len(place)] if deep_enough else ""
        if index.isdecimal() and int(index) < len(entries):
            found.append(canonical(entries[int(index)]))
    return found
