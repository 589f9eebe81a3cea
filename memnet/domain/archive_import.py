"""What an import makes of an archive: each part's fate, and how to tell a history that is there already."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memnet.domain import baseline as baselines
from memnet.domain.archive import ArchivedDocument, Source, VerifiedArchive, refuse
from memnet.domain.attachment import EARLIER, Part
from memnet.domain.audit import read_record
from memnet.domain.catalog import Catalog
from memnet.domain.document import Actor, DocumentKey, Json, UserScope
from memnet.domain.envelope import Envelope, Record
from memnet.domain.errors import BindingNotFound, MalformedRequest
from memnet.domain.json_text import MAX_DEPTH, canonical, check_depth
from memnet.domain.path_policy import ROOT
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.schema import Schema
from memnet.domain.write import IfAbsent, ReplaceDocument


class Fate(StrEnum):
    """What became of a part; on a dry run, what would."""

    CREATED = "created"
    THERE = "there"
    """It stood there already, as it is in the archive."""
    KEPT = "kept"
    """Something else stands in its place, and was left as it is."""
    LEFT_OUT = "left_out"
    """It has no meaning there: see docs/export.md."""


@dataclass(slots=True)
class ImportReport:
    """What an import came to."""

    archive: VerifiedArchive
    target: UserScope
    documents: list[tuple[ArchivedDocument, Fate]] = field(default_factory=list)
    entries: Counter[tuple[str, Fate]] = field(default_factory=Counter)
    """How many entries of a kind had a fate."""

    @property
    def complete(self) -> bool:
        """Whether nothing else stood in the way of any part."""
        fates = {fate for _, fate in self.documents} | {fate for _, fate in self.entries}
        return Fate.KEPT not in fates


def record_that_tells(row: ArchivedDocument, head: Envelope) -> Fate | int:
    """Whether the document `head` has the archived history. A number: that change's record tells, by `continues`."""
    if head.doc_id != row.doc_id or head.commit.sequence < row.sequence:
        return Fate.KEPT
    if head.commit.sequence > row.sequence:
        return row.sequence + 1
    return Fate.THERE if head.commit.record_hash == row.record_hash else Fate.KEPT


def continues(row: ArchivedDocument, record: Record) -> Fate:
    """Whether this record is the one that came after the archived history."""
    return Fate.THERE if record["previous_record_hash"] == row.record_hash else Fate.KEPT


def is_valid(content: Json, schema: Schema) -> bool:
    """Whether the service could have written this content."""
    try:
        check_depth({ROOT: content}, MAX_DEPTH)
    except MalformedRequest:
        return False
    return not schema.violations(content)


def governing(row: ArchivedDocument, catalog: Catalog, target: UserScope, actor: Actor) -> tuple[str, str]:
    """The profile and the binding that an archived document is created by: those that wrote it last.

    If only a baseline is left of its history, the first that takes such a document. Raises BindingNotFound.
    """
    if row.profile_id is not None and row.binding_id is not None:
        return row.profile_id, row.binding_id
    key, schema = row.key(target), (row.schema_id, row.schema_version)
    for profile_id, profile in sorted(catalog.profiles.items()):
        for binding in profile.document_bindings:
            fits = binding.covers(key) and (binding.schema_id, binding.schema_version) == schema
            if fits and profile.admits(actor.principal):
                return profile_id, binding.binding_id
    raise BindingNotFound()


def creation(
    row: ArchivedDocument,
    content: Json,
    archive: VerifiedArchive,
    target: UserScope,
    actor: Actor,
    rule: tuple[str, str],
    *,
    dry_run: bool,
) -> ReplaceDocument:
    """The change that creates an archived document below another user, by the profile and binding of `rule`.

    The same archive makes the same request.
    """
    source: Source = archive.manifest.source
    origin: dict[str, Any] = {
        "archive_sha256": archive.sha256,
        "tenant_id": source.tenant_id,
        "user_id": source.user_id,
        "doc_id": row.doc_id,
        "sequence": row.sequence,
        "record_hash": row.record_hash,
    }
    return ReplaceDocument(
        key=DocumentKey(target, row.namespace, row.path),
        actor=actor,
        precondition=IfAbsent(),
        idempotency_key=f"import-{archive.sha256[:32]}",
        profile_id=rule[0],
        binding_id=rule[1],
        schema_id=row.schema_id,
        schema_version=row.schema_version,
        content=content,
        note="imported from an archive of another user",
        evidence={"import": origin},
        dry_run=dry_run,
    )


def attachment_key(target: UserScope, archive: VerifiedArchive, name: str) -> RecordKey:
    """Where what came with an archive is kept: `name` as memnet/domain/attachment.py says."""
    return RecordKey(target, RecordKind.IMPORTS, f"{archive.sha256}/{name}")


def is_private(key: RecordKey) -> bool:
    """Whether a record is something attached that holds memory: an old record or a baseline, here or of before."""
    _, *parts = key.name.split("/")
    part = parts[2:3] if parts[0:1] == [EARLIER] else parts[0:1]
    return key.kind is RecordKind.IMPORTS and part in ([Part.AUDIT], [Part.BASELINES])


def attachment_name(line: bytes) -> str:
    """What an old record is kept as. Raises ArchiveRefused."""
    baseline = baselines.load(line)
    if baseline is not None:
        return f"{Part.BASELINES}/{baseline.change_id}"
    record = read_record(line)
    if record is None or not isinstance(record.get("change_id"), str):
        refuse("the file is not what was verified")
    return f"{Part.AUDIT}/{record['change_id']}"


def run_record(archive: VerifiedArchive, target: UserScope, actor: Actor, now: str) -> bytes:
    """Who had the archive imported, and when."""
    source = archive.manifest.source
    return canonical(
        {
            "archive_sha256": archive.sha256,
            "imported_at": now,
            "principal": actor.principal,
            "source": {"tenant_id": source.tenant_id, "user_id": source.user_id},
            "target": {"tenant_id": target.tenant_id, "user_id": target.user_id},
        }
    )
