"""Rebuild every version of a user's documents from storage alone, and check that nothing is missing or altered.

Records are read a window at a time, and one version of one document is kept at a time: the memory that this takes does
not grow with the number of changes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import audit_values, envelope
from memnet.domain.documents.audit_record import read_record
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history import baseline as baselines
from memnet.domain.history import reconstruction
from memnet.domain.history.baseline import Baseline
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.history.reconstruction import Rebuilding, Remains, VerifiedHistory, Visit
from memnet.domain.sealing.sealing import DataKey
from memnet.operations.history.audit_records import PARALLEL
from memnet.operations.history.baselines import list_baselines, open_baseline
from memnet.operations.sealing.key_ring import KeyRing
from memnet.ports import StoredDocument
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore

PAGE = 1000
Begin = Callable[[str, DocumentKey | None], Visit]
"""Is called with a document before its first version; returns what gets its versions."""


@dataclass(slots=True)
class _Work:
    """One run over one user."""

    scope: UserScope
    audit: AuditLog
    wanted: Mapping[str, Collection[int]]
    begin: Begin | None
    keys: dict[str, DataKey] = field(default_factory=dict)
    """Those that were opened."""


async def rebuild_documents(
    scope: UserScope,
    service: Service,
    *,
    wanted: Mapping[str, Collection[int]] | None = None,
    begin: Begin | None = None,
) -> list[VerifiedHistory]:
    """Return one entry per history found in audit/ or in a document, sorted by document; `fault` is None if it holds.

    The entries hold the marks of the changes in `wanted`, by document. `begin` is called for each document, and once
    more for a document that changed meanwhile: then its versions are given again from the first one.

    Reads listings, documents and records, and trusts none of them; writers may go on meanwhile.

    Raises VaultUnavailable, Unavailable.
    """
    found, work = list[VerifiedHistory](), _Work(scope, service.audit, wanted or {}, begin)
    # Before the documents: what is created meanwhile is not taken for records without a document.
    orphans = await _doc_ids(scope, service.audit)
    async for key, head in _heads(scope, service.documents):
        if head is None:
            found.append(VerifiedHistory("", key, 0, "the document cannot be read"))
            continue
        orphans.discard(head.doc_id)
        found.append(await _rebuild_document(key, head, service.documents, work))
    for doc_id in orphans:
        baseline, unreadable = await _baseline(doc_id, work)
        place = await _first_key(doc_id, work) if baseline is None else baseline.key
        found.append(await _rebuild(doc_id, place, None, baseline, unreadable, work))
    return sorted(found, key=lambda rebuilt: (rebuilt.key.blob_name if rebuilt.key else "", rebuilt.doc_id))


async def _rebuild_document(key: DocumentKey, head: Envelope, documents: DocumentStore, work: _Work) -> VerifiedHistory:
    """Tell a fault from a change that was made between two of the reads: a fault is still there when nothing moved."""
    while True:
        baseline, unreadable = await _baseline(head.doc_id, work)
        rebuilt = await _rebuild(head.doc_id, key, head, baseline, unreadable, work)
        if rebuilt.fault is None:
            return rebuilt
        newest = _read(await documents.get(key))
        same_baseline = (await _baseline(head.doc_id, work)) == (baseline, unreadable)
        if newest is None or (newest.commit == head.commit and same_baseline):
            return rebuilt
        head = newest


async def _rebuild(
    doc_id: str,
    key: DocumentKey | None,
    head: Envelope | None,
    baseline: Baseline | None,
    unreadable: str | None,
    work: _Work,
) -> VerifiedHistory:
    rebuilding = Rebuilding(
        doc_id,
        key,
        head,
        baseline,
        wanted=work.wanted.get(doc_id, ()),
        visit=work.begin(doc_id, key) if work.begin else None,
    )
    outbox = {record["change_id"]: record for record in (head.commit.outbox if head else ())}
    covered, faults = None if baseline is None else Remains(doc_id, baseline), [unreadable]
    async for change_id, record in _records(doc_id, work, outbox):
        if baseline is not None and covered is not None and reconstruction.is_covered(change_id, baseline):
            covered.take(change_id, record)
            if change_id != baseline.change_id:
                continue
        if outbox.get(change_id, record) != record:
            faults.append(f"{change_id}: the record in audit/ is not the one the document carries")
        rebuilding.take(await _opened(change_id, record, work))
        if rebuilding.is_over:
            break
    rebuilt = rebuilding.finish()
    faults += [rebuilt.fault] if covered is None else [covered.fault, rebuilt.fault]
    return replace(rebuilt, fault=min(filter(None, faults), default=None))


async def _opened(change_id: str, record: Record, work: _Work) -> Record:
    """The record in its open form; one that does not open is left as it is, and the rebuilding tells."""
    missing = audit_values.data_key_ids([record]) - work.keys.keys()
    if missing:
        work.keys |= await KeyRing(work.audit.vault).find(work.scope, missing)
    try:
        return audit_values.opened(record, AuditRecordLocation(work.scope, change_id), work.keys)
    except DecryptionFailed:
        # A record that is open in storage was not written by the service.
        return record if audit_values.is_sealed(record) else {}


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
    except HistoryCorrupt:
        return None


async def _doc_ids(scope: UserScope, audit: AuditLog) -> set[str]:
    """Every document that has a record or a baseline."""
    found = set(await list_baselines(scope, audit=audit))
    cursor: str | None = None
    while True:
        page = await audit.list(scope, "", limit=PAGE, cursor=cursor)
        found |= {change_id.rpartition("-")[0] for change_id in page.items}
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _records(
    doc_id: str, work: _Work, outbox: Mapping[str, Record] | None = None
) -> AsyncIterator[tuple[str, Record]]:
    """Every record of a document in the order of its changes, those of the outbox that are not in audit/ among them.

    An empty one where what is stored there was not written by us.
    """
    waiting = sorted(outbox or {})
    cursor: str | None = None
    while True:
        page = await work.audit.list(work.scope, doc_id, limit=PAGE, cursor=cursor)
        names = [name for name in page.items if name.rpartition("-")[0] == doc_id]
        for start in range(0, len(names), PARALLEL):
            for change_id, record in await _window(names[start : start + PARALLEL], work):
                while waiting and waiting[0] <= change_id:
                    earlier = waiting.pop(0)
                    if outbox and earlier != change_id:
                        yield earlier, outbox[earlier]
                yield change_id, record
        cursor = page.next_cursor
        if cursor is None:
            break
    for change_id in waiting:
        if outbox:
            yield change_id, outbox[change_id]


async def _window(names: Sequence[str], work: _Work) -> list[tuple[str, Record]]:
    """Read some records at once; one that is gone is left out."""

    async def one(change_id: str) -> bytes | None:
        try:
            return await work.audit.read(work.scope, change_id)
        except InvalidIdentifier:
            # Somebody else's blob: no change of ours has such a name.
            return b""

    data = await asyncio.gather(*map(one, names))
    return [(name, read_record(raw) or {}) for name, raw in zip(names, data, strict=True) if raw is not None]


async def _baseline(doc_id: str, work: _Work) -> tuple[Baseline | None, str | None]:
    """The newest baseline of a document, opened if it opens; or the fault if it cannot be read."""
    while known := (await list_baselines(work.scope, doc_id, audit=work.audit)).get(doc_id):
        data = await work.audit.read_baseline(work.scope, known[-1])
        if data is None:
            # A newer one has taken its place.
            continue
        found = baselines.load(data)
        if found is None or found.change_id != known[-1]:
            return None, f"{known[-1]}: the baseline cannot be read"
        try:
            return await open_baseline(
                found, BaselineLocation(work.scope, found.change_id), vault=work.audit.vault
            ), None
        except HistoryCorrupt:
            if not found.is_sealed:
                return None, f"{known[-1]}: the baseline cannot be read"
            # Left as it is; the rebuilding reports that it does not open.
            return found, None
    return None, None


async def _first_key(doc_id: str, work: _Work) -> DocumentKey | None:
    """The document that the first readable record names."""
    async for _, record in _records(doc_id, work):
        try:
            scope = UserScope(record["tenant_id"], record["user_id"])
            return DocumentKey(scope, record["namespace"], record["path"])
        except (KeyError, TypeError, InvalidIdentifier):
            continue
    return None
