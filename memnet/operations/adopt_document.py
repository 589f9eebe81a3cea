"""Create an archived document below another user: a change of its own, that says where it comes from."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from memnet.domain.archive import ArchivedDocument, VerifiedArchive, audit_file, document_file
from memnet.domain.archive_import import Fate, attachment_key, attachment_name, creation, governing
from memnet.domain.catalog import Catalog
from memnet.domain.document import Actor, Json, UserScope
from memnet.domain.errors import DocumentExists, HistoryBroken, MemnetError
from memnet.domain.path_policy import ROOT
from memnet.operations.read_archive_lines import read_archive_lines
from memnet.operations.replace_document import replace_document
from memnet.operations.store_attachment import store_attachment
from memnet.ports import ArchiveReader, Background, Clock, IdGenerator
from memnet.stores import AuditLog, DocumentStore, RecordStore, Vault

PARALLEL = 16


@dataclass(frozen=True, slots=True)
class _Attachments:
    """Where the old records are kept, and what seals them."""

    records: RecordStore
    vault: Vault | None


async def adopt_document(
    row: ArchivedDocument,
    *,
    archive: ArchiveReader,
    verified: VerifiedArchive,
    target: UserScope,
    actor: Actor,
    dry_run: bool,
    documents: DocumentStore,
    audit: AuditLog,
    records: RecordStore,
    catalog: Catalog,
    clock: Clock,
    ids: IdGenerator,
    background: Background,
) -> Fate:
    """Attach the old records, then create the document by the binding that wrote it last; the same call again is fine.

    KEPT if there is another document at its place; of a deleted one only the records are attached (LEFT_OUT). Raises
    what `replace_document` raises, with the document's place, SealBroken, and ArchiveRefused if the archive is no
    longer what was verified.
    """
    content = None if row.deleted else await _content(row, archive, verified)

    async def create(*, dry: bool) -> Fate:
        try:
            rule = governing(row, catalog, target, actor)
            command = creation(row, content, verified, target, actor, rule, dry_run=dry)
            result = await replace_document(
                command,
                documents=documents,
                audit=audit,
                catalog=catalog,
                clock=clock,
                ids=ids,
                background=background,
            )
        except DocumentExists:
            return Fate.KEPT
        except MemnetError as error:
            error.details["document"] = f"{row.namespace}/{row.path}"
            raise
        return Fate.THERE if result.replayed else Fate.CREATED

    fate = Fate.LEFT_OUT if row.deleted else await create(dry=True)
    if dry_run or fate in (Fate.KEPT, Fate.THERE):
        return fate
    await _attach(row, archive, verified, target, _Attachments(records, audit.vault))
    return fate if row.deleted else await create(dry=False)


async def _content(row: ArchivedDocument, archive: ArchiveReader, verified: VerifiedArchive) -> Json:
    lines = [line async for line in read_archive_lines(archive, verified.files[document_file(row.doc_id)])]
    return orjson.loads(lines[0])["document"][ROOT]


async def _attach(
    row: ArchivedDocument,
    archive: ArchiveReader,
    verified: VerifiedArchive,
    target: UserScope,
    attachments: _Attachments,
) -> None:
    waiting = list[bytes]()
    async for line in read_archive_lines(archive, verified.files[audit_file(row.doc_id)]):
        waiting.append(line)
        if len(waiting) == PARALLEL:
            await _store(waiting, verified, target, attachments)
            waiting = []
    await _store(waiting, verified, target, attachments)


async def _store(
    lines: Sequence[bytes], verified: VerifiedArchive, target: UserScope, attachments: _Attachments
) -> None:
    outcomes = await asyncio.gather(
        *(_store_line(line, verified, target, attachments) for line in lines), return_exceptions=True
    )
    # All end before a failure goes up: none may go on writing behind the caller's back.
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


async def _store_line(line: bytes, verified: VerifiedArchive, target: UserScope, attachments: _Attachments) -> None:
    key = attachment_key(target, verified, attachment_name(line))
    fate = await store_attachment(key, line, records=attachments.records, vault=attachments.vault)
    if fate is Fate.KEPT:
        raise HistoryBroken("Something else stands where an old record is to be kept.", record=key.name)
