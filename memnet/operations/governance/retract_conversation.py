"""Take a whole conversation back: the short form of planning and applying a retraction."""

from memnet.domain.core.scope import Actor, UserScope, check_identifier
from memnet.domain.governance.source import Source, SourceKind
from memnet.operations.governance.retractions import RetractionView, apply_retraction, plan_retraction
from memnet.service import Service


async def retract_conversation(
    scope: UserScope,
    conversation_id: str,
    reason: str,
    service: Service,
    *,
    actor: Actor,
    idempotency_key: str,
    dry_run: bool = False,
) -> RetractionView:
    """Plan the retraction of a conversation and have a worker apply it; return it with its plan.

    It is only planned, and waits to be applied, with `dry_run` or if a profile asks for another principal. A repeated
    request returns the same retraction as it is now. Raises what `plan_retraction` and `apply_retraction` raise.
    """
    source = Source(kind=SourceKind.CONVERSATION, conversation_id=check_identifier("conversation_id", conversation_id))
    view = await plan_retraction(scope, source, reason, service, actor=actor, idempotency_key=idempotency_key)
    planned = view.retraction
    if dry_run or planned.undone_by is not None or (planned.needs_another and actor.principal == planned.planned_by):
        return view
    begun = await apply_retraction(scope, planned.retraction_id, planned.etag, service, actor=actor)
    return RetractionView(begun, view.plan)
