"""Export a user's memory into one archive."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

import orjson

from memnet.domain.catalog.catalog import protected_sections
from memnet.domain.catalog.retention_policy import batches
from memnet.domain.core.access_record import AccessRecord, access_record
from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import (
    DecryptionFailed,
    ErasureRunning,
    HistoryCorrupt,
    LimitExceeded,
    RetractionNotFound,
    SnapshotNotFound,
    Unavailable,
    UserNotFound,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKind
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import BrokenChain, check_head
from memnet.domain.documents.envelope import Envelope
from memnet.domain.governance.archive import (
    FORMAT_VERSION,
    MANIFEST,
    MAX_DOCUMENTS,
    MAX_MANIFEST_BYTES,
    REPORT,
    ArchivedDocument,
    ArchivedFile,
    EntryKind,
    LeftOut,
    Manifest,
    Source,
    UsedProfile,
    UsedSchema,
    audit_file,
    document_file,
    files_digest,
)
from memnet.domain.governance.archive_chain import Chain, Texts
from memnet.domain.governance.archive_entry import ArchivedRetraction, conflict_line, replay_line, usage_line
from memnet.domain.governance.report import DocumentReport, Report
from memnet.domain.governance.report_page import report_lines
from memnet.operations.governance.known_user import is_known
from memnet.operations.governance.legal_holds import holds_covering
from memnet.operations.replay.closed_sources import read_closed_sources
from memnet.operations.replay.retraction_record import load_retraction
from memnet.operations.replay.snapshots import read_snapshot, record_access
from memnet.paging import bounded, pages, rows
from memnet.ports import ArchiveWriter
from memnet.service import Service
from memnet.stores import (
    AuditLog,
    DocumentStore,
    EventStore,
    ItemStore,
    Vault,
    read_baseline,
    read_events,
    stream_records,
)

BATCH = 64
"""The number of entries in memory at a time."""
REMOVED = "Retention deleted old records during the export; run it again."
LINES: dict[ItemKind, Callable[[bytes], bytes]] = {
    ItemKind.REPLAYS: replay_line,
    ItemKind.CONFLICTS: conflict_line,
    ItemKind.ACCESSES: bytes,
    ItemKind.USAGE: usage_line,
}
"""Returns the exported part of an item."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The manifest, and its SHA-256, which identifies the archive."""

    manifest: Manifest
    sha256: str


@dataclass
class _Files:
    """The written files, with their sizes and hashes."""

    archive: ArchiveWriter
    written: list[ArchivedFile] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    async def add(self, name: str, lines: AsyncIterator[bytes]) -> int:
        """Write a file of lines; return their number."""
        hashed, size, count = sha256(), 0, 0

        async def measured() -> AsyncIterator[bytes]:
            nonlocal size, count
            async for line in lines:
                part = line + b"\n"
                hashed.update(part)
                size, count = size + len(part), count + 1
                yield part

        await self.archive.write(name, measured())
        self.written.append(ArchivedFile(name=name, bytes=size, sha256=hashed.hexdigest()))
        return count


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Who exports, why, and what."""

    actor: Actor
    reason: str | None = None
    include_conversations: bool = True
    allow_empty: bool = False
    """Export a user about whom nothing is stored: an archive without entries."""


async def export_user(
    scope: UserScope, service: Service, options: ExportOptions, *, archive: ArchiveWriter
) -> ExportReport:
    """Record the access, then write an archive of the user's memory (docs/export.md) in bounded memory.

    Records are written unsealed. Each document is one version with all records up to it, verified; the manifest counts
    the documents that were changed meanwhile. Each decrypted conversation leaves an access record of its own.

    Raises:
        UserNotFound: Nothing is stored about the user.
        ErasureRunning: An erasure began before the export ended; the archive is not complete.
        HistoryCorrupt, LimitExceeded, DecryptionFailed, VaultUnavailable, Unavailable, OSError.
    """
    access = None
    if await is_known(scope, service):
        access = _access(scope, options, service)
        await record_access(access, service.records)
    elif not options.allow_empty:
        raise UserNotFound()
    try:
        report = await _export(scope, service, options, archive)
    except (HistoryCorrupt, DecryptionFailed):
        # An erasure overwrites and deletes what is read here.
        await service.erasures.check(scope)
        raise
    await service.erasures.check(scope)
    if access is not None and await service.records.read(access.key) is None:
        raise ErasureRunning()
    return report


def _access(scope: UserScope, options: ExportOptions, service: Service) -> AccessRecord:
    about = {"include_conversations": options.include_conversations, "reason": options.reason}
    return access_record(scope, "export_user", options.actor, service.clock.now(), service.ids.new(), **about)


async def _export(scope: UserScope, service: Service, options: ExportOptions, archive: ArchiveWriter) -> ExportReport:
    started = to_text(service.clock.now())
    files, report = _Files(archive), Report(scope, started, options.actor.principal)
    documents, profiles, schemas = await _documents(scope, files, report, options, service)
    files.counts["documents"] = len(documents)
    await _entries(scope, files, report, options, service)
    left_out = await _left_out(scope, options, service.records)
    report.conversations_left_out = left_out.conversations
    report.holds = await holds_covering(scope, service)
    await files.add(REPORT, _each(report_lines(report)))
    written = sorted(files.written, key=lambda file: file.name)
    manifest = Manifest(
        format="memnet-export",
        format_version=FORMAT_VERSION,
        source=Source(tenant_id=scope.tenant_id, user_id=scope.user_id),
        started_at=started,
        finished_at=to_text(service.clock.now()),
        actor=options.actor.principal,
        reason=options.reason,
        left_out=left_out,
        documents=sorted(documents, key=lambda row: f"{row.namespace}/{row.path}"),
        changed_meanwhile=await _changed(scope, documents, service.documents),
        profiles=[
            UsedProfile(profile_id=name, version=version, sha256=sha256)
            for (name, version), sha256 in sorted(profiles.items())
        ],
        schemas=[
            UsedSchema(schema_id=name, version=version, sha256=sha256)
            for (name, version), sha256 in sorted(schemas.items())
        ],
        counts=files.counts,
        files=written,
        files_sha256=files_digest(written),
    )
    data = manifest.dump()
    if len(data) > MAX_MANIFEST_BYTES:
        raise LimitExceeded(limit="max_manifest_bytes", allowed=MAX_MANIFEST_BYTES, found=len(data))
    await archive.write(MANIFEST, _one(data))
    return ExportReport(manifest, sha256_hex(data))


async def _left_out(scope: UserScope, options: ExportOptions, records: ItemStore) -> LeftOut:
    if options.include_conversations:
        return LeftOut(conversations=None)
    return LeftOut(conversations=len([key async for key in rows(partial(records.list, scope, ItemKind.SNAPSHOTS))]))


async def _documents(
    scope: UserScope, files: _Files, report: Report, options: ExportOptions, service: Service
) -> tuple[list[ArchivedDocument], Texts, Texts]:
    """Write the documents; return their rows, and the profiles and schemas that their records name."""
    found, seen, written = list[ArchivedDocument](), set[str](), 0
    profiles, schemas = Texts(), Texts()
    async for listed in rows(partial(service.documents.list, scope, "")):
        key = listed.key
        stored = await service.documents.get(key)
        if stored is None:
            continue
        if len(found) == MAX_DOCUMENTS:
            raise LimitExceeded(limit="max_documents", allowed=MAX_DOCUMENTS, found=len(found) + 1)
        head = envelope.load(stored.data)
        if head.doc_id in seen:
            raise HistoryCorrupt(change_id=head.change_id(head.commit.sequence), reason="two documents have one id")
        seen.add(head.doc_id)
        chain = Chain(key, head.doc_id, profiles, schemas)
        try:
            story = DocumentReport(report, key)
            written += await files.add(audit_file(head.doc_id), _records(head, chain, story, service.audit))
            check_head(chain.fold, head)
            found.append(chain.row())
            covering, pending = service.catalog.covering(key), protected_sections(service.catalog, key).pending
            story.end(covering, pending, options.actor)
            await files.add(document_file(head.doc_id), _one(chain.document()))
        except BrokenChain as error:
            raise HistoryCorrupt(change_id=error.change_id, reason=error.reason) from error
    files.counts["records"] = written
    return found, profiles, schemas


async def _records(current: Envelope, chain: Chain, story: DocumentReport, audit: AuditLog) -> AsyncIterator[bytes]:
    """Yield the history up to the version `current`: the baseline that it begins with, if any, and all its records."""
    scope, doc_id = chain.key.scope, current.doc_id
    history = await audit.history(scope, doc_id)
    if history.begins > current.commit.sequence:
        raise Unavailable(REMOVED)
    try:
        if history.begins > 1:
            baseline = await read_baseline(scope, doc_id, history.base, audit=audit)
            if baseline is None:
                raise HistoryCorrupt(change_id=current.change_id(history.base - 1))
            yield chain.begin(baseline)
            story.begin(baseline)
        first, last = history.begins, current.commit.sequence
        async for record in stream_records(scope, current, first, last, audit=audit, history=history):
            yield chain.add(record)
            story.take(record)
    except HistoryCorrupt:
        if await audit.history(scope, doc_id) == history:
            raise
        raise Unavailable(REMOVED) from None


async def _entries(scope: UserScope, files: _Files, report: Report, options: ExportOptions, service: Service) -> None:
    lines: dict[EntryKind, AsyncIterator[bytes]] = {EntryKind.EVENTS: _events(scope, report, service.events)}
    if options.include_conversations:
        # Before the accesses: they include those of this export.
        lines[EntryKind.SNAPSHOTS] = _snapshots(scope, report, options.actor, service.vault)
    for kind in LINES:
        lines[EntryKind(kind.value)] = _stored(scope, kind, report, service.records)
    lines[EntryKind.RETRACTIONS] = _retractions(scope, service)
    for entry_kind, found in lines.items():
        files.counts[entry_kind.value] = await files.add(entry_kind.file, found)


async def _events(scope: UserScope, report: Report, events: EventStore) -> AsyncIterator[bytes]:
    async for page in pages(partial(events.list_of_user, scope)):
        for batch in batches([row.key for row in page], BATCH):
            found = await read_events(batch, events=events)
            for key in batch:
                event = found.get(key)
                if event is not None:
                    report.event(event.event)
                    yield event.data
                elif key in found:
                    raise HistoryCorrupt("A stored event cannot be read.", event_id=key.event_id)


async def _snapshots(scope: UserScope, report: Report, reader: Actor, vault: Vault) -> AsyncIterator[bytes]:
    async for key in rows(partial(vault.records.list, scope, ItemKind.SNAPSHOTS)):
        conversation_id, _, snapshot_id = key.name.partition("/")
        with suppress(SnapshotNotFound):
            snapshot = await read_snapshot(scope, conversation_id, snapshot_id, actor=reader, vault=vault)
            report.conversation(snapshot)
            yield snapshot.dump()


async def _stored(scope: UserScope, kind: ItemKind, report: Report, records: ItemStore) -> AsyncIterator[bytes]:
    async for page in pages(partial(records.list, scope, kind)):
        for batch in batches(page, BATCH):
            for stored in await bounded(records.read, batch):
                if stored is not None:
                    if kind is ItemKind.ACCESSES:
                        report.access(orjson.loads(stored.data))
                    yield LINES[kind](stored.data)


async def _retractions(scope: UserScope, service: Service) -> AsyncIterator[bytes]:
    closed = {one.retraction_id for one in await read_closed_sources(scope, service.records)}
    async for page in pages(partial(service.records.list, scope, ItemKind.RETRACTIONS)):
        for key in page:
            job = Job(JobKind.RETRACTION, scope.tenant_id, scope.user_id, key.name)
            with suppress(RetractionNotFound):
                found = await load_retraction(job, service)
                plan = None if found.retraction.is_expired else found.plan.dump()
                yield ArchivedRetraction(found.retraction, plan, key.name in closed).line()


async def _changed(scope: UserScope, archived: Sequence[ArchivedDocument], documents: DocumentStore) -> int:
    """Count the documents that have changed or appeared since they were exported."""
    written = {(row.namespace, row.path): row.etag for row in archived}
    changed = 0
    async for row in rows(partial(documents.list, scope, "")):
        changed += written.get((row.key.namespace, row.key.path)) != row.summary.etag
    return changed


async def _one(part: bytes) -> AsyncIterator[bytes]:
    yield part


async def _each(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line
