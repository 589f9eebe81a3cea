"""Import an archive: put a user's memory back as it was, or take it over for another user."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from memnet.domain.archive import ArchivedDocument, EntryKind, VerifiedArchive
from memnet.domain.archive_entry import Entry, carried, is_of_import, moved, read_entry
from memnet.domain.archive_import import Fate, ImportReport, attachment_key, run_record
from memnet.domain.attachment import run_name
from memnet.domain.catalog import Catalog
from memnet.domain.document import Actor, UserScope
from memnet.domain.errors import VaultUnavailable
from memnet.domain.timestamps import to_text
from memnet.operations.adopt_document import adopt_document
from memnet.operations.import_entry import import_entry
from memnet.operations.read_archive_lines import read_archive_lines
from memnet.operations.restore_document import restore_document
from memnet.operations.store_record import store_record
from memnet.operations.verify_archive import verify_archive
from memnet.ports import ArchiveReader, Background, Clock, IdGenerator
from memnet.stores import (
    AuditLog,
    DocumentStore,
    EventStore,
    RecordStore,
    Vault,
)

PARALLEL = 16


@dataclass(frozen=True)
class _Import:
    """One archive on its way to one user, and all that this takes."""

    archive: ArchiveReader
    verified: VerifiedArchive
    target: UserScope
    actor: Actor
    documents: DocumentStore
    audit: AuditLog
    events: EventStore
    records: RecordStore
    vault: Vault | None
    catalog: Catalog
    clock: Clock
    ids: IdGenerator
    background: Background

    @property
    def own(self) -> bool:
        """Whether it goes back to where it came from."""
        return self.verified.manifest.scope == self.target

    async def document(self, row: ArchivedDocument, *, dry_run: bool) -> Fate:
        if self.own:
            return await restore_document(
                row,
                archive=self.archive,
                verified=self.verified,
                dry_run=dry_run,
                documents=self.documents,
                audit=self.audit,
            )
        return await adopt_document(
            row,
            archive=self.archive,
            verified=self.verified,
            target=self.target,
            actor=self.actor,
            dry_run=dry_run,
            documents=self.documents,
            audit=self.audit,
            records=self.records,
            catalog=self.catalog,
            clock=self.clock,
            ids=self.ids,
            background=self.background,
        )

    async def entry(self, found: Entry, *, dry_run: bool) -> Fate:
        if is_of_import(found):
            if self.own and await self._put(found, dry_run=True) is Fate.THERE:
                return Fate.THERE
            return await self._put(carried(found, self.verified.sha256, self.target), dry_run=dry_run)
        below = found if self.own else moved(found, self.target)
        return Fate.LEFT_OUT if below is None else await self._put(below, dry_run=dry_run)

    async def _put(self, entry: Entry, *, dry_run: bool) -> Fate:
        return await import_entry(
            entry,
            dry_run=dry_run,
            events=self.events,
            records=self.records,
            vault=self.vault,
            ids=self.ids,
            background=self.background,
        )

    async def write_down(self) -> None:
        """Before anything changes; of every call, for another one may finish what this one begins."""
        now = self.clock.now()
        key = attachment_key(self.target, self.verified, run_name(now, self.ids.new()))
        run = run_record(self.verified, self.target, self.actor, to_text(now))
        await store_record(key, run, records=self.records)
        if not self.own:
            manifest = attachment_key(self.target, self.verified, "manifest")
            await store_record(manifest, self.verified.manifest.dump(), records=self.records)

    async def entries(self, kind: EntryKind, *, dry_run: bool) -> Counter[tuple[str, Fate]]:
        counts = Counter[tuple[str, Fate]]()
        async for batch in self._batches(kind):
            fates = await asyncio.gather(*(self.entry(each, dry_run=dry_run) for each in batch), return_exceptions=True)
            # All end before a failure goes up: none may go on writing behind the caller's back.
            for fate in fates:
                if isinstance(fate, BaseException):
                    raise fate
                counts[kind, fate] += 1
        return counts

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
    archive: ArchiveReader,
    target: UserScope,
    *,
    actor: Actor,
    dry_run: bool = False,
    documents: DocumentStore,
    audit: AuditLog,
    events: EventStore,
    records: RecordStore,
    vault: Vault | None,
    catalog: Catalog,
    clock: Clock,
    ids: IdGenerator,
    background: Background,
) -> ImportReport:
    """Verify the whole archive and decide every document, then write down who imports, then create what is absent.

    Into the user it is of: documents and records as they were. Into another one: each document as a new one, by a
    change of `actor` that names its source, the old records attached. What the archive brings along of earlier imports
    is kept apart. Nothing that stands there is ever replaced. The same call again finishes what was interrupted.

    Raises ArchiveRefused, what `adopt_document` raises for a document that cannot be created, VaultUnavailable if there
    is something to seal and no vault, and OSError, all before anything is written; HistoryBroken, SealBroken,
    Unavailable.
    """
    verified = await verify_archive(archive, catalog=catalog)
    manifest = verified.manifest
    if vault is None and (verified.is_sealed or manifest.counts.get(EntryKind.SNAPSHOTS, 0)):
        raise VaultUnavailable()
    work = _Import(
        archive,
        verified,
        target,
        actor,
        documents,
        audit,
        events,
        records,
        vault,
        catalog,
        clock,
        ids,
        background,
    )
    report = ImportReport(verified, target)
    report.documents = [(row, await work.document(row, dry_run=True)) for row in manifest.documents]
    if not dry_run:
        await work.write_down()
        report.documents = [(row, await work.document(row, dry_run=False)) for row in manifest.documents]
    for kind in manifest.kinds:
        report.entries += await work.entries(kind, dry_run=dry_run)
    return report
