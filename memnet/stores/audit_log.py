"""The audit records: segments below audit/{doc_id}/, append blobs that are named by their first change.

Next to each segment but the first lies a derived baseline: the document as the change before the segment left it. The
newest change has one, too, once retention has removed the version before it.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from weakref import WeakValueDictionary

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import SEGMENT, UserScope, check_identifier
from memnet.domain.documents.audit_segments import Batch, batches, position_of, read_lines
from memnet.domain.documents.commit import unflushed
from memnet.domain.documents.envelope import Envelope, change_id
from memnet.ports import StoreConflict
from memnet.stores.blobs import Blobs
from memnet.stores.key_ring import Vault

STARTED = "started"
"""The metadata of a segment: the timestamp of its first record. Finding a version by time starts from it."""
_NAME = re.compile(rf"(?P<doc_id>{SEGMENT.pattern})/(?P<first>(?!0{{12}})[0-9]{{12}})\.(?P<kind>jsonl|json)", re.ASCII)


@dataclass(frozen=True, slots=True)
class StoredHistory:
    """The audit blobs of one document."""

    segments: Mapping[int, str] = field(default_factory=dict)
    """When each segment started, by its first change, in order."""
    baselines: frozenset[int] = frozenset()
    """The first changes of the segments that have a baseline."""
    strays: tuple[str, ...] = ()
    """The names of other blobs in audit/, which the service does not write."""

    def segment_of(self, sequence: int) -> int | None:
        """Return the segment that a change belongs to; None if it is older than all of them."""
        return max((first for first in self.segments if first <= sequence), default=None)

    def segment_at(self, moment: int | str, last: int) -> int:
        """Return the segment from which to read the version at a change or a time; `last` is the newest change.

        It is the last segment that began by then and holds the record that confirms the version, or else the first one.
        """
        if isinstance(moment, int):
            return self.segment_of(min(moment + 1, last)) or self.begins
        begun = [first for first, started in self.segments.items() if started <= moment and first <= last]
        return max(begun, default=self.begins)

    def with_baseline(self, first: int) -> "StoredHistory":
        """Return it with the baseline of one more segment."""
        return replace(self, baselines=self.baselines | {first})

    @property
    def begins(self) -> int:
        """The first change that has a record; 1 if nothing is stored."""
        return next(iter(self.segments), 1)

    @property
    def base(self) -> int:
        """The baseline that the history begins with, by the first change after it; 1 if no record was removed.

        It is the one next to the first segment. If retention has removed that one, it is the baseline of the segment's
        only record.
        """
        begins, after = self.begins, self.begins + 1
        return after if begins > 1 and begins not in self.baselines and after in self.baselines else begins


@dataclass(slots=True, eq=False)
class _Waiting:
    """Versions of one document that the next append takes together."""

    version: Envelope
    """The newest of them: its outbox holds the records of all."""
    first: int
    """The oldest of them."""
    known_at: datetime
    is_done: bool = False


class AuditLog:
    """The segments and the baselines. Reads are strongly consistent.

    Every append has one right place, which follows from the records before it, so a record is stored exactly once,
    whichever processes append it. Every method raises InvalidIdentifier for a document id that is not an identifier.
    """

    def __init__(self, blobs: Blobs, vault: Vault, *, known_limit: int = 100_000) -> None:
        """`vault` holds the keys that seal records; `known_limit` bounds how many documents the process remembers."""
        self.vault = vault
        self._blobs = blobs
        self._flushed: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._known_limit = known_limit
        self._waiting: dict[str, _Waiting] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def flushed(self, scope: UserScope, current: Envelope) -> int:
        """Return a change up to which this process knows that all records are stored; 0 if it knows of none.

        The document may have been restored from an archive since, with other changes under the same numbers. So the
        hash of the last flushed record must be one that `current` continues from.
        """
        sequence, record_hash = self._flushed.get(_folder(scope, current.doc_id), (0, ""))
        commit = current.commit
        hashes = {record["sequence"] - 1: record["previous_record_hash"] for record in commit.outbox}
        hashes[commit.sequence] = commit.record_hash
        return sequence if hashes.get(sequence) == record_hash else 0

    async def flush(self, scope: UserScope, current: Envelope, *, read_first: bool = False) -> None:
        """Append the records in the outbox of a committed version that are not stored yet.

        One append runs per document and process; the records of versions that are committed meanwhile follow together
        in the next one. `read_first` reads the segment before it appends to it, for a caller that expects no gap. Pass
        only a version that was just read or written: an older one might restore a segment that retention has removed.

        The requests are dated with this call: the storage refuses them 15 minutes later, when a retention run or an
        erasure may have removed the segment. Raises ErasureRunning, TenantEnded, Unavailable; HistoryCorrupt: the
        segment is missing or holds other bytes, or the version is not current.
        """
        folder, sequence = _folder(scope, current.doc_id), current.commit.sequence
        waiting = self._waiting.get(folder)
        if waiting is None:
            waiting = self._waiting[folder] = _Waiting(current, sequence, self._blobs.clock.now())
        elif waiting.version.commit.sequence < sequence:
            waiting.version = current
        else:
            waiting.first = min(waiting.first, sequence)
        async with self._lock(folder):
            if waiting.is_done:
                return
            # Versions that arrive from now on wait for the next append.
            if self._waiting.get(folder) is waiting:
                del self._waiting[folder]
            await self._flush(scope, waiting, read_first=read_first)
            waiting.is_done = True
            self._remember(folder, waiting.version)

    async def check(self, scope: UserScope, current: Envelope) -> None:
        """Raise the error that `flush` would raise, and write nothing."""
        for batch in _batches_after(current, self.flushed(scope, current)):
            stored = await self._blobs.data(segment_name(scope, current.doc_id, batch.position.first))
            if stored is None:
                await self._blobs.check(scope)
            if stored is not None or batch.position.offset:
                _missing(stored or b"", current.doc_id, batch)

    async def append(self, scope: UserScope, doc_id: str, batch: Batch) -> None:
        """Append lines to a segment, and create it if they are its first. It succeeds if they are stored already.

        Raises as `flush`.
        """
        await self._append(scope, doc_id, batch, self._blobs.clock.now())

    async def read(self, scope: UserScope, doc_id: str, first: int) -> Sequence[Record] | None:
        """Return the records of a segment, sealed as stored; None if it does not exist. Raises Unavailable.

        A record is empty if its line is not one that the service wrote.
        """
        data = await self._blobs.data(segment_name(scope, doc_id, first))
        return None if data is None else read_lines(data)

    async def histories(self, scope: UserScope, doc_id: str | None = None) -> Mapping[str, StoredHistory]:
        """Return the stored histories of the user's documents, or of one, by document id. Raises Unavailable.

        Blobs that the service does not write are listed as strays, below the first part of their names.
        """
        segments: dict[str, dict[int, str]] = {}
        baselines: dict[str, set[int]] = {}
        strays: dict[str, list[str]] = {}
        start = f"{scope.prefix}audit/"
        async for blob in self._blobs.each(start if doc_id is None else f"{_folder(scope, doc_id)}/", metadata=True):
            name = _NAME.fullmatch(blob.name.removeprefix(start))
            if name is None:
                stray = blob.name.removeprefix(start)
                strays.setdefault(stray.partition("/")[0], []).append(stray)
                continue
            first = int(name["first"])
            if name["kind"] == "json":
                baselines.setdefault(name["doc_id"], set()).add(first)
            else:
                segments.setdefault(name["doc_id"], {})[first] = blob.metadata.get(STARTED, "")
        return {
            one: StoredHistory(segments.get(one, {}), frozenset(baselines.get(one, ())), tuple(strays.get(one, ())))
            for one in sorted(segments.keys() | baselines.keys() | strays.keys())
        }

    async def history(self, scope: UserScope, doc_id: str) -> StoredHistory:
        """Return the stored history of a document, empty if nothing is stored. Raises Unavailable."""
        return (await self.histories(scope, doc_id)).get(doc_id, StoredHistory())

    async def delete(
        self, scope: UserScope, doc_id: str, first: int, *, known_at: datetime | None = None, baseline: bool = False
    ) -> None:
        """Delete a segment or, with `baseline`, the baseline next to it; a missing one is no error.

        `known_at` is as in `BlobStorage`. Raises Unavailable.
        """
        name = baseline_name(scope, doc_id, first) if baseline else segment_name(scope, doc_id, first)
        await self._blobs.storage.delete(name, known_at=known_at)

    async def read_baseline(self, scope: UserScope, doc_id: str, first: int) -> bytes | None:
        """Return the baseline of a segment, or None if it does not exist. Raises Unavailable."""
        return await self._blobs.data(baseline_name(scope, doc_id, first))

    async def create_baseline(self, scope: UserScope, doc_id: str, first: int, data: bytes) -> None:
        """Create the baseline of a segment. Raises ErasureRunning, TenantEnded, Unavailable, StoreConflict."""
        name = baseline_name(scope, doc_id, first)
        await self._blobs.put_of(scope, name, data, replaces=None, announced=False)

    def _lock(self, folder: str) -> asyncio.Lock:
        return self._locks.setdefault(folder, asyncio.Lock())

    async def _flush(self, scope: UserScope, waiting: _Waiting, *, read_first: bool) -> None:
        version, dated = waiting.version, waiting.known_at
        flushed = self.flushed(scope, version)
        missing = _batches_after(version, flushed)
        if flushed < waiting.first - 1 and not read_first:
            # Usually the process that committed the records before has flushed them. An append proves it: its offset is
            # the length of the segment, and records are appended in order.
            own = _batches_after(version, waiting.first - 1)
            is_next = own[0].position.offset and await self._append_at(scope, version.doc_id, own[0], dated)
            missing, read_first = (own[1:], False) if is_next else (missing, True)
        for batch in missing:
            await self._append(scope, version.doc_id, batch, dated, read_first=read_first)

    async def _append_at(self, scope: UserScope, doc_id: str, batch: Batch, dated: datetime) -> bool:
        name = segment_name(scope, doc_id, batch.position.first)
        try:
            return await self._blobs.storage.append(name, batch.data, offset=batch.position.offset, known_at=dated)
        except StoreConflict:
            return False

    async def _append(
        self, scope: UserScope, doc_id: str, batch: Batch, dated: datetime, *, read_first: bool = False
    ) -> None:
        name = segment_name(scope, doc_id, batch.position.first)
        stored = await self._blobs.data(name) if read_first else None
        if batch.position.offset == 0 and stored is None:
            # Another process may have created it, with some of the same lines.
            with suppress(StoreConflict):
                await self._blobs.create_log_of(scope, name, metadata={STARTED: batch.started}, known_at=dated)
        offset, data = batch.position.offset, batch.data
        while True:
            if stored is not None:
                data = _missing(stored, doc_id, batch)
                offset = len(stored)
            if not data:
                return
            try:
                if await self._blobs.storage.append(name, data, offset=offset, known_at=dated):
                    return
                stored = None
            except StoreConflict:
                stored = await self._blobs.data(name)
            if stored is None:
                # An append never creates a segment, so it cannot restore one that an erasure removed.
                await self._blobs.check(scope)
                raise HistoryCorrupt("A segment of the audit log is missing.", change_id=change_id(doc_id, batch.last))

    def _remember(self, folder: str, flushed: Envelope) -> None:
        self._flushed[folder] = flushed.commit.sequence, flushed.commit.record_hash
        self._flushed.move_to_end(folder)
        if len(self._flushed) > self._known_limit:
            self._flushed.popitem(last=False)


def _folder(scope: UserScope, doc_id: str) -> str:
    return f"{scope.prefix}audit/{check_identifier('doc_id', doc_id)}"


def segment_name(scope: UserScope, doc_id: str, first: int) -> str:
    """Return the name of the segment that begins with change `first`. Raises InvalidIdentifier."""
    return f"{_folder(scope, doc_id)}/{first:012d}.jsonl"


def baseline_name(scope: UserScope, doc_id: str, first: int) -> str:
    """Return the name of the baseline next to the segment that begins with change `first`. Raises InvalidIdentifier."""
    return f"{_folder(scope, doc_id)}/{first:012d}.json"


def _batches_after(current: Envelope, flushed: int) -> Sequence[Batch]:
    records = current.commit.outbox
    missing = unflushed(current, flushed)
    if not missing:
        return ()
    start = position_of(current.commit.position, records, len(records) - len(missing))
    return list(batches(start, missing))


def _missing(stored: bytes, doc_id: str, batch: Batch) -> bytes:
    """Return the end of the batch that the segment lacks. Raises HistoryCorrupt if it holds other bytes."""
    found = stored[batch.position.offset :]
    common = min(len(found), len(batch.data))
    if len(stored) < batch.position.offset or found[:common] != batch.data[:common]:
        raise HistoryCorrupt(change_id=change_id(doc_id, batch.last))
    return batch.data[common:]
