"""The entries of an archive: one line each, read back as what it is of, or refused."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeGuard

import orjson

from memnet.domain import attachment as attachments
from memnet.domain import conflict as conflicts
from memnet.domain import event as events
from memnet.domain import replay as replays
from memnet.domain import snapshot as snapshots
from memnet.domain.archive import MAX_ENTRY_BYTES, EntryKind, refuse
from memnet.domain.conflict import Conflict, ConflictStatus
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken, MemnetError
from memnet.domain.event import StoredEvent
from memnet.domain.json_text import canonical
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.replay import Replay
from memnet.domain.snapshot import Snapshot

ACCESS = frozenset({"access_id", "accessed_at", "principal", "roles", "conversation_id", "snapshot_id", "snapshot_uri"})


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as it will stand in the store; `closed` is False if it is of something that had not ended."""

    key: RecordKey
    data: bytes
    closed: bool = True


Entry = StoredEvent | Snapshot | StoredRecord


class Lines:
    """Cuts the chunks of a file into lines. Raises ArchiveRefused for one that is too long or does not end."""

    def __init__(self, file: str) -> None:
        """`file` is named in what is refused."""
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
    """The public part of a stored replay. Raises HistoryBroken."""
    return _public(replays.dump(replays.load(data)))


def conflict_line(data: bytes) -> bytes:
    """The public part of a stored conflict. Raises HistoryBroken."""
    return _public(conflicts.dump(conflicts.load(data)))


def import_line(key: RecordKey, data: bytes) -> bytes:
    """A stored record of an earlier import, with its name. Raises HistoryBroken for what no import leaves."""
    attachment = attachments.parse(key.name)
    if attachment is None or not attachments.fits(attachment, data):
        raise HistoryBroken("A stored record of an import cannot be read.", record=key.name)
    return canonical({"name": key.name, "record": orjson.loads(data)})


def is_same(entry: StoredRecord, data: bytes) -> bool:
    """Whether a stored record is the archived one; of what has a sealed part, by all the rest."""
    if entry.data == data:
        return True
    line = {RecordKind.REPLAYS: replay_line, RecordKind.CONFLICTS: conflict_line}.get(entry.key.kind)
    try:
        return line is not None and line(entry.data) == line(data)
    except MemnetError:
        return False


def read_entry(kind: EntryKind, scope: UserScope, line: bytes) -> Entry:
    """Read a line of the user `scope`. Raises ArchiveRefused for whatever is not such an entry in its one form."""
    try:
        entry = READERS[kind](scope, line)
    except (MemnetError, ValueError, KeyError, TypeError, AttributeError):
        entry = None
    if entry is None:
        refuse(f"a line is none of the user's {kind}", kind.file)
    return entry


def entry_name(entry: Entry) -> str:
    """What entries are ordered by: the end of the blob's name."""
    if isinstance(entry, StoredEvent):
        return f"{entry.key.event_id}.json"
    return f"{entry.key.name}.json"


def moved(entry: Entry, scope: UserScope) -> Entry | None:
    """The same entry below another user; None for a kind that has no meaning there."""
    if isinstance(entry, StoredEvent):
        return events.place(entry.event.model_copy(update={"tenant_id": None, "user_id": None}), scope)
    if isinstance(entry, Snapshot):
        return replace(entry, scope=scope)
    return None


def is_of_import(entry: Entry) -> TypeGuard[StoredRecord]:
    """Whether it is what an earlier import left."""
    return isinstance(entry, StoredRecord) and entry.key.kind is RecordKind.IMPORTS


def carried(entry: StoredRecord, archive: str, scope: UserScope) -> StoredRecord:
    """What an earlier import left, as it is kept of what `archive` brings along: apart from what is written here.

    Raises ArchiveRefused if it tells of that archive itself.
    """
    attachment = attachments.parse(entry.key.name)
    if attachment is None:
        refuse("a line is none of the user's imports", EntryKind.IMPORTS.file)
    return replace(entry, key=RecordKey(scope, RecordKind.IMPORTS, attachments.carried(attachment, archive)))


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


def _replay(scope: UserScope, line: bytes) -> StoredRecord | None:
    found: Replay = replays.load(_sealed_away(line))
    data = replays.dump(found)
    own = found.scope == scope and _public(data) == line
    return StoredRecord(found.key, data, closed=found.finished) if own else None


def _conflict(scope: UserScope, line: bytes) -> StoredRecord | None:
    found: Conflict = conflicts.load(_sealed_away(line))
    data = conflicts.dump(found)
    own = found.scope == scope and _public(data) == line
    return StoredRecord(found.key, data, closed=found.status is not ConflictStatus.OPEN) if own else None


def _sealed_away(line: bytes) -> bytes:
    members: dict[str, Any] = orjson.loads(line)
    return canonical({**members, "sealed": None})


def _access(scope: UserScope, line: bytes) -> StoredRecord | None:
    members = orjson.loads(line)
    if not isinstance(members, dict) or members.keys() != ACCESS or canonical(members) != line:
        return None
    if not all(isinstance(value, list if name == "roles" else str) for name, value in members.items()):
        return None
    return StoredRecord(RecordKey(scope, RecordKind.ACCESSES, members["access_id"]), line)


def _import(scope: UserScope, line: bytes) -> StoredRecord | None:
    members = orjson.loads(line)
    if not isinstance(members, dict) or members.keys() != {"name", "record"} or canonical(members) != line:
        return None
    attachment, data = attachments.parse(members["name"]), canonical(members["record"])
    if attachment is None or not attachments.fits(attachment, data):
        return None
    return StoredRecord(RecordKey(scope, RecordKind.IMPORTS, attachment.name), data)


READERS: Mapping[EntryKind, Callable[[UserScope, bytes], Entry | None]] = MappingProxyType(
    {
        EntryKind.EVENTS: _event,
        EntryKind.SNAPSHOTS: _snapshot,
        EntryKind.REPLAYS: _replay,
        EntryKind.CONFLICTS: _conflict,
        EntryKind.ACCESSES: _access,
        EntryKind.IMPORTS: _import,
    }
)
