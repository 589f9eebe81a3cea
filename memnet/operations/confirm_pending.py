"""Confirm a pending item."""

from memnet.domain.catalog import Catalog
from memnet.domain.confirmation import draft_confirmation
from memnet.domain.draft import Draft
from memnet.domain.envelope import Envelope
from memnet.domain.errors import DocumentNotFound
from memnet.domain.timestamps import to_text
from memnet.domain.write import ConfirmPending, WriteResult
from memnet.operations.commit_governed import commit_governed
from memnet.service import Service


async def confirm_pending(command: ConfirmPending, service: Service) -> WriteResult:
    """Apply what the item proposes to the newest version, exactly once, and take the item out.

    Raises what `domain.confirmation.draft_confirmation` and `commit_change` raise; then nothing has changed.
    """

    def decide(known: Catalog, head: Envelope | None) -> Draft:
        if head is None:
            raise DocumentNotFound()
        return draft_confirmation(command, known, head, now=to_text(service.clock.now()))

    return await commit_governed(command, decide, service)
