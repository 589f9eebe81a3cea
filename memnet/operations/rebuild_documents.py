"""Rebuild every version of a user's documents from storage alone, and check that nothing is missing or altered."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping

from memnet.domain import envelope, history
from memnet.domain.audit import read_record
from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.envelope import Envelope, Record
from memnet.domain.errors import HistoryBroken, InvalidIdentifier
from memnet.domain.history import Rebuilt
from memnet.operations.read_records import PARALLEL
from memnet.ports import AuditLog, DocumentStore, StoredDocument

PAGE = 1000


async def rebuild_documents(scope: UserScope, *, documents: DocumentStore, audit: AuditLog) -> list[Rebuilt]:
    """Return one entry per history found in audit/ or in a document, sorted by document; `fault` is None if it holds.

    Reads listings, documents and records, and trusts none of them; writers may go on meanwhile. Raises Unavailable.
    """
    found, seen = list[Rebuilt](), set[str]()
    records = await _records(scope, "", audit)
    async for key, head in _heads(scope, documents):
        if head is None:
            found.append(Rebuilt("", key, (), "the document cannot be read"))
            continue
        seen.add(head.doc_id)
        rebuilt = _rebuild(key, head, records)
        found.append(rebuilt if rebuilt.fault is None else await _look_again(key, head, documents, audit))
    for doc_id in records.keys() - seen:
        chain, _ = _merge(records[doc_id], None)
        found.append(history.rebuild(doc_id, _key(chain), chain, None))
    return sorted(found, key=lambda rebuilt: (rebuilt.key.blob_name if rebuilt.key else "", rebuilt.doc_id))


def _rebuild(key: DocumentKey, head: Envelope, records: Mapping[str, dict[str, Record]]) -> Rebuilt:
    chain, fault = _merge(records.get(head.doc_id, {}), head)
    rebuilt = history.rebuild(head.doc_id, key, chain, head)
    first = min((f for f in (fault, rebuilt.fault) if f), default=None)
    return Rebuilt(rebuilt.doc_id, key, rebuilt.versions, first)


async def _look_again(key: DocumentKey, head: Envelope, documents: DocumentStore, audit: AuditLog) -> Rebuilt:
    """Tell a fault from a change that was made between two of the reads: a fault is still there when nothing moved."""
    while True:
        rebuilt = _rebuild(key, head, await _records(key.scope, head.doc_id, audit))
        stored = await documents.get(key)
        newest = _read(stored)
        if rebuilt.fault is None or newest is None or newest.commit == head.commit:
            return rebuilt
        head = newest


async def _heads(scope: UserScope, documents: DocumentStore) -> AsyncIterator[tuple[DocumentKey, Envelope | None]]:
    """Every document's own blob; None where it cannot be read."""
    cursor: str | None = None
    while True:
        page = await documents.list(scope, "", limit=PAGE, cursor=cursor)
        for row in page.items:
            stored = await documents.get(row.key)
            if stored is not None:
                yield row.key, _read(stored)
        cursor = page.next_cursor
        if cursor is None:
            return


def _read(stored: StoredDocument | None) -> Envelope | None:
    try:
        return envelope.load(stored.data) if stored else None
    except HistoryBroken:
        return None


async def _records(scope: UserScope, doc_id: str, audit: AuditLog) -> dict[str, dict[str, Record]]:
    """Every record by document and change; an empty one where what stands there was not written by us.

    Of one document, or of all of them where `doc_id` is empty.
    """
    records: dict[str, dict[str, Record]] = defaultdict(dict)
    gate = asyncio.Semaphore(PARALLEL)
    cursor: str | None = None

    async def one(change_id: str) -> None:
        async with gate:
            data = await audit.read(scope, change_id)
        records[change_id.rpartition("-")[0]][change_id] = read_record(data or b"") or {}

    while True:
        page = await audit.list(scope, doc_id, limit=PAGE, cursor=cursor)
        await asyncio.gather(*map(one, page.items))
        cursor = page.next_cursor
        if cursor is None:
            return records


def _merge(stored: dict[str, Record], head: Envelope | None) -> tuple[list[Record], str | None]:
    """The records in order, those of the outbox among them; and a fault if the two places disagree."""
    merged = dict(stored)
    fault = None
    for record in head.commit.outbox if head else ():
        change_id = record["change_id"]
        if merged.setdefault(change_id, record) != record and fault is None:
            fault = f"{change_id}: the record in audit/ is not the one the document carries"
    return [merged[change_id] for change_id in sorted(merged)], fault


def _key(records: list[Record]) -> DocumentKey | None:
    for record in records:
        try:
            scope = UserScope(record["tenant_id"], record["user_id"])
            return DocumentKey(scope, record["namespace"], record["path"])
        except (KeyError, TypeError, InvalidIdentifier):
            continue
    return None
