"""Roll back a migration: restore the version before it, as a change of its own."""

from dataclasses import dataclass

import orjson

from memnet.domain.catalog.migration_model import Migration
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Actor, DocumentKey, Json
from memnet.domain.documents.commands import DeleteDocument, IfAbsent, IfMatch, ReplaceDocument
from memnet.domain.documents.envelope import Envelope, change_id
from memnet.domain.documents.write_decision import NO_CONTENT_HASH, Decision
from memnet.domain.governance.migration_plan import FoundDocument, Gathered


@dataclass(frozen=True, slots=True)
class Return:
    """One document to roll back. `to_sequence` is the version to restore; None deletes the document."""

    key: DocumentKey
    head: Envelope
    to_sequence: int | None

    def change_id(self) -> str | None:
        """Return the change that made the version to restore."""
        return None if self.to_sequence is None else change_id(self.head.doc_id, self.to_sequence)


def changed_since(gathered: Gathered) -> list[DocumentKey]:
    """Return the targets that others have written to since the migration made them."""
    return [found.key for found in gathered.targets if found.is_changed]


def returns(gathered: Gathered) -> list[Return]:
    """Return the documents to roll back, in order: decommissioned sources, then the migration's targets."""
    sources = [
        Return(found.key, found.head, found.head.commit.sequence - 1)
        for found in gathered.sources.values()
        if found.head and found.decommissioned
    ]
    targets = [_return(found.key, found.head, found.trace.first) for found in gathered.targets if found.head]
    return sources + [back for back in targets if back is not None]


def _return(key: DocumentKey, head: Envelope, first: Record | None) -> Return | None:
    if first is None or (first["pre_etag"] is None and head.deleted):
        return None
    return Return(key, head, None if first["pre_etag"] is None else first["sequence"] - 1)


def restoration(
    back: Return, version: Json, record: Record, *, migration: Migration, actor: Actor
) -> tuple[ReplaceDocument, Decision]:
    """Return the write of the earlier `version`, whose `record` names the binding it was written under.

    The rules are not checked: the document had this content before, and the binding may require another schema now.
    """
    head = back.head
    content = orjson.loads(canonical(version[ROOT]))
    command = ReplaceDocument(
        key=back.key,
        actor=actor,
        precondition=IfAbsent() if head.deleted else IfMatch(head.commit.etag),
        idempotency_key=_idempotency_key(back, migration),
        profile_id=record["profile_id"] or "",
        binding_id=record["binding_id"] or "",
        schema_id=version["schema_id"],
        schema_version=version["schema_version"],
        content=content,
        note=migration.notes()[1],
        evidence={"migration": migration.migration_id, "restores": back.change_id()},
    )
    draft = Decision(
        schema_id=command.schema_id,
        schema_version=command.schema_version,
        schema_sha256=record["schema_sha256"],
        content=content,
        ops=[{"op": "add", "path": f"/{ROOT}", "value": content}],
        hash_before=NO_CONTENT_HASH if head.deleted else sha256_hex(canonical(head.content)),
        content_bytes=canonical(content),
        reason=Reason.ADMIN_MIGRATION,
        binding_id=record["binding_id"],
        profile_id=record["profile_id"],
        profile_version=record["profile_version"],
        profile_sha256=record["profile_sha256"],
        note=command.note,
        evidence=command.evidence,
    )
    return command, draft


def removal(back: Return, *, migration: Migration, actor: Actor) -> DeleteDocument:
    """Return the deletion of a document that did not exist before the migration."""
    return DeleteDocument(
        key=back.key,
        actor=actor,
        precondition=IfMatch(back.head.commit.etag),
        idempotency_key=_idempotency_key(back, migration),
        note=migration.notes()[1],
    )


def decommissioning(found: FoundDocument, head: Envelope, *, migration: Migration, actor: Actor) -> DeleteDocument:
    """Return the deletion of a source that the migration has replaced."""
    return DeleteDocument(
        key=found.key,
        actor=actor,
        precondition=IfMatch(head.commit.etag),
        idempotency_key=f"{migration.migration_id}-decommission-{head.commit.sequence}",
        note=migration.notes()[2],
    )


def _idempotency_key(back: Return, migration: Migration) -> str:
    return f"{migration.migration_id}-rollback-{back.head.commit.sequence}"
