"""Make the documents of all tenants compact: what a timer runs."""

from collections.abc import Sequence

from memnet.domain.document import Actor, DocumentKey
from memnet.operations.compact_document import compact_document
from memnet.operations.tend_document import Tended
from memnet.operations.tend_documents import UpkeepReport, tend_documents
from memnet.service import Service


async def compact_documents(service: Service, *, actor: Actor) -> UpkeepReport:
    """Compact every document that a profile keeps up; safe beside any number of writers and other runs.

    Raises Unavailable if the listing fails.
    """

    async def tend(key: DocumentKey) -> Sequence[Tended]:
        return await compact_document(key, service, actor=actor)

    return await tend_documents(tend, service)
