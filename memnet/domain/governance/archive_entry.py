"""The entries of an archive, one line each: events, snapshots, records and retractions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import MemnetError
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events import event as events
from memnet.domain.events.event import StoredEvent
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.archive import MAX_ENTRY_BYTES, EntryKind, refuse
from memnet.domain.governance.retraction import Retraction, RetractionStatus, load_plan
from memnet.domain.governance.usage_records import dump_usage, load_usage
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay import snapshot as snapshots
from memnet.domain.replay.conflict import Conflict, ConflictStatus
from memnet.domain.replay.replay import Replay, ReplayStatus
from memnet.domain.replay.snapshot import Snapshot

_ACCESS: Mapping[str, type] = {
    "access_id": str,
    "accessed_at": str,
    "operation": str,
    "principal": str,
    "application": str,
    "roles": list,
}
_OF_OPERATION: Mapping[str, Mapping[str, type]] = {
    "read_snapshot": {"conversation_id": str, "snapshot_id": str, "snapshot_uri": str},
    "export_user": {"include_conversations": bool, "reason": str},
}
"""The members of access records by operation."""
_OPTIONAL = frozenset({"application", "reason"})


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A stored item; `closed` is False for a replay or conflict that had not ended; `waits`: a failed replay."""

    key: ItemKey
    data: bytes
    closed: bool = True
    waits: bool = False


@dataclass(frozen=True, slots=True)
class ArchivedRetraction:
    """A retraction with its plan unsealed; None: the plan has expired. `is_closed`: its source was closed."""

    retraction: Retraction
    plan: bytes | None
    is_closed: bool

    @property
    def key(self) -> ItemKey:
        """The key of its record."""
        return self.retraction.key

    def line(self) -> bytes:
        """Return its line in an archive."""
        members = orjson.loads(retractions.dump(self.retraction))
        del members["sealed"]
        plan = None if self.plan is None else orjson.loads(self.plan)
        return canonical({**members, "plan": plan, "is_closed": self.is_closed})

    def restored(self) -> "ArchivedRetraction":
        """Return it as an import stores it: no worker is at one that was being applied or undone, so it waits."""
        if not self.retraction.is_running:
            return self
        failure = ErrorCode.UNAVAILABLE.value
        return replace(self, retraction=replace(self.retraction, status=RetractionStatus.FAILED, failure=failure))


Entry = StoredEvent | Snapshot | StoredItem | ArchivedRetraction


class Lines:
    """Splits the chunks of a file into lines. Raises ArchiveInvalid for one that is too long or has no end."""

    def __init__(self, file: str) -> None:
        """`file` is named in errors."""
        self._file = file
        self._rest: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that end in this chunk, without their ends."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._keep(part)
            yield b"".join(self._rest)
            self._rest, self._length = [], 0
        self._keep(rest)

    def close(self) -> None:
        """Call this after the last chunk."""
        if self._length:
            refuse("the last line does not end", self._file)

    def _keep(self, part: bytes) -> None:
        self._length += len(part)
        if self._length > MAX_ENTRY_BYTES:
            refuse(f"a line is longer than {MAX_ENTRY_BYTES} bytes", self._file)
        self._rest.append(part)


def replay_line(data: bytes) -> bytes:
    """Return the unsealed part of a stored replay. Raises HistoryCorrupt."""
    return _public(replays.dump(replays.load(data)))


def conflict_line(data: bytes) -> bytes:
    """Return the unsealed part of a stored conflict. Raises HistoryCorrupt."""
    return _public(conflicts.dump(conflicts.load(data)))


def usage_line(data: bytes) -> bytes:
    """Return the unsealed part of a stored usage record. Raises HistoryCorrupt."""
    return canonical(load_usage(data).members())


def is_same(entry: StoredItem, data: bytes) -> bool:
    """Return whether a stored item equals the archived one, apart from sealed parts."""
    if entry.data == data:
        return True
    lines = {ItemKind.REPLAYS: replay_line, ItemKind.CONFLICTS: conflict_line, ItemKind.USAGE: usage_line}
    line = lines.get(entry.key.kind)
    try:
        return line is not None and line(entry.data) == line(data)
    except MemnetError:
        return False


def read_entry(kind: EntryKind, scope: UserScope, line: bytes) -> Entry:
    """Parse a line of the user `scope`. Raises ArchiveInvalid unless it is such an entry in canonical form."""
    try:
        entry = READERS[kind](scope, line)
    except (MemnetError, ValueError, KeyError, TypeError, AttributeError):
        entry = None
    if entry is None:
        refuse(f"a line is not one of the user's {kind}", kind.file)
    return entry


def entry_name(entry: Entry) -> str:
    """Return the sort key of an entry: the end of its blob name."""
    if isinstance(entry, StoredEvent):
        return f"{entry.key.event_id}.json"
    return f"{entry.key.name}.json"


def moved(entry: Entry, scope: UserScope) -> Entry | None:
    """Return the entry below another user, or None for a kind that is not imported there."""
    if isinstance(entry, StoredEvent):
        return events.place(entry.event.model_copy(update={"tenant_id": None, "user_id": None}), scope)
    if isinstance(entry, Snapshot):
        return replace(entry, scope=scope)
    return None


def _public(data: bytes) -> bytes:
    members = orjson.loads(data)
    del members["sealed"]
    return canonical(members)


def _event(scope: UserScope, line: bytes) -> StoredEvent | None:
    found = events.load(line)
    return found if found is not None and found.key.scope == scope else None


def _snapshot(scope: UserScope, line: bytes) -> Snapshot | None:
    found = snapshots.load(scope, line)
    return found if found.dump() == line else None


def _replay(scope: UserScope, line: bytes) -> StoredItem | None:
    found: Replay = replays.load(_sealed_away(line))
    data = replays.dump(found)
    own = found.scope == scope and _public(data) == line
    return (
        StoredItem(found.key, data, closed=found.finished, waits=found.status is ReplayStatus.FAILED) if own else None
    )


def _conflict(scope: UserScope, line: bytes) -> StoredItem | None:
    found: Conflict = conflicts.load(_sealed_away(line))
    data = conflicts.dump(found)
    own = found.scope == scope and _public(data) == line
    return StoredItem(found.key, data, closed=found.status is not ConflictStatus.OPEN) if own else None


def _usage(scope: UserScope, line: bytes) -> StoredItem | None:
    found = load_usage(_sealed_away(line))
    own = found.scope == scope and canonical(found.members()) == line
    return StoredItem(found.key, dump_usage(found)) if own else None


def _retraction(scope: UserScope, line: bytes) -> ArchivedRetraction | None:
    members: dict[str, Any] = orjson.loads(line)
    plan, is_closed = members.pop("plan"), members.pop("is_closed")
    found = retractions.load(canonical({**members, "sealed": None}))
    data = None if plan is None else load_plan(canonical(plan)).dump()
    entry = ArchivedRetraction(found, data, is_closed is True)
    return entry if found.scope == scope and entry.line() == line else None


def _sealed_away(line: bytes) -> bytes:
    members: dict[str, Any] = orjson.loads(line)
    return canonical({**members, "sealed": None})


def _access(scope: UserScope, line: bytes) -> StoredItem | None:
    members = orjson.loads(line)
    kinds = {**_ACCESS, **_OF_OPERATION[members["operation"]]}
    if members.keys() != kinds.keys() or canonical(members) != line:
        return None
    for name, kind in kinds.items():
        if not (isinstance(members[name], kind) or (members[name] is None and name in _OPTIONAL)):
            return None
    return StoredItem(ItemKey(scope, ItemKind.ACCESSES, members["access_id"]), line)


READERS: Mapping[EntryKind, Callable[[UserScope, bytes], Entry | None]] = MappingProxyType(
    {
        EntryKind.EVENTS: _event,
        EntryKind.SNAPSHOTS: _snapshot,
        EntryKind.REPLAYS: _replay,
        EntryKind.CONFLICTS: _conflict,
        EntryKind.ACCESSES: _access,
        EntryKind.USAGE: _usage,
        EntryKind.RETRACTIONS: _retraction,
    }
)
