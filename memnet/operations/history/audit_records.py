"""The audit records of one document, as they are stored and opened."""

import asyncio
from collections.abc import Mapping, Sequence

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.documents import audit_values
from memnet.domain.documents.audit_record import read_record
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.envelope import Envelope
from memnet.operations.sealing.key_ring import KeyRing
from memnet.stores import AuditLog, Vault

PARALLEL = 16


async def read_records(scope: UserScope, head: Envelope, first: int, last: int, *, audit: AuditLog) -> Sequence[Record]:
    """Return the records of changes `first` to `last`, opened, including those in the document's outbox.

    Raises HistoryCorrupt with a record that is missing, is not what was written or does not open, VaultUnavailable,
    Unavailable.
    """
    stored = await read_stored_records(scope, head, first, last, audit=audit)
    return await open_audit_records(scope, stored, vault=audit.vault)


async def read_stored_records(
    scope: UserScope, head: Envelope, first: int, last: int, *, audit: AuditLog
) -> Mapping[str, Record]:
    """Return the records of changes `first` to `last` by change and in order, sealed as they are stored.

    No key is needed: sealed records are enough to follow the chain. Raises HistoryCorrupt with a record that is missing
    or is not what was written, Unavailable.
    """
    waiting = {record["change_id"]: record for record in head.commit.outbox}
    gate = asyncio.Semaphore(PARALLEL)

    async def one(change_id: str) -> Record:
        if change_id in waiting:
            return waiting[change_id]
        async with gate:
            data = await audit.read(scope, change_id)
        record = None if data is None else read_record(data)
        if record is None:
            raise HistoryCorrupt(change_id=change_id)
        return record

    changes = [head.change_id(number) for number in range(first, last + 1)]
    return dict(zip(changes, await asyncio.gather(*map(one, changes)), strict=True))


async def open_audit_records(scope: UserScope, records: Mapping[str, Record], *, vault: Vault) -> Sequence[Record]:
    """Return the open form of stored records, given by change; each key is opened once.

    Raises HistoryCorrupt with the first change whose record does not open there, VaultUnavailable, Unavailable.
    """
    keys = await KeyRing(vault).find(scope, audit_values.data_key_ids(records.values()))
    opened = []
    for change_id, record in records.items():
        try:
            opened.append(audit_values.opened(record, AuditRecordLocation(scope, change_id), keys))
        except DecryptionFailed as error:
            raise HistoryCorrupt(change_id=change_id, reason="the values of the record do not open") from error
    return opened
