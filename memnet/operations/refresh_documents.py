"""Keep the documents of all tenants fresh: what a timer runs."""

from collections.abc import Sequence

from memnet.domain.catalog import Catalog
from memnet.domain.document import Actor, DocumentKey
from memnet.operations.refresh_document import refresh_document
from memnet.operations.tend_document import Tended
from memnet.operations.tend_documents import UpkeepReport, tend_documents
from memnet.ports import Background, Clock, IdGenerator
from memnet.stores import AuditLog, DocumentStore, EventStore, Search


async def refresh_documents(
    *,
    actor: Actor,
    documents: DocumentStore,
    audit: AuditLog,
    events: EventStore,
    search: Search,
    catalog: Catalog,
    clock: Clock,
    ids: IdGenerator,
    background: Background,
) -> UpkeepReport:
    """Refresh every document that a profile keeps up; safe beside any number of writers and other runs.

    Raises Unavailable if the listing fails.
    """

    async def tend(key: DocumentKey) -> Sequence[Tended]:
        return await refresh_document(
            key,
            actor=actor,
            documents=documents,
            audit=audit,
            events=events,
            search=search,
            catalog=catalog,
            clock=clock,
            ids=ids,
            background=background,
        )

    return await tend_documents(tend, documents=documents, catalog=catalog)
