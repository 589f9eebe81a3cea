"""Import an archive: restore a user's memory as it was, or create its contents below another user."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.errors import DocumentExists, EventExists, MemnetError, Unavailable, VaultUnavailable
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.events.event import StoredEvent
from memnet.domain.governance.archive import ArchivedDocument, EntryKind, VerifiedArchive, document_file
from memnet.domain.governance.archive_entry import Entry, StoredRecord, is_same, moved, read_entry
from memnet.domain.governance.archive_import import ImportOutcome, ImportReport, creation, governing, run_record
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.documents.write import replace_document
from memnet.operations.events.write_event import write_event
from memnet.operations.governance.restore_document import restore_document
from memnet.operations.governance.verify_archive import read_archive_lines, verify_archive
from memnet.operations.sealing.key_ring import KeyRing
from memnet.ports import ArchiveReader, StoreConflict
from memnet.service import Service
from memnet.stores import Vault

PARALLEL = 16


@dataclass(frozen=True)
class _Import:
    archive: ArchiveReader
    verified: VerifiedArchive
    target: UserScope
    actor: Actor
    service: Service

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
        """Create the document under all rules of the binding that wrote it last. KEPT if another one is there."""
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

    async def record_run(self) -> None:
        """Record every run before its first change, because a later run may finish what this one begins."""
        run = run_record(self.verified, self.target, self.actor, self.service.clock.now(), self.service.ids.new())
        await _create_record(run, dry_run=False, vault=self.service.vault)

    async def entries(self, kind: EntryKind, *, dry_run: bool) -> Counter[tuple[str, ImportOutcome]]:
        counts = Counter[tuple[str, ImportOutcome]]()
        async for batch in self._batches(kind):
            fates = await asyncio.gather(*(self._entry(each, dry_run) for each in batch), return_exceptions=True)
            # All end before a failure is raised, so that none writes after this call has returned.
            for fate in fates:
                if isinstance(fate, BaseException):
                    raise fate
                counts[kind, fate] += 1
        return counts

    async def _entry(self, found: Entry, dry_run: bool) -> ImportOutcome:
        entry = found if self.is_restore else moved(found, self.target)
        if entry is None:
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
    """Verify the whole archive and decide every document, record who imports it, then create what is absent.

    Into the user that the archive is of, documents and records are restored as they were. Into another user, each
    document is created by a write of `actor` whose evidence names the archive and the source. Nothing that exists is
    replaced. Repeating an interrupted call finishes it.

    Raises VaultUnavailable without a vault, ArchiveInvalid, what `replace_document` raises for a document that cannot
    be created, and OSError, all before anything is written; HistoryCorrupt, DecryptionFailed, Unavailable.
    """
    if service.vault is None:
        raise VaultUnavailable()
    verified = await verify_archive(archive, catalog=service.catalog)
    work = _Import(archive, verified, target, actor, service)
    report, rows = ImportReport(verified), verified.manifest.documents
    report.documents = [(row, await work.document(row, dry_run=True)) for row in rows]
    if not dry_run:
        await work.record_run()
        report.documents = [(row, await work.document(row, dry_run=False)) for row in rows]
    for kind in verified.manifest.kinds:
        report.entries += await work.entries(kind, dry_run=dry_run)
    return report


async def import_entry(entry: Entry, service: Service, *, dry_run: bool) -> ImportOutcome:
    """Create an entry unless another one has its name; a snapshot is sealed, an event is marked for the index.

    What had not ended when it was exported is LEFT_OUT. Raises DecryptionFailed, VaultUnavailable, Unavailable.
    """
    if isinstance(entry, StoredRecord) and not entry.closed:
        return ImportOutcome.LEFT_OUT
    if not isinstance(entry, StoredEvent):
        return await _create_record(entry, dry_run=dry_run, vault=service.vault)
    if dry_run:
        stored = await service.events.get(entry.key)
        return (
            ImportOutcome.CREATED
            if stored is None
            else ImportOutcome.THERE
            if stored == entry.data
            else ImportOutcome.KEPT
        )
    try:
        # Also an event that exists: an interrupted call may not have marked it. The reconciliation indexes it later.
        written = await write_event(entry.key.scope, entry.event, service, index=False)
    except EventExists:
        return ImportOutcome.KEPT
    return ImportOutcome.THERE if written.replayed else ImportOutcome.CREATED


async def _create_record(entry: Snapshot | StoredRecord, *, dry_run: bool, vault: Vault) -> ImportOutcome:
    fate = await _compare(entry, vault)
    if fate is not None or dry_run:
        return fate or ImportOutcome.CREATED
    data = entry.data if isinstance(entry, StoredRecord) else await KeyRing(vault).seal(entry.key, entry.dump())
    try:
        await vault.records.write(entry.key, data, replaces=None)
    except StoreConflict:
        # Another call was first, or an earlier try of this write was applied.
        fate = await _compare(entry, vault)
        if fate is None:
            raise Unavailable(dependency="blob_storage") from None
        return fate
    return ImportOutcome.CREATED


async def _compare(entry: Snapshot | StoredRecord, vault: Vault) -> ImportOutcome | None:
    """Compare the entry with what is stored under its name; None if nothing is. No content leaves this function."""
    stored = await vault.records.read(entry.key)
    if stored is None:
        return None
    if isinstance(entry, StoredRecord):
        same = is_same(entry, stored.data)
    else:
        same = await KeyRing(vault).unseal(entry.key, stored.data) == entry.dump()
    return ImportOutcome.THERE if same else ImportOutcome.KEPT
