"""Confirm a pending item."""

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import DocumentNotFound
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents.commands import ConfirmPending, WriteResult
from memnet.domain.documents.confirmation import decide_confirmation
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision
from memnet.operations.documents.commit_governed import commit_governed
from memnet.service import Service


async def confirm_pending(command: ConfirmPending, service: Service) -> WriteResult:
    """Apply what the item proposes to the newest version, exactly once, and take the item out.

    Raises what `domain.confirmation.decide_confirmation` and `commit_change` raise; then nothing has changed.
    """

    def decide(known: Catalog, head: Envelope | None) -> Decision:
        if head is None:
            raise DocumentNotFound()
        return decide_confirmation(command, known, head, now=to_text(service.clock.now()))

    return await commit_governed(command, decide, service)
