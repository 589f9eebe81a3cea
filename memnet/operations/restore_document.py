"""Put an archived document back in its own place, with its whole history as it was."""

import asyncio
from collections.abc import Sequence

from memnet.domain import audit_values, envelope
from memnet.domain.archive import ArchivedDocument, VerifiedArchive, audit_file, refuse
from memnet.domain.archive_chain import Chain
from memnet.domain.archive_import import Fate, continues, record_that_tells
from memnet.domain.audit import BrokenChain, read_record, record_bytes
from memnet.domain.audit_values import RecordPlace, must_be_sealed
from memnet.domain.baseline import Baseline
from memnet.domain.document import DocumentKey
from memnet.domain.envelope import Record
from memnet.domain.errors import ArchiveRefused, HistoryBroken, Unavailable, VaultUnavailable
from memnet.domain.sealing import NONCE_BYTES, DataKey
from memnet.operations.open_audit_records import open_audit_records
from memnet.operations.read_archive_lines import read_archive_lines
from memnet.operations.read_stored_records import read_stored_records
from memnet.operations.store_baseline import store_baseline
from memnet.operations.take_current_key import take_current_key
from memnet.ports import ArchiveReader, StoreConflict
from memnet.stores import AuditLog, DocumentStore, Vault

PARALLEL = 16


async def restore_document(
    row: ArchivedDocument,
    *,
    archive: ArchiveReader,
    verified: VerifiedArchive,
    dry_run: bool,
    documents: DocumentStore,
    audit: AuditLog,
) -> Fate:
    """Create the records, then the document, as they were; CREATED only if there was none at its place.

    Values that were sealed are sealed anew, with the key that the user has now: the hashes stay. A baseline is sealed
    wherever there is a vault. The document is written last: before that nobody sees any of it, and the same call again
    finishes it. One that has the archived history, and perhaps went on, is THERE. Raises ArchiveRefused if the archive
    is no longer what was verified, HistoryBroken if another record or baseline stands in the place of one,
    ErasureRunning, SealBroken, VaultUnavailable, Unavailable.
    """
    key = row.key(verified.manifest.scope)
    fate = await _fate(key, row, documents, audit)
    if fate is not Fate.CREATED or dry_run:
        return fate
    chain = await _append_records(key, row, archive, verified, audit)
    restored = chain.envelope()
    try:
        await documents.put(key, envelope.dump(restored), envelope.summarise(restored), replaces=None)
    except StoreConflict:
        # A writer was faster, or this very write was applied by the client library's first try.
        fate = await _fate(key, row, documents, audit)
        if fate is Fate.CREATED:
            raise Unavailable(dependency="blob_storage") from None
    # The fence of an erasure may have come between the look before the write and the write.
    await documents.check(key.scope)
    return fate


async def _fate(key: DocumentKey, row: ArchivedDocument, documents: DocumentStore, audit: AuditLog) -> Fate:
    stored = await documents.get(key)
    if stored is None:
        return Fate.CREATED
    head = envelope.load(stored.data)
    told = record_that_tells(row, head)
    if isinstance(told, Fate):
        return told
    try:
        (record,) = (await read_stored_records(key.scope, head, told, told, audit=audit)).values()
    except HistoryBroken:
        # Without that record nothing shows that it is the same history.
        return Fate.KEPT
    return continues(row, record)


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
        raise ArchiveRefused(reason=str(error), member=audit_file(row.doc_id)) from error
    await _append(key, waiting, audit)
    return chain


async def _append(key: DocumentKey, records: Sequence[Record | Baseline], audit: AuditLog) -> None:
    sealed = any(not isinstance(record, Baseline) and must_be_sealed(record) for record in records)
    if sealed and audit.vault is None:
        raise VaultUnavailable()
    data_key = await take_current_key(key.scope, vault=audit.vault) if sealed and audit.vault else None

    async def one(record: Record | Baseline) -> None:
        if isinstance(record, Baseline):
            await store_baseline(record, audit=audit)
        elif audit.vault is not None and data_key is not None and must_be_sealed(record):
            await _append_sealed(RecordPlace(key.scope, record["change_id"]), record, data_key, audit, audit.vault)
        else:
            await audit.append(key.scope, record["change_id"], record_bytes(record))

    outcomes = await asyncio.gather(*map(one, records), return_exceptions=True)
    # All end before a failure goes up: none may go on writing behind the caller's back.
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


async def _append_sealed(place: RecordPlace, record: Record, data_key: DataKey, audit: AuditLog, vault: Vault) -> None:
    nonce = vault.ids.secret(NONCE_BYTES)
    data = record_bytes(audit_values.seal(record, place, data_key=data_key, nonce=nonce))
    try:
        await audit.append(place.scope, place.change_id, data)
    except HistoryBroken:
        # What stands there may be the same record, sealed by an earlier call: no two ciphertexts are alike.
        there = read_record(await audit.read(place.scope, place.change_id) or b"")
        if there is None or [record] != await open_audit_records(place.scope, {place.change_id: there}, vault=vault):
            raise
