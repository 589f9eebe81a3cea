"""Rebuild every version of a user's documents from storage alone, and check that nothing is missing or altered."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace

from memnet.domain import audit_values, envelope, history
from memnet.domain import baseline as baselines
from memnet.domain.audit import read_record
from memnet.domain.audit_values import RecordPlace
from memnet.domain.baseline import Baseline
from memnet.domain.baseline_values import BaselinePlace
from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.envelope import Envelope, Record
from memnet.domain.errors import HistoryBroken, InvalidIdentifier, SealBroken
from memnet.domain.history import Rebuilt
from memnet.domain.sealing import DataKey
from memnet.operations.list_baselines import list_baselines
from memnet.operations.open_baseline import open_baseline
from memnet.operations.open_data_keys import open_data_keys
from memnet.operations.read_stored_records import PARALLEL
from memnet.ports import AuditLog, DocumentStore, StoredDocument, Vault

PAGE = 1000


@dataclass(frozen=True, slots=True)
class _Stored:
    """What stands in audit/ and baselines/, by document."""

    scope: UserScope
    records: Mapping[str, dict[str, Record]]
    """By change; an empty one where what stands there was not written by us."""
    baselines: dict[str, Baseline] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    """The changes whose baselines cannot be read."""


async def rebuild_documents(scope: UserScope, *, documents: DocumentStore, audit: AuditLog) -> list[Rebuilt]:
    """Return one entry per history found in audit/ or in a document, sorted by document; `fault` is None if it holds.

    Reads listings, documents and records, and trusts none of them; writers may go on meanwhile. Where records or
    a baseline are sealed and no vault is configured, the chain alone is checked. Raises VaultUnavailable, Unavailable.
    """
    found, seen = list[Rebuilt](), set[str]()
    stored = await _stored(scope, "", audit)
    async for key, head in _heads(scope, documents):
        if head is None:
            found.append(Rebuilt("", key, (), "the document cannot be read"))
            continue
        seen.add(head.doc_id)
        rebuilt = await _rebuild(head.doc_id, key, head, stored, audit)
        found.append(rebuilt if rebuilt.fault is None else await _look_again(key, head, documents, audit))
    for doc_id in (stored.records.keys() | stored.baselines.keys() | stored.unreadable.keys()) - seen:
        rebuilt = await _rebuild(doc_id, None, None, stored, audit)
        left = history.what_is_left(doc_id, stored.records.get(doc_id, {}), stored.baselines.get(doc_id))
        if doc_id in stored.unreadable:
            left = replace(left, fault=rebuilt.fault)
        found.append(replace(rebuilt, left=left))
    return sorted(found, key=lambda rebuilt: (rebuilt.key.blob_name if rebuilt.key else "", rebuilt.doc_id))


async def _rebuild(
    doc_id: str, key: DocumentKey | None, head: Envelope | None, stored: _Stored, audit: AuditLog
) -> Rebuilt:
    """Rebuild one document; without `key` it is the one that its baseline or its records name."""
    records, baseline, faults = stored.records.get(doc_id, {}), stored.baselines.get(doc_id), list[str]()
    if doc_id in stored.unreadable:
        faults.append(f"{stored.unreadable[doc_id]}: the baseline cannot be read")
    if baseline is not None:
        covered, records = history.part(records, baseline)
        faults.append(history.fault_of_covered(covered, baseline) or "")
        key = key or baseline.key
    merged, fault = _merge(records, head, baseline)
    key = key or _key(merged.values())
    is_sealed = any(map(audit_values.is_sealed, merged.values())) or (baseline is not None and baseline.is_sealed)
    if audit.vault is None and is_sealed:
        rebuilt = history.follow(doc_id, key, list(merged.values()), head, baseline)
    else:
        rebuilt = history.rebuild(doc_id, key, await _opened(merged, stored.scope, audit.vault), head, baseline)
    first = min((f for f in (*faults, fault, rebuilt.fault) if f), default=None)
    return replace(rebuilt, fault=first)


async def _opened(records: Mapping[str, Record], scope: UserScope, vault: Vault | None) -> list[Record]:
    """The records in their open form; what does not open is left as it is, and the rebuilding tells."""
    keys: Mapping[str, DataKey] = {}
    if vault is not None and (key_ids := audit_values.data_key_ids(records.values())):
        keys = await open_data_keys(scope, key_ids, vault=vault)

    def one(change_id: str, record: Record) -> Record:
        if not audit_values.must_be_sealed(record):
            return record
        try:
            return audit_values.opened(record, RecordPlace(scope, change_id), keys)
        except SealBroken:
            # One that is open where it should be sealed was not written by us.
            return record if audit_values.is_sealed(record) else {}

    return [one(change_id, record) for change_id, record in records.items()]


async def _look_again(key: DocumentKey, head: Envelope, documents: DocumentStore, audit: AuditLog) -> Rebuilt:
    """Tell a fault from a change that was made between two of the reads: a fault is still there when nothing moved."""
    while True:
        rebuilt = await _rebuild(head.doc_id, key, head, await _stored(key.scope, head.doc_id, audit), audit)
        newest = _read(await documents.get(key))
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
            try:
                data = await audit.read(scope, change_id)
            except InvalidIdentifier:
                # Somebody else's blob: no change of ours has such a name.
                data = b""
        if data is not None:
            records[change_id.rpartition("-")[0]][change_id] = read_record(data) or {}

    while True:
        page = await audit.list(scope, doc_id, limit=PAGE, cursor=cursor)
        await asyncio.gather(*map(one, page.items))
        cursor = page.next_cursor
        if cursor is None:
            return records


async def _stored(scope: UserScope, doc_id: str, audit: AuditLog) -> _Stored:
    """The records first: one that is removed after it was listed has a baseline by then."""
    stored = _Stored(scope, await _records(scope, doc_id, audit))
    for of, known in (await list_baselines(scope, doc_id, audit=audit)).items():
        data = await audit.read_baseline(scope, known[-1])
        while data is None and known:
            # A newer one has taken its place.
            known = (await list_baselines(scope, of, audit=audit)).get(of, [])
            data = await audit.read_baseline(scope, known[-1]) if known else None
        if known:
            found = baselines.load(data or b"")
            if found is None or found.change_id != known[-1]:
                stored.unreadable[of] = known[-1]
            else:
                stored.baselines[of] = await _open(found, scope, audit.vault)
    return stored


async def _open(baseline: Baseline, scope: UserScope, vault: Vault | None) -> Baseline:
    """Its open form; one that does not open, or not without a vault, is left as it is, and the rebuilding tells."""
    if vault is None:
        return baseline
    try:
        return await open_baseline(baseline, BaselinePlace(scope, baseline.change_id), vault=vault)
    except HistoryBroken:
        return baseline


def _merge(
    stored: dict[str, Record], head: Envelope | None, baseline: Baseline | None
) -> tuple[dict[str, Record], str | None]:
    """The records by change and in order, those of the outbox among them; and a fault if the two places disagree.

    Those that the baseline stands for are left out.
    """
    merged = dict(stored)
    fault = None
    for record in head.commit.outbox if head else ():
        change_id = record["change_id"]
        if baseline is not None and history.is_covered(change_id, baseline):
            continue
        if merged.setdefault(change_id, record) != record and fault is None:
            fault = f"{change_id}: the record in audit/ is not the one the document carries"
    return dict(sorted(merged.items())), fault


def _key(records: Iterable[Record]) -> DocumentKey | None:
    for record in records:
        try:
            scope = UserScope(record["tenant_id"], record["user_id"])
            return DocumentKey(scope, record["namespace"], record["path"])
        except (KeyError, TypeError, InvalidIdentifier):
            continue
    return None
