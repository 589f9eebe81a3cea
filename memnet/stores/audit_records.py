"""Read the records of a document's changes: segment after segment, and from the document's outbox."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.documents import audit_values
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.envelope import Envelope
from memnet.domain.sealing.sealing import DataKey
from memnet.stores.audit_log import AuditLog, StoredHistory
from memnet.stores.key_ring import KeyRing, Vault

SLICE = 8
"""The records that a caller folds before other tasks of the process run: a few milliseconds with large documents."""


@dataclass(slots=True)
class Unsealing:
    """Unseals the records of one user; each data key is unwrapped once."""

    scope: UserScope
    vault: Vault
    keys: dict[str, DataKey] = field(default_factory=dict)

    async def unseal(self, record: Record) -> Record:
        """Return a stored record unsealed. Raises HistoryCorrupt if it cannot be, VaultUnavailable, Unavailable."""
        missing = audit_values.data_key_ids([record]) - self.keys.keys()
        if missing:
            self.keys |= await KeyRing(self.vault).find(self.scope, missing)
        try:
            return audit_values.opened(record, AuditRecordLocation(self.scope, record["change_id"]), self.keys)
        except DecryptionFailed as error:
            reason = "the values of the record cannot be decrypted"
            raise HistoryCorrupt(change_id=record["change_id"], reason=reason) from error


async def read_records(
    scope: UserScope, current: Envelope, first: int, last: int, *, audit: AuditLog
) -> Sequence[Record]:
    """Return the records of changes `first` to `last`, as `stream_records` yields them."""
    return [record async for record in stream_records(scope, current, first, last, audit=audit)]


async def stream_records(
    scope: UserScope,
    current: Envelope,
    first: int,
    last: int,
    *,
    audit: AuditLog,
    history: StoredHistory | None = None,
) -> AsyncIterator[Record]:
    """Yield the records of changes `first` to `last` in order, unsealed. It takes what `stream_stored_records` takes.

    Raises VaultUnavailable, Unavailable; HistoryCorrupt: a record is missing, has other bytes than were written, or
    cannot be unsealed.
    """
    unsealing = Unsealing(scope, audit.vault)
    async for record in stream_stored_records(scope, current, first, last, audit=audit, history=history):
        yield await unsealing.unseal(record)


async def stream_stored_records(
    scope: UserScope,
    current: Envelope,
    first: int,
    last: int,
    *,
    audit: AuditLog,
    history: StoredHistory | None = None,
) -> AsyncIterator[Record]:
    """Yield the records of changes `first` to `last` in order, sealed as stored, those in the outbox included.

    No key is needed: sealed records are enough to verify the chain. One segment is kept in memory, and other tasks run
    between records. `history` is listed unless it is given. Raises Unavailable; HistoryCorrupt: a record is missing or
    has other bytes than were written.
    """
    records = {record["sequence"]: record for record in current.commit.outbox}
    for sequence in range(first, last + 1):
        if sequence not in records:
            # Older records lie in earlier segments; the newest segment needs no listing.
            begins: int | None = current.commit.position.first
            if sequence < current.commit.position.first:
                history = history or await audit.history(scope, current.doc_id)
                begins = history.segment_of(sequence)
            found = None if begins is None else await audit.read(scope, current.doc_id, begins)
            records = dict(enumerate(found or (), begins or 1)) | {
                record["sequence"]: record for record in current.commit.outbox
            }
        if not records.get(sequence):
            raise HistoryCorrupt(change_id=current.change_id(sequence))
        yield records[sequence]
        if sequence % SLICE == 0:
            await asyncio.sleep(0)
