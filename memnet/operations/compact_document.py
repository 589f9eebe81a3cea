"""Make one document compact: merge what says the same, remove what has expired, let sections give way."""

from collections.abc import Sequence

from memnet.domain.compaction import plan_compaction
from memnet.domain.document import Actor, DocumentKey
from memnet.domain.upkeep import caretakers
from memnet.domain.write import Reason
from memnet.operations.tend_document import Tended, tend_document
from memnet.service import Service


async def compact_document(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[Tended]:
    """Apply the rules of every profile that keeps the document up, in the order of the profiles' ids.

    One outcome a profile; no profile, no outcome. Raises HistoryBroken, VaultUnavailable,
    Unavailable.
    """
    return [
        await tend_document(
            key, rules, plan_compaction, service, reason=Reason.COMPACTION, actor=actor, dry_run=dry_run
        )
        for rules in caretakers(service.catalog, key)
    ]
