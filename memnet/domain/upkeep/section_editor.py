"""A copy of a content that a planner edits; it returns the operations that make the same changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter

import orjson

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import MERGES
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PatchMalformed
from memnet.domain.core.json_patch import Op, member_ops, pointer
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import entries_at, is_expired, is_open
from memnet.domain.documents.question_choice import shown_in
from memnet.domain.upkeep.maintenance import Detail, EntryAction, MaintenancePlan, Step


@dataclass(slots=True)
class SectionEditor:
    """One section: its entries, shared with the content, and the former index of each (None: it is new)."""

    path: str
    entries: list[Json]
    origins: list[int | None]
    is_new: bool = False
    replaced: set[int] = field(default_factory=set)
    edited: dict[int, dict[str, Json]] = field(default_factory=dict)
    """By former index, the earlier form of the entries that are changed member by member."""
    removed: set[int] = field(default_factory=set)

    def ops(self) -> list[Op]:
        """Return replacements, then removals from the end, so that no index shifts before its use, then additions."""
        if self.is_new:
            return self.whole() if self.entries else []
        at = f"/{ROOT}{self.path}"
        placed = list(zip(self.origins, self.entries, strict=True))
        ops: list[Op] = [
            {"op": "replace", "path": f"{at}/{origin}", "value": entry}
            for origin, entry in placed
            if origin in self.replaced
        ]
        for origin, entry in placed:
            if origin in self.edited:
                ops += member_ops((ROOT, *pointer(self.path), str(origin)), self.edited[origin], entry)
        ops += [{"op": "remove", "path": f"{at}/{origin}"} for origin in sorted(self.removed, reverse=True)]
        return ops + [{"op": "add", "path": f"{at}/-", "value": entry} for origin, entry in placed if origin is None]

    def whole(self) -> list[Op]:
        """Return one operation with all entries."""
        return [{"op": "add" if self.is_new else "replace", "path": f"/{ROOT}{self.path}", "value": self.entries}]


class ContentEditor:
    """A content that is maintained by one profile's rules."""

    def __init__(self, content: Json, rules: WriteRules, protected: ProtectedSections) -> None:
        """`content` is copied."""
        self.content: Json = orjson.loads(canonical(content))
        self.rules = rules
        self.protected = protected
        self.maintained = rules.section_rules
        self.pending = rules.pending_section
        self.limits = rules.profile.array_limits(rules.binding.binding_id)
        self.steps: list[Step] = []
        self.kept_for_space = 0
        self._sections: dict[str, SectionEditor] = {}
        self._removed: dict[tuple[str, bool], list[tuple[int, Json]]] = {}
        """By section, and whether they are closed statements: the removed entries with their former indices."""
        self._rules = {rule.section: rule for rule in self.maintained}

    def section(self, section: str) -> SectionEditor:
        """Return the section; a missing one has no entries."""
        if section not in self._sections:
            entries = entries_at(self.content, section)
            self._sections[section] = SectionEditor(section, entries, list(range(len(entries))))
        return self._sections[section]

    def ensure(self, section: str) -> SectionEditor | None:
        """Return the section, created if it is missing; None if it cannot be."""
        name = pointer(section)[-1]
        holder = self._holder(section)
        if not isinstance(holder, dict):
            return None
        if name not in holder:
            holder[name] = []
            self._sections[section] = SectionEditor(section, holder[name], [], is_new=True)
        return self.section(section) if isinstance(holder[name], list) else None

    def pending_room(self) -> SectionEditor | None:
        """Return the pending section, created if it is missing; None if it has no room for one more item."""
        found = None if self.pending is None else self.ensure(self.pending)
        if found is None:
            return None
        name, *deeper = pointer(found.path)
        is_full = not deeper and len(found.entries) >= self.limits.get(name, len(found.entries) + 1)
        return None if is_full else found

    def size(self) -> int:
        """Return the characters of the canonical JSON."""
        return len(canonical(self.content).decode())

    def is_sound(self) -> bool:
        """Return whether the content obeys the schema and `max_chars`."""
        return not self.rules.schema.violations(self.content) and self.size() <= self.rules.binding.max_chars

    def protected_entries(self, section: str) -> set[bytes]:
        """Return the entries, in canonical form, that a pending item would change or remove; they stay unchanged."""
        items = [item for pending in self.protected.pending for item in entries_at(self.content, pending)]
        rule, entries = self._rules.get(section), entries_at(self.content, section)
        merged = [] if rule is None else [entry for item in items for entry in _merged(item, entries, rule)]
        return {*merged, *(entry for item in items for entry in _touched(item, section))}

    def asked_entries(self, rule: SectionUpkeep) -> set[bytes]:
        """Return the open entries, in canonical form, that questions show: of a closed one none is asked."""
        items = [item for pending in self.protected.pending for item in entries_at(self.content, pending)]
        shown = (shown_in(item, self.content, [rule]) for item in items if isinstance(item, dict))
        return {canonical(one.entry) for one in shown if one is not None}

    def remove(self, section: str, position: int, action: EntryAction, *, into: Json = None, save: bool = True) -> None:
        """Remove an entry; `save`: it is written to an event."""
        editor = self.section(section)
        entry, origin = editor.entries.pop(position), editor.origins.pop(position)
        if origin is not None:
            editor.removed.add(origin)
        self.steps.append(Step(section, action, entry, into))
        if save:
            closed = not is_open(entry, self._rules[section])
            self._removed.setdefault((section, closed), []).append((origin or 0, entry))

    def replace(self, section: str, position: int, value: Json) -> None:
        """Replace an entry."""
        editor = self.section(section)
        editor.entries[position] = value
        origin = editor.origins[position]
        if origin is not None:
            editor.replaced.add(origin)

    def edit(self, section: str, position: int, value: dict[str, Json], was: dict[str, Json]) -> None:
        """Change members of an entry, which `was` another one; the history then says which."""
        editor = self.section(section)
        editor.entries[position] = value
        origin = editor.origins[position]
        if origin is not None and origin not in editor.replaced:
            editor.edited.setdefault(origin, was)

    def note(self, section: str, action: EntryAction, entry: Json, *, into: Json) -> None:
        """Report a step about an entry that stays in its section."""
        self.steps.append(Step(section, action, entry, into))

    def expire(self, now: datetime) -> None:
        """Remove expired entries."""
        for rule in self.maintained:
            entries = self.section(rule.section).entries
            protected = self.protected_entries(rule.section)
            expired = [
                i
                for i, entry in enumerate(entries)
                if is_expired(entry, rule, now) and canonical(entry) not in protected
            ]
            for position in reversed(expired):
                self.remove(rule.section, position, EntryAction.EXPIRED)

    def _holder(self, section: str) -> Json:
        holder = self.content
        for segment in pointer(section)[:-1]:
            holder = holder.get(segment) if isinstance(holder, dict) else None
        return holder

    def plan(self) -> MaintenancePlan:
        """Return the plan. Sections are replaced as a whole where the profile's `max_ops` would be exceeded."""
        for unused in [path for path, editor in self._sections.items() if editor.is_new and not editor.entries]:
            del self._holder(unused)[pointer(unused)[-1]], self._sections[unused]
        changes = {path: editor.ops() for path, editor in self._sections.items()}
        while sum(map(len, changes.values())) > self.rules.profile.max_ops:
            longest = max(changes, key=lambda path: len(changes[path]))
            if len(changes[longest]) == 1:
                break
            changes[longest] = self._sections[longest].whole()
        details = [
            Detail(section, tuple(entry for _, entry in sorted(rows, key=itemgetter(0))), closed)
            for (section, closed), rows in self._removed.items()
        ]
        return MaintenancePlan(
            ops=[op for ops in changes.values() for op in ops],
            steps=tuple(self.steps),
            details=tuple(details),
            kept_for_space=self.kept_for_space,
            content=self.content,
        )


def _merged(item: Json, entries: Sequence[Json], rule: SectionUpkeep) -> list[bytes]:
    """Return the statements of a section that the confirmation of a pending item would close."""
    target = item.get("target") if isinstance(item, dict) else None
    ids, path = (item.get(MERGES), target.get("path")) if isinstance(target, dict) else (None, None)
    if not isinstance(ids, list) or not isinstance(path, str) or not path.startswith(f"/{ROOT}{rule.section}/"):
        return []
    return [canonical(entry) for entry in entries if isinstance(entry, dict) and entry.get(rule.id_field) in ids]


def _touched(item: Json, section: str) -> list[bytes]:
    """Return the section's entries that a pending item's operation changes or removes, from its base version."""
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
