"""Read an archive from end to end and believe nothing that does not hold."""

from memnet.domain.archive import (
    MANIFEST,
    ArchivedDocument,
    VerifiedArchive,
    audit_file,
    check_manifest,
    check_members,
    check_schemas,
    document_file,
    read_manifest,
    refuse,
)
from memnet.domain.archive_chain import Chain, note_texts
from memnet.domain.archive_entry import carried, entry_name, is_of_import, read_entry
from memnet.domain.archive_import import is_valid
from memnet.domain.audit import BrokenChain
from memnet.domain.catalog import Catalog
from memnet.domain.errors import ArchiveRefused
from memnet.domain.json_text import digest
from memnet.operations.read_archive_lines import read_archive_lines
from memnet.ports import ArchiveReader


async def verify_archive(archive: ArchiveReader, *, catalog: Catalog) -> VerifiedArchive:
    """Check names, sizes, hashes and counts, every chain of records, every document and entry; nothing is written.

    The schemas of the documents must be known to `catalog`, and be the same there. Raises ArchiveRefused, OSError.
    """
    check_members(archive.members)
    data = b"".join([chunk async for chunk in archive.read(MANIFEST)])
    manifest = read_manifest(data)
    check_manifest(manifest, archive.members)
    check_schemas(manifest, {name: schema.digest for name, schema in catalog.schemas.items()})
    verified = VerifiedArchive(manifest, digest(data), {file.name: file for file in manifest.files})
    await _check_documents(archive, verified, catalog)
    for kind in manifest.kinds:
        before, count = "", 0
        async for line in read_archive_lines(archive, verified.files[kind.file]):
            entry = read_entry(kind, manifest.scope, line)
            name = entry_name(entry)
            if is_of_import(entry):
                carried(entry, verified.sha256, manifest.scope)
            if name <= before:
                refuse("a line is there twice, or out of order", kind.file)
            before, count = name, count + 1
        if count != manifest.counts[kind]:
            refuse("the manifest counts another number of lines", kind.file)
    return verified


async def _check_documents(archive: ArchiveReader, verified: VerifiedArchive, catalog: Catalog) -> None:
    manifest = verified.manifest
    records, profiles, schemas = 0, dict[tuple[str, str], str | None](), dict[tuple[str, str], str | None]()
    for row in manifest.documents:
        chain = await _check_document(archive, verified, row, catalog)
        records += chain.records
        try:
            note_texts(profiles, chain.profiles)
            note_texts(schemas, chain.schemas)
        except ValueError as error:
            refuse(str(error))
    if records != manifest.counts["records"]:
        refuse("the manifest counts another number of records", MANIFEST)
    if profiles != {(used.profile_id, used.version): used.sha256 for used in manifest.profiles}:
        refuse("the profiles that it lists are not those of its records", MANIFEST)
    if schemas != {(used.schema_id, used.version): used.sha256 for used in manifest.schemas}:
        refuse("the schemas that it lists are not those of its records", MANIFEST)


async def _check_document(
    archive: ArchiveReader, verified: VerifiedArchive, row: ArchivedDocument, catalog: Catalog
) -> Chain:
    chain = Chain(row.key(verified.manifest.scope), row.doc_id)
    try:
        async for line in read_archive_lines(archive, verified.files[audit_file(row.doc_id)]):
            chain.read(line)
        found = chain.row()
    except BrokenChain as error:
        raise ArchiveRefused(reason=str(error), member=audit_file(row.doc_id)) from error
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
    return chain
