"""Rebuild every version of a user's documents from storage alone, and check that nothing is missing or altered."""

from collections import defaultdict

import orjson

from memnet.domain import envelope, history
from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.envelope import Envelope, Record
from memnet.domain.errors import InvalidIdentifier
from memnet.domain.history import Rebuilt
from memnet.ports import AuditLog, DocumentStore

PAGE = 1000


async def rebuild_documents(scope: UserScope, *, documents: DocumentStore, audit: AuditLog) -> list[Rebuilt]:
    """Return one entry per history found in audit/ or in a document, sorted by document; `fault` is None if it holds.

    Reads listings, documents and records, and trusts none of them. Raises Unavailable.
    """
    heads = await _heads(scope, documents)
    records = await _records(scope, audit)
    found = []
    for doc_id in sorted(records.keys() | heads.keys()):
        key, head = heads.get(doc_id, (None, None))
        chain, fault = _merge(records.get(doc_id, {}), head)
        rebuilt = history.rebuild(doc_id, key or _key(chain), chain, head)
        found.append(Rebuilt(rebuilt.doc_id, rebuilt.key, rebuilt.versions, fault or rebuilt.fault))
    return sorted(found, key=lambda rebuilt: (rebuilt.key.blob_name if rebuilt.key else "", rebuilt.doc_id))


async def _heads(scope: UserScope, documents: DocumentStore) -> dict[str, tuple[DocumentKey, Envelope]]:
    heads: dict[str, tuple[DocumentKey, Envelope]] = {}
    cursor: str | None = None
    while True:
        page = await documents.list(scope, "", limit=PAGE, cursor=cursor)
        for row in page.items:
            stored = await documents.get(row.key)
            if stored:
                head = envelope.load(stored.data)
                heads[head.doc_id] = (row.key, head)
        cursor = page.next_cursor
        if cursor is None:
            return heads


async def _records(scope: UserScope, audit: AuditLog) -> dict[str, dict[str, Record]]:
    records: dict[str, dict[str, Record]] = defaultdict(dict)
    cursor: str | None = None
    while True:
        page = await audit.list(scope, "", limit=PAGE, cursor=cursor)
        for change_id in page.items:
            data = await audit.read(scope, change_id)
            records[change_id.rpartition("-")[0]][change_id] = orjson.loads(data or b"{}")
        cursor = page.next_cursor
        if cursor is None:
            return records


def _merge(stored: dict[str, Record], head: Envelope | None) -> tuple[list[Record], str | None]:
    """The records in order, those of the outbox among them; and a fault if the two places disagree."""
    merged = dict(stored)
    fault = None
    for record in head.commit.outbox if head else ():
        change_id = record["change_id"]
        if merged.setdefault(change_id, record) != record:
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
