"""Keep the documents of all tenants fresh: what a timer runs."""

from collections.abc import Sequence

from memnet.domain.core.scope import Actor, DocumentKey
from memnet.operations.upkeep.maintain_document import MaintenanceResult
from memnet.operations.upkeep.maintain_documents import UpkeepReport, maintain_documents
from memnet.operations.upkeep.refresh_document import refresh_document
from memnet.service import Service


async def refresh_documents(service: Service, *, actor: Actor) -> UpkeepReport:
    """Refresh every document that a profile keeps up; safe beside any number of writers and other runs.

    Raises Unavailable if the listing fails.
    """

    async def tend(key: DocumentKey) -> Sequence[MaintenanceResult]:
        return await refresh_document(key, service, actor=actor)

    return await maintain_documents(tend, service)
