"""Keep one document fresh: remove what has expired, put what is stale up for confirmation."""

from collections.abc import Sequence
from functools import partial

from memnet.domain.document import Actor, DocumentKey
from memnet.domain.freshness import plan_freshness
from memnet.domain.upkeep import caretakers
from memnet.domain.write import Reason
from memnet.operations.tend_document import Tended, tend_document
from memnet.service import Service


async def refresh_document(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[Tended]:
    """Apply the rules of every profile that keeps the document up, in the order of the profiles' ids.

    One outcome a profile; no profile, no outcome. Raises HistoryBroken, VaultUnavailable,
    Unavailable.
    """
    return [
        await tend_document(
            key,
            rules,
            partial(plan_freshness, proposer=actor.principal),
            service,
            reason=Reason.FRESHNESS,
            actor=actor,
            dry_run=dry_run,
        )
        for rules in caretakers(service.catalog, key)
    ]
