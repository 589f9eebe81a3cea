"""Keep one document fresh: remove what has expired, put what is stale up for confirmation."""

from collections.abc import Sequence
from functools import partial

from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.upkeep.freshness import plan_freshness
from memnet.domain.upkeep.maintenance import profiles_maintaining
from memnet.operations.upkeep.maintain_document import MaintenanceResult, maintain_document
from memnet.service import Service


async def refresh_document(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[MaintenanceResult]:
    """Apply the rules of every profile that keeps the document up, in the order of the profiles' ids.

    One outcome a profile; no profile, no outcome. Raises HistoryCorrupt, VaultUnavailable,
    Unavailable.
    """
    return [
        await maintain_document(
            key,
            rules,
            partial(plan_freshness, proposer=actor.principal),
            service,
            reason=Reason.FRESHNESS,
            actor=actor,
            dry_run=dry_run,
        )
        for rules in profiles_maintaining(service.catalog, key)
    ]
