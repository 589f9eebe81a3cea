"""An archive of one user: its files, its manifest, and the checks before any of it is used.

    manifest.json           the archived user, and the SHA-256 of every other file
    documents/{doc_id}.json a document as clients see it, with its ETag and sequence
    audit/{doc_id}.jsonl    its records in order with unsealed values, one per line
    events.jsonl …          one entry per line, in the order of their names
    report.html             the same for people; an import verifies its hash and does not read it

An archive may be forged, so every name, number and hash in it is checked against the others. The hashes prove that the
parts belong together; they do not prove who made the archive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memnet.domain.catalog.rule_types import Identifier
from memnet.domain.core.canonical_json import canonical, parse, sha256_hex
from memnet.domain.core.errors import ArchiveInvalid, InvalidIdentifier, MalformedRequest
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.commit import ETAG

FORMAT = "memnet-export"
FORMAT_VERSION: Literal[2] = 2
MANIFEST = "manifest.json"
REPORT = "report.html"
MAX_DOCUMENTS = 20_000
MAX_MANIFEST_BYTES = 32 << 20
MAX_ENTRY_BYTES = 64 << 20
"""The longest line and the longest document; one is in memory at a time."""


class EntryKind(StrEnum):
    """The kinds of entries besides documents and their records."""

    EVENTS = "events"
    SNAPSHOTS = "snapshots"
    REPLAYS = "replays"
    CONFLICTS = "conflicts"
    ACCESSES = "accesses"
    USAGE = "usage"
    RETRACTIONS = "retractions"
    """The last: an import closes their sources when everything else is there."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.value}.jsonl"


def document_file(doc_id: str) -> str:
    """Return the name of a document's file. It contains the id and no path, so that it cannot leave its folder."""
    return f"documents/{doc_id}.json"


def audit_file(doc_id: str) -> str:
    """Return the name of the file of a document's records."""
    return f"audit/{doc_id}.jsonl"


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file in the archive's directory."""

    name: str
    size: int


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


class Source(_Part):
    """The archived user."""

    tenant_id: Identifier
    user_id: Identifier


class ArchivedDocument(_Part):
    """The archived version of a document, and the binding that wrote it last."""

    doc_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    namespace: Identifier
    path: Annotated[str, Field(max_length=2048)]
    etag: Annotated[str, Field(pattern=f"^{ETAG.pattern}$")]
    sequence: Annotated[int, Field(ge=1)]
    updated_at: str
    deleted: bool
    schema_id: Identifier
    schema_version: Identifier
    record_hash: Sha256
    """The hash of its last record, which covers all records before it."""
    profile_id: Identifier | None
    binding_id: Identifier | None

    def key(self, scope: UserScope) -> DocumentKey:
        """Return its key below a user. Raises InvalidIdentifier."""
        return DocumentKey(scope, self.namespace, self.path)


class UsedProfile(_Part):
    """A version of a profile that a record names, with the SHA-256 in that record."""

    profile_id: Identifier
    version: Identifier
    sha256: Sha256 | None


class UsedSchema(_Part):
    """A version of a schema that a record names; the SHA-256 is None if only deletions name the version."""

    schema_id: Identifier
    version: Identifier
    sha256: Sha256 | None


class ArchivedFile(_Part):
    """A file with its size and hash."""

    name: str
    bytes: Count
    sha256: Sha256


class LeftOut(_Part):
    """What the archive does not contain although it is stored."""

    conversations: Count | None
    """The number of conversations; None: they are in the archive."""


class Manifest(_Part):
    """The manifest of an archive."""

    format: Literal["memnet-export"]
    format_version: Literal[2]
    source: Source
    started_at: str
    finished_at: str
    actor: str
    """The principal that exported."""
    reason: str | None
    left_out: LeftOut
    documents: list[ArchivedDocument]
    changed_meanwhile: Count
    """The number of documents that were changed or created before the last one was read."""
    profiles: list[UsedProfile]
    schemas: list[UsedSchema]
    counts: dict[str, Count]
    files: list[ArchivedFile]
    files_sha256: Sha256

    @property
    def scope(self) -> UserScope:
        """The archived user."""
        return UserScope(self.source.tenant_id, self.source.user_id)

    @property
    def kinds(self) -> Sequence[EntryKind]:
        """The kinds of entries in the archive: all, or all but the snapshots."""
        complete = self.left_out.conversations is None
        return [kind for kind in EntryKind if complete or kind is not EntryKind.SNAPSHOTS]

    def dump(self) -> bytes:
        """Serialize the manifest."""
        return canonical(self.model_dump())


@dataclass(frozen=True, slots=True)
class VerifiedArchive:
    """An archive that has passed every check."""

    manifest: Manifest
    sha256: str
    """The hash of the manifest, which covers every file and names the archive."""
    files: Mapping[str, ArchivedFile]


def refuse(reason: str, member: str | None = None) -> NoReturn:
    """Raise ArchiveInvalid. `member` comes from the archive, so it is shortened, and control characters are escaped."""
    raise ArchiveInvalid(reason=reason, **({} if member is None else {"member": ascii(member[:100])[1:-1]}))


def files_digest(files: Iterable[ArchivedFile]) -> str:
    """Return the hash of the list of files."""
    return sha256_hex(canonical([file.model_dump() for file in files]))


def check_members(members: Sequence[ArchiveMember]) -> None:
    """Refuse a directory with a duplicate name, without a manifest, or with one that is too long."""
    names = sorted(member.name for member in members)
    for first, second in pairwise(names):
        if first == second:
            refuse("it has a file twice", first)
    sizes = [member.size for member in members if member.name == MANIFEST]
    if not sizes:
        refuse("it has no manifest")
    if sizes[0] > MAX_MANIFEST_BYTES:
        refuse(f"its manifest is longer than {MAX_MANIFEST_BYTES} bytes", MANIFEST)


def read_manifest(data: bytes) -> Manifest:
    """Parse exactly what `Manifest.dump` returned. Raises ArchiveInvalid."""
    try:
        members = parse(data)
    except MalformedRequest as error:
        raise ArchiveInvalid(reason=f"its manifest is not JSON: {error.message}", member=MANIFEST) from error
    if not isinstance(members, dict) or members.get("format") != FORMAT:
        refuse("it is not an export of memnet", MANIFEST)
    if members.get("format_version") != FORMAT_VERSION:
        refuse(f"its format version is unknown; this release reads version {FORMAT_VERSION}", MANIFEST)
    try:
        manifest = Manifest.model_validate(members)
    except ValidationError as error:
        place = "/".join(str(part) for part in error.errors()[0]["loc"])
        raise ArchiveInvalid(reason=f"its manifest is wrong at {ascii(place[:100])[1:-1]}", member=MANIFEST) from error
    if manifest.dump() != data:
        refuse("its manifest is not canonical JSON", MANIFEST)
    return manifest


def check_manifest(manifest: Manifest, members: Sequence[ArchiveMember]) -> None:
    """Refuse a manifest that contradicts itself or the archive's directory."""
    _check_documents(manifest)
    _check_files(manifest, members)
    for moment in (manifest.started_at, manifest.finished_at, *(row.updated_at for row in manifest.documents)):
        if not _is_time(moment):
            refuse("a time is not written as memnet writes it", MANIFEST)
    kinds = {"documents", "records", *manifest.kinds}
    if manifest.counts.keys() != kinds or manifest.counts["documents"] != len(manifest.documents):
        refuse("its counts are not those of what it lists", MANIFEST)
    profiles = [(used.profile_id, used.version) for used in manifest.profiles]
    schemas = [(used.schema_id, used.version) for used in manifest.schemas]
    if any(first >= second for names in (profiles, schemas) for first, second in pairwise(names)):
        refuse("a profile or schema is listed twice, or out of order", MANIFEST)


def _check_documents(manifest: Manifest) -> None:
    rows = manifest.documents
    if len(rows) > MAX_DOCUMENTS:
        refuse(f"it has more than {MAX_DOCUMENTS} documents", MANIFEST)
    try:
        places = [row.key(manifest.scope).blob_name for row in rows]
    except InvalidIdentifier as error:
        raise ArchiveInvalid(reason="a document has a path that cannot be one", member=MANIFEST) from error
    if any(first >= second for first, second in pairwise(places)) or len({row.doc_id for row in rows}) != len(rows):
        refuse("a document is listed twice, or out of order", MANIFEST)


def _check_files(manifest: Manifest, members: Sequence[ArchiveMember]) -> None:
    wanted = [name for row in manifest.documents for name in (document_file(row.doc_id), audit_file(row.doc_id))]
    wanted += [REPORT, *(kind.file for kind in manifest.kinds)]
    listed = [file.name for file in manifest.files]
    if listed != sorted(wanted):
        refuse("the files that it lists are not those of its documents and entries", MANIFEST)
    if files_digest(manifest.files) != manifest.files_sha256:
        refuse("the list of its files does not have the hash that it says", MANIFEST)
    present = {member.name: member.size for member in members if member.name != MANIFEST}
    if present.keys() != set(listed):
        (stray, *_) = sorted(present.keys() ^ set(listed))
        refuse("a file is missing, or is not in the manifest", stray)
    for file in manifest.files:
        if present[file.name] != file.bytes:
            refuse("a file has another size than the manifest says", file.name)
        if file.name.startswith("documents/") and file.bytes > MAX_ENTRY_BYTES:
            refuse(f"a document is longer than {MAX_ENTRY_BYTES} bytes", file.name)


def _is_time(text: str) -> bool:
    try:
        return to_text(from_text(text)) == text
    except MalformedRequest:
        return False


def check_schemas(manifest: Manifest, known: Mapping[tuple[str, str], str]) -> None:
    """Refuse a schema that differs from the `known` hash of its version, or an unknown one of current content."""
    listed = {(used.schema_id, used.version): used.sha256 for used in manifest.schemas}
    needed = {(row.schema_id, row.schema_version) for row in manifest.documents if not row.deleted}
    if not needed <= listed.keys():
        refuse("a document has a schema that is not listed", MANIFEST)
    for name, sha256 in listed.items():
        if name in known and sha256 is not None and known[name] != sha256:
            refuse(f"the schema {'/'.join(name)} is another one here")
        if name in needed and name not in known:
            refuse(f"the schema {'/'.join(name)} is not known here")
        if name in needed and sha256 is None:
            refuse(f"the archive does not say which schema {'/'.join(name)} it means", MANIFEST)
