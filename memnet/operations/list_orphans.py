"""List the audit records that no document has."""

import asyncio
from collections.abc import Mapping, Sequence

from memnet.domain import audit_values
from memnet.domain.audit import read_record
from memnet.domain.audit_values import RecordPlace
from memnet.domain.document import UserScope
from memnet.domain.envelope import Record
from memnet.domain.errors import ErasureRunning, HistoryBroken, InvalidIdentifier, SealBroken, VaultUnavailable
from memnet.operations.find_orphans import find_orphans
from memnet.operations.open_data_keys import open_data_keys
from memnet.operations.read_stored_records import PARALLEL
from memnet.ports import Page
from memnet.stores import AuditLog, DocumentStore

PAGE = 5000


async def list_orphans(
    scope: UserScope, *, after: str, limit: int, documents: DocumentStore, audit: AuditLog
) -> Page[Record]:
    """Return up to `limit` of them in the order of their change ids, from the first after `after` on; the next page
    goes on after `next_cursor`.

    They are opened. Of one that does not open, because an erasure has removed its key, there is what stands in clear.
    There are none of a user who is being erased. Raises HistoryBroken with a record that is not what was written,
    VaultUnavailable, Unavailable.
    """
    standing = await _list(scope, audit)
    orphans = await find_orphans(scope, {_doc_id(change) for change in standing}, documents=documents)
    changes = [change for change in standing if change > after and _doc_id(change) in orphans]
    page = changes[:limit]
    found = await _read(scope, page, audit)
    try:
        # Asked last: an erasure that has begun meanwhile is what has left them without documents.
        await documents.check(scope)
    except ErasureRunning:
        return Page([], None)
    return Page(await _opened(scope, found, audit), page[-1] if len(changes) > limit else None)


def _doc_id(change: str) -> str:
    return change.rpartition("-")[0]


async def _list(scope: UserScope, audit: AuditLog) -> Sequence[str]:
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await audit.list(scope, "", limit=PAGE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _read(scope: UserScope, changes: Sequence[str], audit: AuditLog) -> Mapping[str, Record]:
    """The records as they are stored; those that an erasure has just removed are left out."""
    gate = asyncio.Semaphore(PARALLEL)

    async def one(change: str) -> Record | None:
        async with gate:
            try:
                data = await audit.read(scope, change)
            except InvalidIdentifier:
                # Somebody else's blob: no change of ours has such a name.
                return None
        if data is None:
            return None
        record = read_record(data)
        if record is None:
            raise HistoryBroken(change_id=change)
        return record

    found = zip(changes, await asyncio.gather(*map(one, changes)), strict=True)
    return {change: record for change, record in found if record is not None}


async def _opened(scope: UserScope, records: Mapping[str, Record], audit: AuditLog) -> Sequence[Record]:
    key_ids = audit_values.data_key_ids(records.values())
    if key_ids and audit.vault is None:
        raise VaultUnavailable()
    keys = await open_data_keys(scope, key_ids, vault=audit.vault) if audit.vault and key_ids else {}

    def one(change: str, record: Record) -> Record:
        if not audit_values.is_sealed(record):
            return record
        try:
            return audit_values.opened(record, RecordPlace(scope, change), keys)
        except SealBroken:
            return audit_values.hashed(record)

    return [one(change, record) for change, record in records.items()]
