"""Import an archive: restore the archived user's memory, or create its contents below another user."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import orjson

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import (
    ArchiveInvalid,
    DocumentExists,
    EventExists,
    HistoryCorrupt,
    MemnetError,
    Unavailable,
)
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import BrokenChain
from memnet.domain.documents.confirmation import added_waiting
from memnet.domain.documents.envelope import Envelope, change_id
from memnet.domain.events.event import StoredEvent
from memnet.domain.governance.archive import (
    MANIFEST,
    REPORT,
    ArchivedDocument,
    ArchivedFile,
    EntryKind,
    VerifiedArchive,
    audit_file,
    check_manifest,
    check_members,
    check_schemas,
    document_file,
    read_manifest,
    refuse,
)
from memnet.domain.governance.archive_chain import Chain, Texts, is_valid
from memnet.domain.governance.archive_entry import (
    ArchivedRetraction,
    Entry,
    Lines,
    StoredItem,
    entry_name,
    is_same,
    moved,
    read_entry,
)
from memnet.domain.governance.archive_import import ImportOutcome, ImportReport, creation, governing, run_record
from memnet.domain.governance.waiting import WaitingKind, kinds_of
from memnet.domain.governance.withdrawn import ClosedSources
from memnet.domain.history.baseline import Baseline
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.documents.write import replace_document
from memnet.operations.events.reindex_turns import is_found_under
from memnet.operations.events.write_event import write_event
from memnet.operations.governance.import_retractions import import_retraction, is_withdrawn
from memnet.operations.replay.closed_sources import read_closed_sources
from memnet.paging import bounded
from memnet.ports import ArchiveReader, StoreConflict
from memnet.service import Service
from memnet.stores import AuditLog, KeyRing, SegmentWriter, Vault, store_baseline, stream_stored_records

PARALLEL = 16


@dataclass(frozen=True)
class _Import:
    archive: ArchiveReader
    verified: VerifiedArchive
    target: UserScope
    actor: Actor
    service: Service
    closed: ClosedSources
    """The sources that are closed here."""

    @property
    def is_restore(self) -> bool:
        return self.verified.manifest.scope == self.target

    async def document(self, row: ArchivedDocument, *, dry_run: bool) -> ImportOutcome:
        if self.is_restore:
            return await restore_document(
                row, self.service, archive=self.archive, verified=self.verified, dry_run=dry_run
            )
        return ImportOutcome.LEFT_OUT if row.deleted else await self._create(row, dry_run=dry_run)

    async def _create(self, row: ArchivedDocument, *, dry_run: bool) -> ImportOutcome:
        """Create the document under the rules of the binding that wrote it last. KEPT if another document exists."""
        file = self.verified.files[document_file(row.doc_id)]
        (line,) = [line async for line in read_archive_lines(self.archive, file)]
        content = orjson.loads(line)["document"][ROOT]
        try:
            rule = governing(row, self.service.catalog, self.target, self.actor)
            command = creation(row, content, self.verified, self.target, self.actor, rule, dry_run=dry_run)
            result = await replace_document(command, self.service)
        except DocumentExists:
            return ImportOutcome.KEPT
        except MemnetError as error:
            error.details["document"] = f"{row.namespace}/{row.path}"
            raise
        return ImportOutcome.THERE if result.replayed else ImportOutcome.CREATED

    async def entries(self, kind: EntryKind, *, dry_run: bool) -> Counter[tuple[str, ImportOutcome]]:
        counts = Counter[tuple[str, ImportOutcome]]()
        async for batch in self._batches(kind):
            outcomes = await bounded(partial(self._entry, dry_run=dry_run), batch)
            counts.update((kind, outcome) for outcome in outcomes)
        return counts

    async def _entry(self, found: Entry, dry_run: bool) -> ImportOutcome:
        entry = found if self.is_restore else moved(found, self.target)
        if entry is None or is_withdrawn(entry, self.closed):
            return ImportOutcome.LEFT_OUT
        return await import_entry(entry, self.service, dry_run=dry_run)

    async def _batches(self, kind: EntryKind) -> AsyncIterator[Sequence[Entry]]:
        batch = list[Entry]()
        async for line in read_archive_lines(self.archive, self.verified.files[kind.file]):
            batch.append(read_entry(kind, self.verified.manifest.scope, line))
            if len(batch) == PARALLEL:
                yield batch
                batch = []
        if batch:
            yield batch


async def import_user(
    archive: ArchiveReader, target: UserScope, service: Service, *, actor: Actor, dry_run: bool = False
) -> ImportReport:
    """Verify the whole archive, decide every document, record the run, then create what does not exist.

    For the archived user, documents and records are restored unchanged. For another user, each document is created by a
    write of `actor` whose evidence names the archive and the source. Existing data is never replaced, and what rests on
    a source that is closed here is left out. Repeating an interrupted call finishes it. Raises HistoryCorrupt,
    DecryptionFailed, Unavailable; ArchiveInvalid, OSError, and what `replace_document` raises: before anything is
    written.
    """
    verified = await verify_archive(archive, catalog=service.catalog)
    closed = await read_closed_sources(target, service.records)
    work = _Import(archive, verified, target, actor, service, closed)
    report, rows = ImportReport(verified), verified.manifest.documents
    report.documents = [(row, await work.document(row, dry_run=True)) for row in rows]
    if not dry_run:
        # Before the first change: a later run may finish this one.
        run = run_record(verified, target, actor, service.clock.now(), service.ids.new())
        await _create_item(run, dry_run=False, vault=service.vault)
        report.documents = [(row, await work.document(row, dry_run=False)) for row in rows]
    for kind in verified.manifest.kinds:
        report.entries += await work.entries(kind, dry_run=dry_run)
    return report


async def import_entry(entry: Entry, service: Service, *, dry_run: bool) -> ImportOutcome:
    """Create an entry unless another one has its name; a snapshot is sealed, and both are marked for the index.

    An entry that had not ended at its export is LEFT_OUT. Raises DecryptionFailed, VaultUnavailable, Unavailable.
    """
    if isinstance(entry, ArchivedRetraction):
        return await import_retraction(entry, service, dry_run=dry_run)
    if isinstance(entry, StoredItem) and not entry.closed:
        return ImportOutcome.LEFT_OUT
    if isinstance(entry, StoredItem) and entry.waits and not dry_run:
        await service.waiting.mark(entry.key.scope, WaitingKind.FAILED_REPLAY, entry.key.name)
    if isinstance(entry, Snapshot) and not dry_run and is_found_under(entry.profile_id, service):
        await service.turn_marks.mark(entry.key)
    if not isinstance(entry, StoredEvent):
        return await _create_item(entry, dry_run=dry_run, vault=service.vault)
    if dry_run:
        stored = await service.events.get(entry.key)
        existing = ImportOutcome.THERE if stored == entry.data else ImportOutcome.KEPT
        return ImportOutcome.CREATED if stored is None else existing
    try:
        # Also for an existing event: an interrupted call may not have marked it. The reconciliation indexes it.
        written = await write_event(entry.key.scope, entry.event, service, index=False)
    except EventExists:
        return ImportOutcome.KEPT
    return ImportOutcome.THERE if written.replayed else ImportOutcome.CREATED


async def _create_item(entry: Snapshot | StoredItem, *, dry_run: bool, vault: Vault) -> ImportOutcome:
    outcome = await _compare(entry, vault)
    if outcome is not None or dry_run:
        return outcome or ImportOutcome.CREATED
    data = entry.data if isinstance(entry, StoredItem) else await KeyRing(vault).seal(entry.key, entry.dump())
    try:
        await vault.records.write(entry.key, data, replaces=None)
    except StoreConflict:
        # Another call was faster, or an earlier attempt of this write was applied.
        outcome = await _compare(entry, vault)
        if outcome is None:
            raise Unavailable(dependency="blob_storage") from None
        return outcome
    return ImportOutcome.CREATED


async def _compare(entry: Snapshot | StoredItem, vault: Vault) -> ImportOutcome | None:
    """Compare the entry with the item stored under its name; return None if there is none."""
    stored = await vault.records.read(entry.key)
    if stored is None:
        return None
    if isinstance(entry, StoredItem):
        same = is_same(entry, stored.data)
    else:
        same = await KeyRing(vault).unseal(entry.key, stored.data) == entry.dump()
    return ImportOutcome.THERE if same else ImportOutcome.KEPT


async def restore_document(
    row: ArchivedDocument, service: Service, *, archive: ArchiveReader, verified: VerifiedArchive, dry_run: bool
) -> ImportOutcome:
    """Create the archived records, then the document.

    A document with the archived history, perhaps with later changes, is THERE; another one is KEPT. Values are sealed
    with the user's current key, which does not change the hashes. The document is written last, so that no reader sees
    a partial history. Repeating an interrupted call finishes it.

    Raises:
        ArchiveInvalid: the archive has changed since it was verified.
        HistoryCorrupt: another record or baseline has the name of an archived one.
        ErasureRunning, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    key = row.key(verified.manifest.scope)
    outcome = await _outcome(key, row, service)
    if outcome is not ImportOutcome.CREATED or dry_run:
        return outcome
    restored = await _append_records(key, row, archive, verified, service.audit)
    for kind in kinds_of(added_waiting(service.catalog, key, None, restored.content)):
        await service.waiting.mark(key.scope, kind, f"{key.namespace}/{key.path}")
    try:
        await service.documents.put(key, envelope.dump(restored), envelope.summarise(restored), replaces=None)
    except StoreConflict:
        # Another writer was faster, or an earlier attempt of this write was applied.
        outcome = await _outcome(key, row, service)
        if outcome is ImportOutcome.CREATED:
            raise Unavailable(dependency="blob_storage") from None
    # An erasure may have created its fence between the check before the write and the write.
    await service.documents.check(key.scope)
    return outcome


async def _outcome(key: DocumentKey, row: ArchivedDocument, service: Service) -> ImportOutcome:
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
            found = stream_stored_records(key.scope, head, following, following, audit=service.audit)
            (record,) = [record async for record in found]
        except HistoryCorrupt:
            # Only that record could prove that it is the same history.
            return ImportOutcome.KEPT
        record_hash = record["previous_record_hash"]
    return ImportOutcome.THERE if record_hash == row.record_hash else ImportOutcome.KEPT


async def _append_records(
    key: DocumentKey, row: ArchivedDocument, archive: ArchiveReader, verified: VerifiedArchive, audit: AuditLog
) -> Envelope:
    """Store the archived history; return the document's blob."""
    chain, history = Chain(key, row.doc_id), await audit.history(key.scope, row.doc_id)
    if any(first > row.sequence for first in history.segments):
        raise HistoryCorrupt(
            "The audit log holds later records of the document.", change_id=change_id(row.doc_id, row.sequence)
        )
    data_key = await KeyRing(audit.vault).get_or_create(key.scope)
    writer = SegmentWriter(key.scope, history, data_key, audit)
    try:
        async for line in read_archive_lines(archive, verified.files[audit_file(row.doc_id)]):
            found = chain.read(line)
            if isinstance(found, Baseline):
                await store_baseline(found, audit=audit)
            else:
                await writer.add(found)
        if chain.row() != row:
            refuse("a document is not the last version of its records", audit_file(row.doc_id))
    except BrokenChain as error:
        raise ArchiveInvalid(reason=str(error), member=audit_file(row.doc_id)) from error
    await writer.finish()
    return chain.envelope(writer.newest or {}, writer.position)


async def verify_archive(archive: ArchiveReader, *, catalog: Catalog) -> VerifiedArchive:
    """Check names, sizes, hashes and counts, every chain of records, every document and every entry.

    The schemas of the documents must be known to `catalog` and have the same text. Raises ArchiveInvalid, OSError.
    """
    check_members(archive.members)
    data = b"".join([chunk async for chunk in archive.read(MANIFEST)])
    manifest = read_manifest(data)
    check_manifest(manifest, archive.members)
    check_schemas(manifest, {name: schema.digest for name, schema in catalog.schemas.items()})
    verified = VerifiedArchive(manifest, sha256_hex(data), {file.name: file for file in manifest.files})
    await _check_documents(archive, verified, catalog)
    async for _ in read_archive_lines(archive, verified.files[REPORT]):
        pass
    for kind in manifest.kinds:
        before, count = "", 0
        async for line in read_archive_lines(archive, verified.files[kind.file]):
            name = entry_name(read_entry(kind, manifest.scope, line))
            if name <= before:
                refuse("a line is duplicate or out of order", kind.file)
            before, count = name, count + 1
        if count != manifest.counts[kind]:
            refuse("the manifest counts another number of lines", kind.file)
    return verified


async def read_archive_lines(archive: ArchiveReader, file: ArchivedFile) -> AsyncIterator[bytes]:
    """Yield the lines of a file without their ends; one is in memory at a time.

    Raises ArchiveInvalid for a line that is too long and, at the end, if size or hash differ from `file`; OSError.
    """
    lines, hashed, size = Lines(file.name), sha256(), 0
    async for chunk in archive.read(file.name):
        hashed.update(chunk)
        size += len(chunk)
        for line in lines.feed(chunk):
            yield line
    lines.close()
    if (size, hashed.hexdigest()) != (file.bytes, file.sha256):
        refuse("a file does not have the hash that the manifest says", file.name)


async def _check_documents(archive: ArchiveReader, verified: VerifiedArchive, catalog: Catalog) -> None:
    manifest = verified.manifest
    records, profiles, schemas = 0, Texts(), Texts()
    for row in manifest.documents:
        chain = Chain(row.key(manifest.scope), row.doc_id, profiles, schemas)
        await _check_document(archive, verified, row, chain, catalog)
        records += chain.records
    if records != manifest.counts["records"]:
        refuse("the manifest counts another number of records", MANIFEST)
    if profiles != {(used.profile_id, used.version): used.sha256 for used in manifest.profiles}:
        refuse("the profiles that it lists are not those of its records", MANIFEST)
    if schemas != {(used.schema_id, used.version): used.sha256 for used in manifest.schemas}:
        refuse("the schemas that it lists are not those of its records", MANIFEST)


async def _check_document(
    archive: ArchiveReader, verified: VerifiedArchive, row: ArchivedDocument, chain: Chain, catalog: Catalog
) -> None:
    try:
        async for line in read_archive_lines(archive, verified.files[audit_file(row.doc_id)]):
            chain.read(line)
        found = chain.row()
    except BrokenChain as error:
        raise ArchiveInvalid(reason=str(error), member=audit_file(row.doc_id)) from error
    name = document_file(row.doc_id)
    if found != row:
        refuse("a document is not the last version of its records", name)
    lines = [line async for line in read_archive_lines(archive, verified.files[name])]
    if lines != [chain.document()]:
        refuse("the content of a document differs from its records", name)
    if not row.deleted:
        schema = catalog.schema(row.schema_id, row.schema_version)
        if not is_valid(chain.fold.state, schema):
            refuse("a document violates its schema", name)
