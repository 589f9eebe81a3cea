"""Put an archived document back in its own place, with its whole history as it was."""

import asyncio
from collections.abc import Sequence

from memnet.domain import baseline as baselines
from memnet.domain import envelope
from memnet.domain.archive import ArchivedDocument, VerifiedArchive, audit_file, refuse
from memnet.domain.archive_chain import Chain
from memnet.domain.archive_import import Fate, continues, record_that_tells
from memnet.domain.audit import BrokenChain, record_bytes
from memnet.domain.baseline import Baseline
from memnet.domain.document import DocumentKey
from memnet.domain.envelope import Record
from memnet.domain.errors import ArchiveRefused, HistoryBroken, Unavailable
from memnet.operations.read_archive_lines import read_archive_lines
from memnet.operations.read_records import read_records
from memnet.ports import ArchiveReader, AuditLog, DocumentStore, StoreConflict

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
    """Create the records, then the document, byte for byte; CREATED only if there was none at its place.

    The document is written last: before that nobody sees any of it, and the same call again finishes it. One that has
    the archived history, and perhaps went on, is THERE. Raises ArchiveRefused if the archive is no longer what was
    verified, HistoryBroken if another record stands in the place of one, Unavailable.
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
        (record,) = await read_records(key.scope, head, told, told, audit=audit)
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
    async def one(record: Record | Baseline) -> None:
        if isinstance(record, Baseline):
            await audit.append_baseline(key.scope, record.change_id, baselines.dump(record))
        else:
            await audit.append(key.scope, record["change_id"], record_bytes(record))

    outcomes = await asyncio.gather(*map(one, records), return_exceptions=True)
    # All end before a failure goes up: none may go on writing behind the caller's back.
    for outcome in outcomes:
        if outcome is not None:
            raise outcome
