"""Plan, apply, undo, get and list retractions: a source of memory is taken back."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.rules import STRICTEST
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import (
    ETagMismatch,
    HistoryCorrupt,
    IdempotencyKeyReused,
    MalformedRequest,
    PlannerCannotApply,
    RetractionClosed,
    RetractionNotFound,
    UserNotFound,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, ETag, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents.sensitive import check_remarks
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import (
    Retraction,
    RetractionPlan,
    RetractionStatus,
    retraction_id_of,
)
from memnet.domain.governance.source import Source, check_source
from memnet.domain.governance.waiting import WaitingKind
from memnet.operations.governance.known_user import is_known
from memnet.operations.governance.legal_holds import check_user_hold
from memnet.operations.governance.retraction_documents import asks_for_another, find_documents, find_reach
from memnet.operations.governance.withdrawn_items import find_replays, plan_items
from memnet.operations.replay.resume_retraction import begin_retraction
from memnet.operations.replay.retraction_record import load_retraction
from memnet.paging import bounded
from memnet.ports import Page, StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing

PAGE = 100
Check = Callable[[Retraction], bool]
"""Whether there is anything to do. Raises what refuses it."""


@dataclass(frozen=True, slots=True)
class RetractionView:
    """A retraction and its plan."""

    retraction: Retraction
    plan: RetractionPlan


async def plan_retraction(
    scope: UserScope, source: Source, reason: str, service: Service, *, actor: Actor, idempotency_key: str
) -> RetractionView:
    """Find what rests on a source, and store what would be taken back. Nothing else changes.

    A repeated request returns the same retraction. Each document of the user costs one look.

    Raises:
        MalformedRequest, InvalidIdentifier: The source or the reason is not valid.
        IdempotencyKeyReused: The key belongs to a request for another source or reason.
        FieldDenied: The reason holds sensitive content.
        UserHeld: A legal hold covers the user.
        UserNotFound: Nothing is stored about the user.
        HistoryCorrupt, ErasureRunning, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    check_source(source)
    if not 1 <= len(reason) <= retractions.MAX_REASON:
        raise MalformedRequest(f"The reason must have 1 to {retractions.MAX_REASON} characters.", param="/reason")
    check_remarks({"note": reason}, STRICTEST)
    request_hash = sha256_hex(canonical([source.members(), reason]))[:32]
    retraction_id = retraction_id_of(scope, actor.principal, idempotency_key)
    job = Job(JobKind.RETRACTION, scope.tenant_id, scope.user_id, retraction_id)
    known = await _known(job, request_hash, service)
    if known is not None:
        return known
    await check_user_hold(scope, service)
    plan = await _plan(scope, source, service)
    if not plan.documents and not plan.items and not await is_known(scope, service):
        raise UserNotFound()
    now = to_text(service.clock.now())
    planned = Retraction(
        scope=scope,
        retraction_id=retraction_id,
        source=source,
        reason=reason,
        status=RetractionStatus.PLANNED,
        etag=plan.etag(retraction_id),
        counts=plan.counts(),
        planned_by=actor.principal,
        created_at=now,
        updated_at=now,
        needs_another=_needs_another(scope, plan, service.catalog),
        request_hash=request_hash,
    )
    sealed = await KeyRing(service.vault).seal_member(planned.key, plan.dump())
    planned = replace(planned, sealed=sealed)
    await service.waiting.mark(scope, WaitingKind.RETRACTION, retraction_id)
    try:
        await service.records.write(planned.key, retractions.dump(planned), replaces=None)
    except StoreConflict:
        known = await _known(job, request_hash, service)
        if known is None:
            raise HistoryCorrupt("The stored retraction cannot be read.") from None
        return known
    return RetractionView(planned, plan)


async def apply_retraction(
    scope: UserScope, retraction_id: str, etag: ETag | None, service: Service, *, actor: Actor
) -> Retraction:
    """Let a worker apply a planned retraction, or continue a failed one; one that is applied stays unchanged.

    `etag` is the tag of the plan that the actor has read; None: whichever it is.

    Raises:
        RetractionNotFound.
        ETagMismatch: The plan is another one.
        PlannerCannotApply: A profile asks for another principal than the planner.
        RetractionClosed: It is undone, or being undone.
        UserHeld: A legal hold covers the user.
        InvalidIdentifier, HistoryCorrupt, ErasureRunning, DecryptionFailed, VaultUnavailable, Unavailable.
    """

    def check(found: Retraction) -> bool:
        if etag is not None and found.etag != etag:
            raise ETagMismatch("The plan of the retraction is another one.", latest_etag=found.etag)
        if found.undone_by is not None:
            raise RetractionClosed(status=found.status.value)
        if found.needs_another and actor.principal == found.planned_by:
            raise PlannerCannotApply()
        return found.waits

    return await _begin(scope, retraction_id, RetractionStatus.APPLYING, check, service, actor=actor)


async def undo_retraction(scope: UserScope, retraction_id: str, service: Service, *, actor: Actor) -> Retraction:
    """Let a worker bring back what a retraction took, where no other write has changed it since, and open its source.

    One that is undone stays unchanged. Raises as `apply_retraction`, but
    not ETagMismatch and PlannerCannotApply; RetractionClosed: it is being applied.
    """

    def check(found: Retraction) -> bool:
        if found.status is RetractionStatus.APPLYING:
            raise RetractionClosed(status=found.status.value)
        return not (found.status is RetractionStatus.UNDONE or found.is_running)

    return await _begin(scope, retraction_id, RetractionStatus.UNDOING, check, service, actor=actor)


async def get_retraction(scope: UserScope, retraction_id: str, service: Service) -> RetractionView:
    """Return a retraction with its plan.

    Raises InvalidIdentifier, RetractionNotFound, HistoryCorrupt, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    loaded = await load_retraction(Job(JobKind.RETRACTION, scope.tenant_id, scope.user_id, retraction_id), service)
    return RetractionView(loaded.retraction, loaded.plan)


async def list_retractions(scope: UserScope, service: Service, *, limit: int, cursor: str | None) -> Page[Retraction]:
    """Return the retractions of a user without their plans, by id, which is not ordered by time; a page may be short.

    Raises InvalidCursor, HistoryCorrupt, Unavailable.
    """

    async def read(key: ItemKey) -> Retraction | None:
        stored = await service.records.read(key)
        return retractions.load(stored.data) if stored else None

    page = await service.records.list(scope, ItemKind.RETRACTIONS, limit=min(limit, PAGE), cursor=cursor)
    return Page([found for found in await bounded(read, page.items) if found is not None], page.next_cursor)


async def _known(job: Job, request_hash: str, service: Service) -> RetractionView | None:
    try:
        loaded = await load_retraction(job, service)
    except RetractionNotFound:
        return None
    if loaded.retraction.request_hash != request_hash:
        message = "This Idempotency-Key belongs to another plan of this user."
        raise IdempotencyKeyReused(message, retraction_id=job.job_id)
    return RetractionView(loaded.retraction, loaded.plan)


async def _plan(scope: UserScope, source: Source, service: Service) -> RetractionPlan:
    items = await plan_items(scope, source, service)
    replay_ids = await find_replays(scope, source, service)
    found = await find_documents(scope, await find_reach(scope, source, replay_ids, service), service)
    return RetractionPlan(tuple(one.plan for one in found), tuple(items), tuple(replay_ids))


def _needs_another(scope: UserScope, plan: RetractionPlan, catalog: Catalog) -> bool:
    """Return whether a profile with a planned document asks that another principal applies the plan."""
    return any(asks_for_another(document.key(scope), catalog) for document in plan.documents)


async def _begin(
    scope: UserScope, retraction_id: str, status: RetractionStatus, check: Check, service: Service, *, actor: Actor
) -> Retraction:
    async def admit(found: Retraction) -> bool:
        has_work = check(found)
        if has_work:
            await check_user_hold(scope, service)
        return has_work

    job = Job(JobKind.RETRACTION, scope.tenant_id, scope.user_id, retraction_id)
    return await begin_retraction(job, status, actor.principal, admit, service)
