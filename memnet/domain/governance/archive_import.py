"""The import of an archive: the outcome of each part, the requests that create documents, the record of the run."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import BindingNotFound
from memnet.domain.core.scope import Actor, DocumentKey, Json, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKind, dated_key
from memnet.domain.documents.commands import IfAbsent, ReplaceDocument
from memnet.domain.governance.archive import ArchivedDocument, Source, VerifiedArchive
from memnet.domain.governance.archive_entry import StoredRecord


class ImportOutcome(StrEnum):
    """The outcome of a part; on a dry run, the outcome it would have."""

    CREATED = "created"
    THERE = "there"
    """It exists already, as it is in the archive."""
    KEPT = "kept"
    """Another item has its name, and was left as it is."""
    LEFT_OUT = "left_out"
    """It cannot be imported there: see docs/export.md."""


@dataclass(slots=True)
class ImportReport:
    """The outcome of an import."""

    archive: VerifiedArchive
    documents: list[tuple[ArchivedDocument, ImportOutcome]] = field(default_factory=list)
    entries: Counter[tuple[str, ImportOutcome]] = field(default_factory=Counter)
    """How many entries of a kind had an outcome."""

    @property
    def complete(self) -> bool:
        """Whether no part was refused because another item has its name."""
        fates = {fate for _, fate in self.documents} | {fate for _, fate in self.entries}
        return ImportOutcome.KEPT not in fates


def governing(row: ArchivedDocument, catalog: Catalog, target: UserScope, actor: Actor) -> tuple[str, str]:
    """Return the profile and the binding that an archived document is created by: those that wrote it last.

    If only a baseline is left of its history, use the first that fits the document. Raises BindingNotFound.
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


def run_record(archive: VerifiedArchive, target: UserScope, actor: Actor, now: datetime, unique: str) -> StoredRecord:
    """The record of one run: who imported which archive, and when."""
    source = archive.manifest.source
    data = {
        "archive_sha256": archive.sha256,
        "imported_at": to_text(now),
        "principal": actor.principal,
        "source": {"tenant_id": source.tenant_id, "user_id": source.user_id},
        "target": {"tenant_id": target.tenant_id, "user_id": target.user_id},
    }
    return StoredRecord(dated_key(target, ItemKind.IMPORTS, now, unique), canonical(data))
