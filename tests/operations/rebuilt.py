"""What `rebuild_documents` finds, with every version, which it gives one at a time."""

from dataclasses import dataclass
from typing import Any

from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents.audit_record import Version
from memnet.domain.history.reconstruction import VerifiedHistory
from memnet.operations.history.verify_history import rebuild_documents
from memnet.stores import AuditLog, DocumentStore
from tests.services import service_of


@dataclass(frozen=True)
class History:
    """A document that was rebuilt, and its versions."""

    rebuilt: VerifiedHistory
    versions: list[Version]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rebuilt, name)


async def rebuilt_histories(scope: UserScope, *, documents: DocumentStore, audit: AuditLog) -> list[History]:
    """Rebuild the user's documents, and keep their versions."""
    versions: dict[tuple[str, DocumentKey | None], list[Version]] = {}

    def begin(doc_id: str, key: DocumentKey | None) -> Any:
        versions[doc_id, key] = []
        return versions[doc_id, key].append

    found = await rebuild_documents(scope, service_of(documents=documents, audit=audit), begin=begin)
    return [History(one, versions.get((one.doc_id, one.key), [])) for one in found]
