"""Make one document compact: merge what says the same, remove what has expired, let sections give way."""

from collections.abc import Sequence

from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.maintenance import profiles_maintaining
from memnet.operations.upkeep.maintain_document import MaintenanceResult, maintain_document
from memnet.service import Service


async def compact_document(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[MaintenanceResult]:
    """Apply the rules of every profile that keeps the document up, in the order of the profiles' ids.

    One outcome a profile; no profile, no outcome. Raises HistoryCorrupt, VaultUnavailable,
    Unavailable.
    """
    return [
        await maintain_document(
            key, rules, plan_compaction, service, reason=Reason.COMPACTION, actor=actor, dry_run=dry_run
        )
        for rules in profiles_maintaining(service.catalog, key)
    ]
