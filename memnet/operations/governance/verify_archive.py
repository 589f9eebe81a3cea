"""Read an archive from end to end and refuse one that does not hold together."""

from collections.abc import AsyncIterator
from hashlib import sha256

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import ArchiveInvalid
from memnet.domain.documents.audit_record import BrokenChain
from memnet.domain.governance.archive import (
    MANIFEST,
    ArchivedDocument,
    ArchivedFile,
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
from memnet.domain.governance.archive_entry import Lines, entry_name, read_entry
from memnet.ports import ArchiveReader


async def verify_archive(archive: ArchiveReader, *, catalog: Catalog) -> VerifiedArchive:
    """Check names, sizes, hashes and counts, every chain of records, every document and entry; nothing is written.

    The schemas of the documents must be known to `catalog`, and be the same there. Raises ArchiveInvalid, OSError.
    """
    check_members(archive.members)
    data = b"".join([chunk async for chunk in archive.read(MANIFEST)])
    manifest = read_manifest(data)
    check_manifest(manifest, archive.members)
    check_schemas(manifest, {name: schema.digest for name, schema in catalog.schemas.items()})
    verified = VerifiedArchive(manifest, sha256_hex(data), {file.name: file for file in manifest.files})
    await _check_documents(archive, verified, catalog)
    for kind in manifest.kinds:
        before, count = "", 0
        async for line in read_archive_lines(archive, verified.files[kind.file]):
            name = entry_name(read_entry(kind, manifest.scope, line))
            if name <= before:
                refuse("a line is there twice, or out of order", kind.file)
            before, count = name, count + 1
        if count != manifest.counts[kind]:
            refuse("the manifest counts another number of lines", kind.file)
    return verified


async def read_archive_lines(archive: ArchiveReader, file: ArchivedFile) -> AsyncIterator[bytes]:
    """Yield the lines of a file without their ends; one is in memory at a time.

    Raises ArchiveInvalid for a line that is too long and, at the end, if the file is not what `file` says; OSError.
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
        refuse("a document is not the end of its records", name)
    lines = [line async for line in read_archive_lines(archive, verified.files[name])]
    if lines != [chain.document()]:
        refuse("a document's content is not what its records give", name)
    if not row.deleted:
        schema = catalog.schema(row.schema_id, row.schema_version)
        if not is_valid(chain.fold.state, schema):
            refuse("a document does not match its schema", name)
