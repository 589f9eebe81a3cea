"""Reject a pending item."""

from memnet.domain.catalog import Catalog
from memnet.domain.confirmation import draft_rejection
from memnet.domain.draft import Draft
from memnet.domain.envelope import Envelope
from memnet.domain.errors import DocumentNotFound
from memnet.domain.write import RejectPending, WriteResult
from memnet.operations.commit_governed import commit_governed
from memnet.service import Service


async def reject_pending(command: RejectPending, service: Service) -> WriteResult:
    """Take the item out, exactly once; nothing else changes.

    Raises what `domain.confirmation.draft_rejection` and `commit_change` raise; then nothing has changed.
    """

    def decide(known: Catalog, head: Envelope | None) -> Draft:
        if head is None:
            raise DocumentNotFound()
        return draft_rejection(command, known, head)

    return await commit_governed(command, decide, service)
