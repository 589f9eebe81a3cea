"""Restore an archived document with its whole history."""

import asyncio
from collections.abc import Sequence

from memnet.domain.core.errors import ArchiveInvalid, HistoryCorrupt, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import audit_values, envelope
from memnet.domain.documents.audit_record import BrokenChain, read_record, record_bytes
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.governance.archive import ArchivedDocument, VerifiedArchive, audit_file, refuse
from memnet.domain.governance.archive_chain import Chain
from memnet.domain.governance.archive_import import ImportOutcome
from memnet.domain.history.baseline import Baseline
from memnet.domain.sealing.sealing import NONCE_BYTES, DataKey
from memnet.operations.governance.verify_archive import read_archive_lines
from memnet.operations.history.audit_records import open_audit_records, read_stored_records
from memnet.operations.history.baselines import store_baseline
from memnet.operations.sealing.key_ring import KeyRing
from memnet.ports import ArchiveReader, StoreConflict
from memnet.service import Service
from memnet.stores import AuditLog

PARALLEL = 16


async def restore_document(
    row: ArchivedDocument, service: Service, *, archive: ArchiveReader, verified: VerifiedArchive, dry_run: bool
) -> ImportOutcome:
    """Create the records, then the document, as they were.

    A document with the archived history, perhaps with later changes, is THERE; another one is KEPT. Values are sealed
    with the user's current key: the hashes stay. The document is written last, so that no reader sees a part of it.
    Repeating an interrupted call finishes it.

    Raises ArchiveInvalid if the archive has changed since it was verified, HistoryCorrupt if another record or baseline
    has the name of one, ErasureRunning, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    key = row.key(verified.manifest.scope)
    fate = await _fate(key, row, service)
    if fate is not ImportOutcome.CREATED or dry_run:
        return fate
    chain = await _append_records(key, row, archive, verified, service.audit)
    restored = chain.envelope()
    try:
        await service.documents.put(key, envelope.dump(restored), envelope.summarise(restored), replaces=None)
    except StoreConflict:
        # Another writer was first, or an earlier try of this write was applied.
        fate = await _fate(key, row, service)
        if fate is ImportOutcome.CREATED:
            raise Unavailable(dependency="blob_storage") from None
    # An erasure may have set its fence between the check before the write and the write.
    await service.documents.check(key.scope)
    return fate


async def _fate(key: DocumentKey, row: ArchivedDocument, service: Service) -> ImportOutcome:
    stored = await service.documents.get(key)
    if stored is None:
        return ImportOutcome.CREATED
    head = envelope.load(stored.data)
    if head.doc_id != row.doc_id or head.commit.sequence < row.sequence:
        return ImportOutcome.KEPT
    record_hash = head.commit.record_hash
    if head.commit.sequence > row.sequence:
        following = row.sequence + 1
        try:
            (record,) = (await read_stored_records(key.scope, head, following, following, audit=service.audit)).values()
        except HistoryCorrupt:
            # Only that record could show that it is the same history.
            return ImportOutcome.KEPT
        record_hash = record["previous_record_hash"]
    return ImportOutcome.THERE if record_hash == row.record_hash else ImportOutcome.KEPT


async def _append_records(
    key: DocumentKey, row: ArchivedDocument, archive: ArchiveReader, verified: VerifiedArchive, audit: AuditLog
) -> Chain:
    chain, waiting = Chain(key, row.doc_id), list[Record | Baseline]()
    try:
        async for line in read_archive_lines(archive, verified.files[audit_file(row.doc_id)]):
            waiting.append(chain.read(line))
            if len(waiting) == PARALLEL:
                await _append(key, waiting, audit)
                waiting = []
        if chain.row() != row:
            refuse("a document is not the end of its records", audit_file(row.doc_id))
    except BrokenChain as error:
        raise ArchiveInvalid(reason=str(error), member=audit_file(row.doc_id)) from error
    await _append(key, waiting, audit)
    return chain


async def _append(key: DocumentKey, records: Sequence[Record | Baseline], audit: AuditLog) -> None:
    data_key = await KeyRing(audit.vault).get_or_create(key.scope) if records else None

    async def one(record: Record | Baseline) -> None:
        if isinstance(record, Baseline):
            await store_baseline(record, audit=audit)
        elif data_key is not None:
            await _append_sealed(AuditRecordLocation(key.scope, record["change_id"]), record, data_key, audit)

    outcomes = await asyncio.gather(*map(one, records), return_exceptions=True)
    # All end before a failure is raised, so that none writes after this call has returned.
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


async def _append_sealed(place: AuditRecordLocation, record: Record, data_key: DataKey, audit: AuditLog) -> None:
    nonce = audit.vault.ids.secret(NONCE_BYTES)
    data = record_bytes(audit_values.seal(record, place, data_key=data_key, nonce=nonce))
    try:
        await audit.append(place.scope, place.change_id, data)
    except HistoryCorrupt:
        # It may be the same record, sealed by an earlier call: no two ciphertexts are alike.
        there = read_record(await audit.read(place.scope, place.change_id) or b"")
        same = there and await open_audit_records(place.scope, {place.change_id: there}, vault=audit.vault)
        if same != [record]:
            raise
