"""The import of an archive: the outcomes, the requests that create documents, and the record of the run."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import BindingNotFound
from memnet.domain.core.scope import Actor, DocumentKey, Json, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKind, dated_key
from memnet.domain.documents.commands import IfAbsent, ReplaceDocument
from memnet.domain.governance.archive import ArchivedDocument, VerifiedArchive
from memnet.domain.governance.archive_entry import StoredItem


class ImportOutcome(StrEnum):
    """The outcome of a document or entry; in a dry run, the outcome it would have."""

    CREATED = "created"
    THERE = "there"
    """It exists and equals the archived one."""
    KEPT = "kept"
    """Another item has its name and was left unchanged."""
    LEFT_OUT = "left_out"
    """It cannot be imported there (docs/export.md)."""


@dataclass(slots=True)
class ImportReport:
    """The outcome of an import."""

    archive: VerifiedArchive
    documents: list[tuple[ArchivedDocument, ImportOutcome]] = field(default_factory=list)
    entries: Counter[tuple[str, ImportOutcome]] = field(default_factory=Counter)

    @property
    def complete(self) -> bool:
        """Whether no document or entry was skipped because another item has its name."""
        outcomes = {outcome for _, outcome in (*self.documents, *self.entries)}
        return ImportOutcome.KEPT not in outcomes


def governing(row: ArchivedDocument, catalog: Catalog, target: UserScope, actor: Actor) -> tuple[str, str]:
    """Return profile and binding of its last writer, or else the first that covers it. Raises BindingNotFound."""
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
    """Return the write, the same for the same archive, that creates a document below another user by this `rule`."""
    origin: dict[str, Json] = {
        "archive_sha256": archive.sha256,
        **archive.manifest.source.model_dump(),
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


def run_record(archive: VerifiedArchive, target: UserScope, actor: Actor, now: datetime, unique: str) -> StoredItem:
    """Return the record of one run: who imported which archive, and when."""
    data = {
        "archive_sha256": archive.sha256,
        "imported_at": to_text(now),
        "principal": actor.principal,
        "source": archive.manifest.source.model_dump(),
        "target": {"tenant_id": target.tenant_id, "user_id": target.user_id},
    }
    return StoredItem(dated_key(target, ItemKind.IMPORTS, now, unique), canonical(data))
