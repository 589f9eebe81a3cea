"""Carry a proposal over to the newest version of its document."""

from memnet.domain.core.errors import BindingNotFound
from memnet.domain.documents import envelope
from memnet.domain.documents.rebase import ABSENT, ConflictCause, RebaseConflict, rebase
from memnet.domain.replay.proposal import Proposal, RebaseResult
from memnet.service import Service


async def rebase_proposal(proposal: Proposal, service: Service) -> RebaseResult:
    """Read the document and rebase the proposed operations, always from the version they were proposed on.

    A document that is not there is taken as the binding's initial content, as a patch would create it. Raises
    ProfileNotFound, BindingNotFound, HistoryCorrupt, Unavailable.
    """
    profile = service.catalog.profile(proposal.profile_id)
    stored = await service.documents.get(proposal.key)
    head = envelope.load(stored.data) if stored else None
    if head is not None and not head.deleted:
        etag, content = head.commit.etag, head.content
    elif proposal.base_etag is not None:
        # Deleted since: to create it anew would bring back what somebody wanted gone.
        return RebaseResult(None, None, RebaseConflict(0, "", ConflictCause.GONE, proposal.base, ABSENT))
    else:
        binding = profile.binding(proposal.binding_id)
        if binding is None:
            raise BindingNotFound
        etag, content = None, binding.initial_content or {}
    rules = profile.upkeep_rules.get(proposal.binding_id, ())
    return RebaseResult(etag, content, rebase(proposal.ops, proposal.base, content, rules))
