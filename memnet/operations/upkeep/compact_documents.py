"""Make the documents of all tenants compact: what a timer runs."""

from collections.abc import Sequence

from memnet.domain.core.scope import Actor, DocumentKey
from memnet.operations.upkeep.compact_document import compact_document
from memnet.operations.upkeep.maintain_document import MaintenanceResult
from memnet.operations.upkeep.maintain_documents import UpkeepReport, maintain_documents
from memnet.service import Service


async def compact_documents(service: Service, *, actor: Actor) -> UpkeepReport:
    """Compact every document that a profile keeps up; safe beside any number of writers and other runs.

    Raises Unavailable if the listing fails.
    """

    async def tend(key: DocumentKey) -> Sequence[MaintenanceResult]:
        return await compact_document(key, service, actor=actor)

    return await maintain_documents(tend, service)
