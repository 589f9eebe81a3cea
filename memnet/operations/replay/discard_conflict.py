"""Decide that what stands in the document stays, and what was proposed does not come."""

from dataclasses import replace

from memnet.domain.catalog.rules import STRICTEST
from memnet.domain.core.access import Role
from memnet.domain.core.errors import BindingNotFound, ConflictClosed, ProfileForbidden, ProfileNotFound, Unavailable
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents.commands import WriteResult
from memnet.domain.documents.sensitive import check_remarks
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import Asked, Conflict, ConflictStatus, Decision, Versions, discarded, resolved
from memnet.operations.replay.read_conflict import HeldConflict, read_conflict
from memnet.operations.replay.try_proposal import Writing, try_proposal
from memnet.operations.replay.unmark_job import unmark_job
from memnet.ports import StoreConflict
from memnet.service import Service

ATTEMPTS = 8


async def discard_conflict(
    scope: UserScope, conflict_id: str, service: Service, *, actor: Actor, note: str | None
) -> tuple[Conflict, Versions | None]:
    """Close it, noting who decided so and why, and return it.

    A request of an interrupted retry that was applied all the same cannot be discarded: then it is resolved, and that
    is what is told. Raises FieldDenied for a sensitive note, InvalidIdentifier, ConflictNotFound, ConflictClosed,
    HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    check_remarks({"note": note}, STRICTEST)
    worker = Actor(service.worker_principal, frozenset({Role.REPLAY}))
    writing = Writing(worker, service)
    for _ in range(ATTEMPTS):
        held = await read_conflict(scope, conflict_id, vault=service.vault)
        if held.conflict.status is not ConflictStatus.OPEN:
            raise ConflictClosed(status=held.conflict.status.value)
        applied = await _applied(held, writing)
        now = service.clock.now()
        if applied is not None:
            closed = resolved(held.conflict, applied.change_id, now, redirected=bool(applied.redirected))
        else:
            closed = discarded(held.conflict, Decision(Asked.DISCARD, actor.principal, to_text(now), note))
        try:
            await service.records.write(closed.key, conflicts.dump(closed), replaces=held.tag)
        except StoreConflict:
            continue
        service.background.start("unmark conflict", unmark_job(closed.job, service))
        if applied is not None:
            raise ConflictClosed(status=closed.status.value)
        return closed, held.versions
    raise Unavailable(dependency="blob_storage")


async def _applied(held: HeldConflict, writing: Writing) -> WriteResult | None:
    """What became of a request that a retry wrote down and did not report on; None if it was not applied."""
    if held.versions is None or held.versions.request is None:
        return None
    try:
        seen = await try_proposal(held.versions.proposal, held.versions.request, writing=writing, dry_run=True)
    except (ProfileNotFound, ProfileForbidden, BindingNotFound):
        return None
    return replace(seen, dry_run=False) if isinstance(seen, WriteResult) and seen.replayed else None
