"""How often a user's entries were recalled, and when last: one small record a user, `usage/entries.json`.

It holds names of documents, ids of entries, counts and times. A process adds what it has counted in one conditional
write, and the record names the newest writes: so a writer can see whether a write of its own was applied.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.core.user_item import ItemKey, ItemKind

NAME: Final = "entries"
MAX_ENTRIES: Final = 2000
"""Entries of one user that are counted; the ones used least recently are dropped."""
MAX_WRITES: Final = 16
"""Writes that the record names."""


@dataclass(frozen=True, slots=True)
class Uses:
    """How often an entry was in an answer, and when last."""

    uses: int
    last_used_at: str

    def add(self, other: "Uses") -> "Uses":
        """Return both together."""
        return Uses(self.uses + other.uses, max(self.last_used_at, other.last_used_at))


Counted = Mapping[DocumentKey, Mapping[str, Uses]]
"""The uses of entries by document and id."""


@dataclass(frozen=True, slots=True)
class EntryUses:
    """The uses of one user's entries."""

    scope: UserScope
    updated_at: str
    counted: Counted = field(default_factory=dict)
    sequence: int = 0
    """The number of writes of the record."""
    writes: Sequence[str] = ()
    """The ids of the newest writes, newest last."""

    @property
    def key(self) -> ItemKey:
        """The key of the record."""
        return entry_uses_key(self.scope)

    def add(self, counted: Counted, write_id: str, now: datetime) -> "EntryUses":
        """Return the record with these uses, as a write of this id leaves it."""
        found = {key: dict(entries) for key, entries in self.counted.items()}
        for key, entries in counted.items():
            there = found.setdefault(key, {})
            for entry_id, uses in entries.items():
                there[entry_id] = there[entry_id].add(uses) if entry_id in there else uses
        return replace(
            self,
            updated_at=to_text(now),
            counted=_newest(found),
            sequence=self.sequence + 1,
            writes=(*self.writes, write_id)[-MAX_WRITES:],
        )

    def has_applied(self, write_id: str, since: int) -> bool | None:
        """Return whether a write was applied after the record had `since` writes; None: the record cannot say."""
        if write_id in self.writes:
            return True
        return False if 0 <= self.sequence - since <= MAX_WRITES else None

    def members(self) -> dict[str, Any]:
        """Return the members of the stored form, which an export has as well."""
        documents = [
            {
                "namespace": key.namespace,
                "path": key.path,
                "entries": {entry_id: [one.uses, one.last_used_at] for entry_id, one in entries.items()},
            }
            for key, entries in sorted(self.counted.items(), key=lambda row: row[0].blob_name)
        ]
        return {
            "tenant_id": self.scope.tenant_id,
            "user_id": self.scope.user_id,
            "updated_at": self.updated_at,
            "sequence": self.sequence,
            "writes": list(self.writes),
            "documents": documents,
        }


def entry_uses_key(scope: UserScope) -> ItemKey:
    """Return the key of a user's record. Raises InvalidIdentifier."""
    return ItemKey(scope, ItemKind.USAGE, NAME)


def no_uses(scope: UserScope, now: datetime) -> EntryUses:
    """Return the record of a user of whom nothing was used."""
    return EntryUses(scope, to_text(now))


def dump(uses: EntryUses) -> bytes:
    """Return the stored form."""
    return canonical(uses.members())


def load(data: bytes) -> EntryUses:
    """Read the stored form. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored uses of entries cannot be read.")):
        members = orjson.loads(data)
        scope = UserScope(members["tenant_id"], members["user_id"])
        counted = {
            DocumentKey(scope, one["namespace"], one["path"]): {
                str(entry_id): Uses(int(uses), to_text(from_text(last)))
                for entry_id, (uses, last) in one["entries"].items()
            }
            for one in members["documents"]
        }
        writes = tuple(map(str, members["writes"]))
        return EntryUses(scope, members["updated_at"], counted, int(members["sequence"]), writes)


def _newest(counted: Counted) -> Counted:
    """Drop the entries used least recently, beyond the limit."""
    excess = sum(map(len, counted.values())) - MAX_ENTRIES
    if excess <= 0:
        return counted
    every = ((one.last_used_at, key.blob_name, entry_id) for key in counted for entry_id, one in counted[key].items())
    gone = {(name, entry_id) for _, name, entry_id in sorted(every)[:excess]}
    kept = {
        key: {entry_id: one for entry_id, one in found.items() if (key.blob_name, entry_id) not in gone}
        for key, found in counted.items()
    }
    return {key: found for key, found in kept.items() if found}
