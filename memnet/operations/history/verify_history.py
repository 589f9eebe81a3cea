"""Rebuild every version of a user's documents from storage alone, and verify records, documents and checkpoints.

Records are read in batches and one version of one document is kept at a time: memory does not grow with the number of
changes.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.signature import PublicKeys, by_id
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents import audit_values, envelope
from memnet.domain.documents.audit_record import read_record
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history import baseline as baselines
from memnet.domain.history import reconstruction
from memnet.domain.history.baseline import Baseline
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.history.checkpoint_verification import (
    CheckpointReport,
    StoredCheckpoint,
    changes_of,
    check_checkpoints,
)
from memnet.domain.history.reconstruction import Rebuilding, Remains, VerifiedHistory, Visit
from memnet.domain.sealing.sealing import DataKey
from memnet.paging import MAX_CONCURRENCY, bounded, pages, rows
from memnet.ports import StoredBlob
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore, KeyRing, list_baselines, unseal_baseline

Begin = Callable[[str, DocumentKey | None], Visit]
"""Called with a document before its first version; returns the callback for its versions."""


async def verify_history(
    scope: UserScope, service: Service, *, public_keys: PublicKeys | None = None, expected: bytes | None = None
) -> tuple[CheckpointReport, Sequence[VerifiedHistory]]:
    """Return a report on the checkpoints, and every history with the first fault that it or a checkpoint shows.

    Signatures are verified with `public_keys`, else with those of the signing keys. `expected` is a checkpoint that was
    kept elsewhere. Writers and signers may run at the same time. Raises Unavailable, VaultUnavailable,
    DecryptionFailed.
    """

    async def read_one(key: ItemKey) -> StoredCheckpoint:
        stored = await service.records.read(key)
        return StoredCheckpoint(key.name, stored.data if stored else b"")

    # The checkpoints first: a change that is signed between two reads must be in the second.
    checkpoints: list[StoredCheckpoint] = []
    async for page in pages(partial(service.records.list, scope, ItemKind.HEADS)):
        checkpoints += await bounded(read_one, page)
    if public_keys is None and (checkpoints or expected is not None):
        public_keys = by_id(await service.signing.public_keys())
    given = [*(one.data for one in checkpoints), expected or b""]
    histories = await rebuild_documents(scope, service, wanted=changes_of(given))
    return check_checkpoints(scope, checkpoints, histories, public_keys=public_keys, expected=expected)


@dataclass(slots=True)
class _Run:
    """One run over one user."""

    scope: UserScope
    audit: AuditLog
    wanted: Mapping[str, Collection[int]]
    begin: Begin | None
    keys: dict[str, DataKey] = field(default_factory=dict)
    """The keys that were unwrapped."""


async def rebuild_documents(
    scope: UserScope,
    service: Service,
    *,
    wanted: Mapping[str, Collection[int]] | None = None,
    begin: Begin | None = None,
) -> list[VerifiedHistory]:
    """Return one entry per history found in audit/ or in a document, sorted by document; `fault` is None if it holds.

    The entries contain the record hashes of the changes in `wanted`, by document. `begin` is called for each document,
    and again for one that changed meanwhile: its versions then start again with the first. Listings, documents and
    records are read and not trusted; writers may run at the same time. Raises VaultUnavailable, Unavailable.
    """
    found, run = list[VerifiedHistory](), _Run(scope, service.audit, wanted or {}, begin)
    # Before the documents: a document created meanwhile does not count as records without a document.
    orphans = set(await list_baselines(scope, audit=service.audit))
    orphans |= {change_id.rpartition("-")[0] async for change_id in rows(partial(service.audit.list, scope, ""))}
    async for row in rows(partial(service.documents.list, scope, "")):
        stored = await service.documents.get(row.key)
        if stored is None:
            continue
        current = _loaded(stored)
        if current is None:
            found.append(VerifiedHistory("", row.key, 0, "the document cannot be read"))
            continue
        orphans.discard(current.doc_id)
        found.append(await _rebuild_document(row.key, current, service.documents, run))
    for doc_id in orphans:
        baseline, unreadable = await _baseline(doc_id, run)
        key = await _first_key(doc_id, run) if baseline is None else baseline.key
        found.append(await _rebuild(doc_id, key, None, baseline, unreadable, run))
    return sorted(found, key=lambda rebuilt: (rebuilt.key.blob_name if rebuilt.key else "", rebuilt.doc_id))


async def _rebuild_document(
    key: DocumentKey, current: Envelope, documents: DocumentStore, run: _Run
) -> VerifiedHistory:
    """Rebuild until the document is unchanged: a fault may be a change that was made between two reads."""
    while True:
        baseline, unreadable = await _baseline(current.doc_id, run)
        rebuilt = await _rebuild(current.doc_id, key, current, baseline, unreadable, run)
        if rebuilt.fault is None:
            return rebuilt
        newest = _loaded(await documents.get(key))
        same_baseline = (await _baseline(current.doc_id, run)) == (baseline, unreadable)
        if newest is None or (newest.commit == current.commit and same_baseline):
            return rebuilt
        current = newest


async def _rebuild(
    doc_id: str,
    key: DocumentKey | None,
    current: Envelope | None,
    baseline: Baseline | None,
    unreadable: str | None,
    run: _Run,
) -> VerifiedHistory:
    rebuilding = Rebuilding(
        doc_id,
        key,
        current,
        baseline,
        wanted=run.wanted.get(doc_id, ()),
        visit=run.begin(doc_id, key) if run.begin else None,
    )
    outbox = {record["change_id"]: record for record in (current.commit.outbox if current else ())}
    covered, faults = None if baseline is None else Remains(doc_id, baseline), [unreadable]
    async for change_id, record in _records(doc_id, run, outbox):
        if baseline is not None and covered is not None and reconstruction.is_covered(change_id, baseline):
            covered.take(change_id, record)
            if change_id != baseline.change_id:
                continue
        if outbox.get(change_id, record) != record:
            faults.append(f"{change_id}: the record in audit/ differs from the one in the document")
        rebuilding.take(await _unsealed(change_id, record, run))
        if rebuilding.is_over:
            break
    rebuilt = rebuilding.finish()
    faults += [rebuilt.fault] if covered is None else [covered.fault, rebuilt.fault]
    return replace(rebuilt, fault=min(filter(None, faults), default=None))


async def _unsealed(change_id: str, record: Record, run: _Run) -> Record:
    """Return the record unsealed; one that cannot be unsealed is returned sealed, and rebuilding reports it."""
    missing = audit_values.data_key_ids([record]) - run.keys.keys()
    if missing:
        run.keys |= await KeyRing(run.audit.vault).find(run.scope, missing)
    try:
        return audit_values.opened(record, AuditRecordLocation(run.scope, change_id), run.keys)
    except DecryptionFailed:
        # The service stores no unsealed record.
        return record if audit_values.is_sealed(record) else {}


def _loaded(stored: StoredBlob | None) -> Envelope | None:
    try:
        return envelope.load(stored.data) if stored else None
    except HistoryCorrupt:
        return None


async def _records(
    doc_id: str, run: _Run, outbox: Mapping[str, Record] | None = None
) -> AsyncIterator[tuple[str, Record]]:
    """Yield the records of a document in the order of its changes, from audit/ and from the outbox."""
    waiting = dict(sorted((outbox or {}).items()))
    async for change_id, record in _archived_records(doc_id, run):
        for earlier in [one for one in waiting if one <= change_id]:
            pending = waiting.pop(earlier)
            if earlier != change_id:
                yield earlier, pending
        yield change_id, record
    for change_id, record in waiting.items():
        yield change_id, record


async def _archived_records(doc_id: str, run: _Run) -> AsyncIterator[tuple[str, Record]]:
    """Yield the records in audit/ in name order; one whose bytes the service did not write is yielded empty."""

    async def read_one(change_id: str) -> bytes | None:
        try:
            return await run.audit.read(run.scope, change_id)
        except InvalidIdentifier:
            # No change of the service has such a name.
            return b""

    async for page in pages(partial(run.audit.list, run.scope, doc_id)):
        names = [name for name in page if name.rpartition("-")[0] == doc_id]
        for start in range(0, len(names), MAX_CONCURRENCY):
            batch = names[start : start + MAX_CONCURRENCY]
            for change_id, data in zip(batch, await bounded(read_one, batch), strict=True):
                # None: the record was deleted since the listing.
                if data is not None:
                    yield change_id, read_record(data) or {}


async def _baseline(doc_id: str, run: _Run) -> tuple[Baseline | None, str | None]:
    """Return the newest baseline of a document, unsealed if possible, or the fault if it cannot be read."""
    while known := (await list_baselines(run.scope, doc_id, audit=run.audit)).get(doc_id):
        data = await run.audit.read_baseline(run.scope, known[-1])
        if data is None:
            # A newer one has replaced it.
            continue
        found = baselines.load(data)
        if found is not None and found.change_id == known[-1]:
            try:
                location = BaselineLocation(run.scope, found.change_id)
                return await unseal_baseline(found, location, vault=run.audit.vault), None
            except HistoryCorrupt:
                if found.is_sealed:
                    # Rebuilding reports that it cannot be unsealed.
                    return found, None
        return None, f"{known[-1]}: the baseline cannot be read"
    return None, None


async def _first_key(doc_id: str, run: _Run) -> DocumentKey | None:
    """Return the document that the first readable record names."""
    async for _, record in _records(doc_id, run):
        try:
            scope = UserScope(record["tenant_id"], record["user_id"])
            return DocumentKey(scope, record["namespace"], record["path"])
        except (KeyError, TypeError, InvalidIdentifier):
            continue
    return None
