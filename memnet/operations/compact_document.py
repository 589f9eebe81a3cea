"""Make one document compact: merge what says the same, remove what has expired, let sections give way."""

from collections.abc import Sequence

from memnet.domain.catalog import Catalog
from memnet.domain.compaction import plan_compaction
from memnet.domain.document import Actor, DocumentKey
from memnet.domain.upkeep import caretakers
from memnet.domain.write import Reason
from memnet.operations.tend_document import Tended, tend_document
from memnet.ports import Background, Clock, IdGenerator
from memnet.stores import AuditLog, DocumentStore, EventStore, Search


async def compact_document(
    key: DocumentKey,
    *,
    actor: Actor,
    dry_run: bool = False,
    documents: DocumentStore,
    audit: AuditLog,
    events: EventStore,
    search: Search,
    catalog: Catalog,
    clock: Clock,
    ids: IdGenerator,
    background: Background,
) -> Sequence[Tended]:
    """Apply the rules of every profile that keeps the document up, in the order of the profiles' ids.

    One outcome a profile; no profile, no outcome. Raises HistoryBroken, VaultUnavailable,
    Unavailable.
    """
    return [
        await tend_document(
            key,
            rules,
            plan_compaction,
            reason=Reason.COMPACTION,
            actor=actor,
            dry_run=dry_run,
            documents=documents,
            audit=audit,
            events=events,
            search=search,
            catalog=catalog,
            clock=clock,
            ids=ids,
            background=background,
        )
        for rules in caretakers(catalog, key)
    ]
