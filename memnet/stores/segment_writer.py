"""Write the records of an archived history to their segments."""

from collections.abc import Sequence
from dataclasses import dataclass

from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.documents import audit_values
from memnet.domain.documents.audit_segments import START, Batch, line, next_position
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.envelope import Position
from memnet.domain.sealing.sealing import NONCE_BYTES, DataKey
from memnet.stores.audit_log import AuditLog, StoredHistory
from memnet.stores.audit_records import Unsealing

APPEND_BYTES = 1 << 20
"""How much waits before it is appended; with the longest record it is less than the 4 MiB that one append may have."""


@dataclass
class SegmentWriter:
    """Appends the records of a document in order, sealed with `data_key`; one append is in memory at a time.

    Every record has one right place, so a repetition finds what an interrupted call has appended, and appends the rest.
    """

    scope: UserScope
    history: StoredHistory
    """What was stored before."""
    data_key: DataKey
    audit: AuditLog
    newest: Record | None = None
    """The newest record as it is stored, at `position`."""
    position: Position = START

    def __post_init__(self) -> None:
        self._unsealing = Unsealing(self.scope, self.audit.vault)
        self._stored: Sequence[Record] = ()
        """What the segment held when its first record was added."""
        self._waiting: list[Record] = []
        self._data = b""
        self._start = START

    async def add(self, record: Record) -> None:
        """Add the next record, unsealed.

        Raises as `finish`, and VaultUnavailable; HistoryCorrupt also if another record has its place.
        """
        position = Position(record["sequence"], 0)
        if self.newest is not None:
            position = next_position(self.position, self.newest, record)
        if position.offset == 0:
            await self.finish()
            is_stored = position.first in self.history.segments
            found = await self.audit.read(self.scope, record["doc_id"], position.first) if is_stored else None
            self._stored = found or ()
        index = record["sequence"] - position.first
        self.position = position
        if index < len(self._stored):
            self.newest = self._stored[index]
            if not self.newest or await self._unsealing.unseal(self.newest) != record:
                raise HistoryCorrupt(change_id=record["change_id"])
            return
        location = AuditRecordLocation(self.scope, record["change_id"])
        nonce = self.audit.vault.ids.secret(NONCE_BYTES)
        self.newest = audit_values.seal(record, location, data_key=self.data_key, nonce=nonce)
        if not self._waiting:
            self._start = position
        self._waiting.append(self.newest)
        self._data += line(self.newest)
        if len(self._data) >= APPEND_BYTES:
            await self._append()

    async def finish(self) -> None:
        """Append what waits.

        Raises ErasureRunning, TenantEnded, Unavailable; HistoryCorrupt: the segment holds later records as well.
        """
        await self._append()
        if self.newest is not None and len(self._stored) > self.newest["sequence"] - self.position.first + 1:
            raise HistoryCorrupt(change_id=self.newest["change_id"], reason="the segment holds later records")

    async def _append(self) -> None:
        if not self._waiting:
            return
        first, last = self._waiting[0], self._waiting[-1]
        batch = Batch(self._start, first["timestamp"], last["sequence"], self._data)
        try:
            await self.audit.append(self.scope, first["doc_id"], batch)
        except HistoryCorrupt:
            # The segment has changed since it was read: another call writes the same history.
            raise Unavailable(dependency="blob_storage") from None
        self._waiting, self._data = [], b""
