"""Rebuild every version of a user's documents from storage alone, and verify records, documents and checkpoints.

audit/ is listed once, each segment is read once, and one version of one document is kept at a time: memory does not
grow with the number of changes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope, check_identifier
from memnet.domain.core.signature import PublicKeys, by_id
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import BrokenChain
from memnet.domain.documents.audit_segments import line
from memnet.domain.documents.audit_values import is_sealed
from memnet.domain.documents.envelope import Envelope, change_id
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline import Baseline, Deriving
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.history.checkpoint_verification import (
    CheckpointReport,
    StoredCheckpoint,
    changes_of,
    check_checkpoints,
)
from memnet.domain.history.reconstruction import Rebuilding, VerifiedHistory, Visit
from memnet.paging import bounded, pages, rows
from memnet.ports import StoredBlob
from memnet.service import Service
from memnet.stores import SLICE, AuditLog, DocumentStore, StoredHistory, Unsealing, read_baseline, unseal_baseline

READ_AHEAD = 2
"""The segments that are read at the same time, and kept in memory."""
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


@dataclass(frozen=True, slots=True)
class _Run:
    """One run over one user."""

    audit: AuditLog
    unsealing: Unsealing
    wanted: Mapping[str, Collection[int]]
    begin: Begin | None

    @property
    def scope(self) -> UserScope:
        return self.unsealing.scope


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
    found, seen = list[VerifiedHistory](), set[str]()
    run = _Run(service.audit, Unsealing(scope, service.audit.vault), wanted or {}, begin)
    # Before the documents: a document created meanwhile does not count as records without a document.
    histories = await service.audit.histories(scope)
    async for row in rows(partial(service.documents.list, scope, "")):
        stored = await service.documents.get(row.key)
        if stored is None:
            continue
        current = _loaded(stored)
        if current is None:
            found.append(VerifiedHistory("", row.key, 0, "the document cannot be read"))
            continue
        seen.add(current.doc_id)
        history = histories.get(current.doc_id, StoredHistory())
        found.append(await _rebuild_document(row.key, current, history, service.documents, run))
    for doc_id, history in histories.items():
        if doc_id not in seen:
            found.append(await _rebuild(doc_id, await _key_of(doc_id, history, run), None, history, run))
    return sorted(found, key=lambda rebuilt: (rebuilt.key.blob_name if rebuilt.key else "", rebuilt.doc_id))


async def _rebuild_document(
    key: DocumentKey, current: Envelope, history: StoredHistory, documents: DocumentStore, run: _Run
) -> VerifiedHistory:
    """Rebuild until nothing has changed meanwhile: a fault may be a change that was made between two reads."""
    while True:
        rebuilt = await _rebuild(current.doc_id, key, current, history, run)
        if rebuilt.fault is None:
            return rebuilt
        newest = _loaded(await documents.get(key))
        stored = await run.audit.history(run.scope, current.doc_id)
        if newest is None or (newest.commit == current.commit and stored == history):
            return rebuilt
        current, history = newest, stored


async def _rebuild(
    doc_id: str, key: DocumentKey | None, current: Envelope | None, history: StoredHistory, run: _Run
) -> VerifiedHistory:
    """Rebuild a document from its first stored segment on, and return the first fault."""
    baseline, unreadable = await _baseline(doc_id, history, run)
    if unreadable is not None:
        return VerifiedHistory(doc_id, key, 0, unreadable, first=history.begins)
    visit = run.begin(doc_id, key) if run.begin else None
    try:
        deriving = Deriving(key, baseline) if key is not None and (baseline is None or not baseline.is_sealed) else None
    except BrokenChain as error:
        return VerifiedHistory(doc_id, key, 0, str(error), first=history.begins)
    visits = [*filter(None, [visit]), *([] if deriving is None else [deriving.take])]
    rebuilding = Rebuilding(doc_id, key, current, baseline, wanted=run.wanted.get(doc_id, ()), visits=visits)
    faults: list[str] = []
    async for number, record in _records(doc_id, current, history, faults, run):
        rebuilding.take(await _unsealed(record, run))
        if rebuilding.is_over:
            break
        if deriving is not None and number + 1 in history.baselines and number + 1 > history.base:
            faults += await _altered(deriving, number, doc_id, run)
        if number % SLICE == 0:
            await asyncio.sleep(0)
    rebuilt = rebuilding.finish()
    faults += filter(None, [rebuilt.fault])
    strays = [f"{name}: the service stores no such blob in audit/" for name in history.strays]
    return replace(rebuilt, fault=min(faults, default=min(strays, default=None)))


async def _records(
    doc_id: str, current: Envelope | None, history: StoredHistory, faults: list[str], run: _Run
) -> AsyncIterator[tuple[int, Record]]:
    """Yield the records of a document in the order of its changes, from its segments and its outbox.

    A change may be in two places, with the same record. What contradicts itself is added to `faults`.
    """
    outbox = {record["sequence"]: record for record in (current.commit.outbox if current else ())}
    # Retention has removed what is older; no reader takes it from the outbox.
    waiting = {number: record for number, record in outbox.items() if number >= history.begins}
    firsts = list(history.segments)
    async for first, records in _segments(doc_id, history, run):
        for number, record in enumerate(records, first):
            if waiting.setdefault(number, record) != record:
                other = "the document" if number in outbox else "the segment before it"
                faults.append(f"{change_id(doc_id, number)}: the record in audit/ differs from the one in {other}")
                waiting[number] = record
        if waiting.get(first) and waiting[first].get("timestamp") != history.segments[first]:
            faults.append(f"{change_id(doc_id, first)}: its segment names another time than the record")
        if current is not None and first == current.commit.position.first:
            faults += _misplaced(current, records)
        following = next((one for one in firsts if one > first), None)
        for number in sorted(one for one in waiting if following is None or one < following):
            yield number, waiting.pop(number)
    if current is not None and current.commit.position.first not in history.segments:
        faults += _misplaced(current, ())
    for number in sorted(waiting):
        yield number, waiting[number]


async def _segments(doc_id: str, history: StoredHistory, run: _Run) -> AsyncIterator[tuple[int, Sequence[Record]]]:
    """Yield the records of each segment in order, those that are read at the same time one after the other."""

    async def read_one(first: int) -> Sequence[Record]:
        # None: it was removed since the listing.
        return await run.audit.read(run.scope, doc_id, first) or ()

    firsts = list(history.segments)
    for start in range(0, len(firsts), READ_AHEAD):
        batch = firsts[start : start + READ_AHEAD]
        for first, records in zip(batch, await bounded(read_one, batch), strict=True):
            yield first, records


def _misplaced(current: Envelope, records: Sequence[Record]) -> list[str]:
    """Return a fault unless the outbox belongs where the document says, in the segment with these records."""
    if not current.commit.outbox:
        return []
    first, oldest = current.commit.position.first, current.commit.outbox[0]["sequence"]
    before = records[: oldest - first]
    if len(before) == oldest - first and current.commit.position.offset == sum(len(line(one)) for one in before):
        return []
    return [f"{current.change_id(oldest)}: the document names another place in audit/ for it"]


async def _altered(deriving: Deriving, sequence: int, doc_id: str, run: _Run) -> list[str]:
    """Return a fault unless the stored baseline is what the records up to that change give."""
    if deriving.sequence != sequence:
        # A link is broken, which rebuilding reports.
        return []
    try:
        stored = await read_baseline(run.scope, doc_id, sequence + 1, audit=run.audit)
    except HistoryCorrupt:
        stored = None
    if stored is not None and baselines.dump(stored) == baselines.dump(deriving.baseline()):
        return []
    return [f"{change_id(doc_id, sequence)}: the baseline is not what its records give"]


async def _unsealed(record: Record, run: _Run) -> Record:
    """Return the record unsealed; one that cannot be unsealed is returned sealed, and rebuilding reports it."""
    try:
        return await run.unsealing.unseal(record) if record else record
    except HistoryCorrupt:
        # The service stores no unsealed record.
        return record if is_sealed(record) else {}


def _loaded(stored: StoredBlob | None) -> Envelope | None:
    try:
        current = envelope.load(stored.data) if stored else None
        return current if current and check_identifier("doc_id", current.doc_id) else None
    except (HistoryCorrupt, InvalidIdentifier):
        return None


async def _baseline(doc_id: str, history: StoredHistory, run: _Run) -> tuple[Baseline | None, str | None]:
    """Return the baseline that the history begins with, unsealed if possible, or the fault if it cannot be read."""
    if history.begins == 1:
        return None, None
    name = change_id(doc_id, history.base - 1)
    data = await run.audit.read_baseline(run.scope, doc_id, history.base)
    if data is None:
        return None, f"{name}: the history begins after it, and its baseline is missing"
    found = baselines.load(data)
    if found is not None and found.change_id == name:
        try:
            return await unseal_baseline(found, BaselineLocation(run.scope, name), vault=run.audit.vault), None
        except HistoryCorrupt:
            if found.is_sealed:
                # Rebuilding reports that it cannot be unsealed.
                return found, None
    return None, f"{name}: the baseline cannot be read"


async def _key_of(doc_id: str, history: StoredHistory, run: _Run) -> DocumentKey | None:
    """Return the document that the baseline or the first readable record names."""
    baseline, _ = await _baseline(doc_id, history, run)
    if baseline is not None:
        return baseline.key
    async for _, records in _segments(doc_id, history, run):
        for record in records:
            try:
                scope = UserScope(record["tenant_id"], record["user_id"])
                return DocumentKey(scope, record["namespace"], record["path"])
            except (KeyError, TypeError, InvalidIdentifier):
                continue
    return None
