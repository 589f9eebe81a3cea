"""Apply or undo a retraction: the work of its job, which a crash at any point leaves resumable."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from memnet.domain.catalog.retention_policy import batches
from memnet.domain.core.errors import PlannerCannotApply, Unavailable
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.job import Job
from memnet.domain.core.metric import RETRACTED_VALUES, RETRACTIONS
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.commands import WriteResult
from memnet.domain.documents.entry import ALSO
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import (
    DocumentPlan,
    DocumentRequest,
    Retraction,
    RetractionStatus,
    ValueFate,
    retraction_key,
)
from memnet.domain.governance.retraction_reach import RESTORES, Reach, citation
from memnet.domain.governance.waiting import WaitingKind
from memnet.domain.governance.withdrawn import Withdrawal
from memnet.operations.governance.legal_holds import check_user_hold
from memnet.operations.governance.retraction_documents import (
    DocumentChange,
    asks_for_another,
    find_change,
    find_documents,
    find_reach,
    find_undo,
    send,
)
from memnet.operations.governance.withdrawn_items import apply_item, find_replays, plan_items, undo_item
from memnet.operations.replay.closed_sources import close_source, open_source, read_closed_sources
from memnet.operations.replay.jobs import unmark_job
from memnet.operations.replay.resume_retraction import resume_retraction
from memnet.operations.replay.retraction_record import (
    LoadedRetraction,
    load_retraction,
    write_plan,
    write_retraction,
)
from memnet.paging import retry_conflicts
from memnet.service import Service

MAX_ROUNDS = 64
"""The reads of the record by one call. Each further one follows a write by another worker."""
MAX_SCANS = 8
"""How often one run looks at all documents: again after each round in which one had to be changed."""
MAX_PATCHES = 64
"""The patches of one document in one run. Each further one follows a write by another writer."""
BATCH = 64
"""The number of items that are taken out between two reads of the holds."""


Find = Callable[[DocumentKey, DocumentPlan], Awaitable[DocumentChange | None]]
"""Returns what is to be done to a document as it is now."""


async def run_retraction(job: Job, service: Service) -> Retraction:
    """Do the remaining work of a retraction and return its record; one that does not run is returned unchanged.

    Applying closes the source, takes out its items, then changes the documents, and looks at all of them again until
    no value rests on the source alone. Each request is stored before it is sent, so that a document is changed once.
    Undoing goes the other way round.

    Raises:
        RetractionNotFound: There is none.
        UserHeld: A legal hold covers the user; the holds are read again before each batch of items and each patch.
        PlannerCannotApply: The planner applies it, and a profile with a document that has a value of the source only
            since the plan asks for another principal.
        DecryptionFailed, HistoryCorrupt, ErasureRunning: It cannot succeed.
        VaultUnavailable, Unavailable: The same call later continues.
    """
    retraction = await retry_conflicts(partial(_continue, job, service), attempts=MAX_ROUNDS)
    await unmark_job(job, service)
    return retraction


async def fail_retraction(job: Job, reason: str, service: Service) -> Retraction | None:
    """Record that the retraction failed and why (a code), and remove its marker; `:apply` or `:undo` continues it.

    One that does not run stays unchanged; None if there is none. Raises HistoryCorrupt, Unavailable.
    """

    async def fail() -> Retraction | None:
        stored = await service.records.read(retraction_key(job.scope, job.job_id))
        found = retractions.load(stored.data) if stored else None
        if stored is None or found is None or not found.is_running:
            return found
        await service.waiting.mark(job.scope, WaitingKind.RETRACTION, job.job_id)
        found = found.end(RetractionStatus.FAILED, service.clock.now(), reason)
        await service.records.write(found.key, retractions.dump(found), replaces=stored.storage_etag)
        service.telemetry.record(RETRACTIONS, 1, outcome=found.status.value)
        return found

    found = await retry_conflicts(fail)
    await unmark_job(job, service)
    return found


async def _continue(job: Job, service: Service) -> Retraction:
    """Raises StoreConflict after a write by another worker, or an own write that was applied unseen."""
    loaded = await load_retraction(job, service)
    if not loaded.retraction.is_running:
        return loaded.retraction
    await check_user_hold(job.scope, service)
    if loaded.retraction.status is RetractionStatus.APPLYING:
        loaded = await _apply(loaded, service)
        unresolved = loaded.retraction.counts[ValueFate.UNRESOLVED.value]
        status = RetractionStatus.PARTIAL if unresolved else RetractionStatus.APPLIED
    else:
        loaded = await _undo(loaded, service)
        status = RetractionStatus.UNDONE
    ended = await write_retraction(
        replace(loaded, retraction=loaded.retraction.end(status, service.clock.now())), service
    )
    service.telemetry.record(RETRACTIONS, 1, outcome=status.value)
    if status is not RetractionStatus.UNDONE:
        for fate in ValueFate:
            service.telemetry.record(RETRACTED_VALUES, ended.retraction.counts[fate.value], outcome=fate.value)
    return ended.retraction


def withdrawal_of(retraction: Retraction) -> Withdrawal:
    """Return the source and the retraction that closes it."""
    return Withdrawal(retraction.retraction_id, retraction.source)


async def _apply(loaded: LoadedRetraction, service: Service) -> LoadedRetraction:
    scope, withdrawal = loaded.retraction.scope, withdrawal_of(loaded.retraction)
    await close_source(scope, withdrawal, service)
    replay_ids = {*loaded.plan.replay_ids, *await find_replays(scope, withdrawal.source, service)}
    found = await plan_items(scope, withdrawal.source, service)
    # An item has one fate, the newest: what was to be stripped can have nothing else left by now.
    items = tuple({(one.kind, one.name): one for one in [*loaded.plan.items, *found]}.values())
    if items != loaded.plan.items or len(replay_ids) > len(loaded.plan.replay_ids):
        plan = replace(loaded.plan, items=items, replay_ids=tuple(sorted(replay_ids)))
        loaded = await write_plan(loaded, plan, service)
    for batch in batches(items, BATCH):
        await check_user_hold(scope, service)
        for item in batch:
            await apply_item(scope, item, withdrawal, service)
    reach = await find_reach(scope, withdrawal.source, replay_ids, service)

    planned = loaded.retraction.planned_by == loaded.retraction.applied_by

    async def taking(key: DocumentKey, _: DocumentPlan) -> DocumentChange | None:
        await check_user_hold(scope, service)
        if planned and asks_for_another(key, service.catalog):
            # The document has a value of the source only since the plan.
            raise PlannerCannotApply()
        return await find_change(key, reach=reach, service=service)

    for index, document in enumerate(loaded.plan.documents):
        if not document.is_done:
            loaded = await _settle(loaded, index, taking, service)
    return await _take_rest(loaded, reach, taking, service)


async def _take_rest(loaded: LoadedRetraction, reach: Reach, taking: Find, service: Service) -> LoadedRetraction:
    """Look at all documents until nothing is left to take, and report what stays."""
    for _ in range(MAX_SCANS):
        seen = await find_documents(loaded.retraction.scope, reach, service)
        found = [one for one in seen if one.ops]
        if not found:
            # Also what has come to stay since the plan.
            plan = loaded.plan.with_unresolved([replace(one.plan, is_done=True) for one in seen])
            return loaded if plan is loaded.plan else await write_plan(loaded, plan, service)
        # Written since the plan. A second patch of a document has a row of its own, so that an undo brings both back.
        for one in found:
            documents = (*loaded.plan.documents, one.plan)
            loaded = await write_plan(loaded, replace(loaded.plan, documents=documents), service)
            loaded = await _settle(loaded, len(documents) - 1, taking, service)
    # Other writers still write what rests on the source.
    raise Unavailable(dependency="blob_storage")


async def _undo(loaded: LoadedRetraction, service: Service) -> LoadedRetraction:
    """Bring back the newest patch of a document first."""
    scope, withdrawal = loaded.retraction.scope, withdrawal_of(loaded.retraction)

    def restoring(key: DocumentKey, plan: DocumentPlan) -> Awaitable[DocumentChange | None]:
        return find_undo(key, plan, service)

    for index, document in reversed(list(enumerate(loaded.plan.documents))):
        if not document.is_done:
            loaded = await _with_result(loaded, index, service)
            loaded = await _settle(loaded, index, restoring, service, undoes=True)
    # Opened before its replays are: one that is queued again may be started at once.
    await open_source(scope, withdrawal.retraction_id, service)
    for item in reversed(loaded.plan.items):
        await undo_item(scope, item, withdrawal, service)
    for other in await read_closed_sources(scope, service.records):
        # What has come back can rest on the source of another retraction, too.
        await resume_retraction(scope, other.retraction_id, service)
    return loaded


async def _with_result(loaded: LoadedRetraction, index: int, service: Service) -> LoadedRetraction:
    """Store the change of a patch that was applied by a worker that stopped before it had stored that."""
    document = loaded.plan.documents[index]
    if document.request is None or document.change_id is not None:
        return loaded
    sent = await _send(loaded.retraction, document, document.request, None, service, undoes=False)
    if sent is None:
        return loaded
    found = replace(document, change_id=sent.change_id)
    return await write_plan(loaded, loaded.plan.with_document(index, found), service)


async def _settle(
    loaded: LoadedRetraction, index: int, find: Find, service: Service, *, undoes: bool = False
) -> LoadedRetraction:
    """Change one document, and store that it was changed. A document that has moved is planned again."""
    retraction = loaded.retraction
    for _ in range(MAX_PATCHES):
        document = loaded.plan.documents[index]
        key, request = document.key(retraction.scope), document.undo if undoes else document.request
        change = await find(key, document)
        if request is None and change is not None and change.gate is not None and change.ops:
            request = change.request(0, _evidence(retraction, undoes=undoes))
            document = _with_request(change.plan, request, undoes=undoes)
            loaded = await write_plan(loaded, loaded.plan.with_document(index, document), service)
        if request is None:
            return await _close(loaded, index, _unchanged(document, change, undoes=undoes), service)
        sent = await _send(loaded.retraction, document, request, change, service, undoes=undoes)
        if sent is not None:
            change_id = sent.change_id
            done = replace(document, undo_change_id=change_id) if undoes else replace(document, change_id=change_id)
            return await _close(loaded, index, done, service)
        if change is None or change.gate is None or not change.ops:
            # It was not applied, and nothing is left to do.
            document = _unchanged(document, change, undoes=undoes)
            return await _close(loaded, index, _with_request(document, None, undoes=undoes), service)
        request = change.request(request.number + 1, _evidence(retraction, undoes=undoes))
        document = _with_request(change.plan, request, undoes=undoes)
        loaded = await write_plan(loaded, loaded.plan.with_document(index, document), service)
    raise Unavailable(dependency="blob_storage")


async def _send(
    retraction: Retraction,
    plan: DocumentPlan,
    request: DocumentRequest,
    change: DocumentChange | None,
    service: Service,
    *,
    undoes: bool,
) -> WriteResult | None:
    key = request.key(retraction.retraction_id, undoes=undoes)
    return await send(plan.key(retraction.scope), plan, request, change, service, idempotency_key=key)


def _unchanged(plan: DocumentPlan, change: DocumentChange | None, *, undoes: bool) -> DocumentPlan:
    """Return the row of a document that is not changed."""
    if change is not None:
        return change.plan
    return plan.without_undo() if undoes else plan


def _with_request(plan: DocumentPlan, request: DocumentRequest | None, *, undoes: bool) -> DocumentPlan:
    return replace(plan, undo=request) if undoes else replace(plan, request=request)


async def _close(loaded: LoadedRetraction, index: int, plan: DocumentPlan, service: Service) -> LoadedRetraction:
    return await write_plan(loaded, loaded.plan.with_document(index, replace(plan, is_done=True)), service)


def _evidence(retraction: Retraction, *, undoes: bool) -> EvidenceMembers:
    """Return the evidence of the patches. That of an undo names the source: what comes back rests on it again."""
    if not undoes:
        return {"retraction_id": retraction.retraction_id, "applied_by": retraction.applied_by}
    cited = citation(retraction.scope, retraction.source)
    by = {"retraction_id": retraction.retraction_id, "undone_by": retraction.undone_by}
    return {**by, RESTORES: retraction.source.members(), ALSO: [cited]}
