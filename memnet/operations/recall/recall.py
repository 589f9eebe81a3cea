"""Recall: what a user's memory holds about a question, best first, as text under a budget."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from memnet.domain.context.rendering import views
from memnet.domain.core.metric import RECALL_DURATION, RECALL_RESULTS
from memnet.domain.core.scope import DocumentKey
from memnet.domain.history.statements import EntryState
from memnet.domain.recall import packing, pipeline
from memnet.domain.recall.ranking import Scored
from memnet.domain.recall.recalled import Degraded, Recalled, RecallRequest
from memnet.operations.recall.ask_model import ask_for_order, ask_for_wordings
from memnet.operations.recall.gather_wordings import gather_wordings
from memnet.service import Service


async def recall(request: RecallRequest, service: Service) -> Recalled:
    """Return what answers the question, best first, in a text of at most the asked tokens.

    It changes no document; the uses of the returned entries are counted. Raises ProfileNotFound, ProfileForbidden,
    PipelineNotFound, VaultUnavailable, Unavailable (the storage).
    """
    profile = service.catalog.permitted(request.profile_id, request.actor)
    rules = profile.recall
    name, stages = rules.pipeline(request.pipeline)
    began = perf_counter()
    asked = await ask_for_wordings(stages, request.query, profile.profile_id, service, rules.seconds)
    # Both calls of a model together take as long as one may.
    left = max(0.0, rules.seconds - (perf_counter() - began))
    gathered = await gather_wordings(request, asked.found, profile, service)
    order = await ask_for_order(stages, gathered.candidates, gathered.question, profile.profile_id, service, left)
    question = replace(gathered.question, order=order.found)
    was_gathered = perf_counter()
    ranking, traces = pipeline.run(stages, gathered.candidates, question, service.catalog.rankers)
    was_ranked = perf_counter()
    packed = packing.pack(
        ranking,
        profile.rendering,
        views(packing.documents_of(ranking, request.scope), profile, service.catalog.schemas),
        format=request.format or "bullets",
        max_tokens=min(request.max_tokens or rules.max_tokens, rules.max_tokens),
        tokens=rules.tokens,
        limit=request.limit,
    )
    _note(packed.written, request, service)
    degraded = [*gathered.degraded, *([] if asked.is_complete and order.is_complete else [Degraded.MODELS])]
    spent = {"gather": was_gathered - began, "rank": was_ranked - was_gathered, "write": perf_counter() - was_ranked}
    for stage, seconds in spent.items():
        service.telemetry.record(RECALL_DURATION, seconds, stage=stage)
    outcome = "degraded" if degraded else "complete"
    service.telemetry.record(RECALL_RESULTS, len(packed.written), outcome=outcome)
    return Recalled(
        text=packed.text,
        format=request.format or "bullets",
        tokens=packed.tokens,
        results=packed.written,
        left_out=packed.left_out,
        mode=gathered.mode,
        pipeline=name,
        degraded=degraded,
        clarification=gathered.clarification,
        traces=traces if request.debug else (),
    )


def _note(written: Sequence[Scored], request: RecallRequest, service: Service) -> None:
    """Count the uses of the entries in the answer, but not of those that wait for confirmation.

    An answer about an earlier state of the memory uses nothing, and a statement in an event has no use left to count.
    """
    if request.as_of is not None:
        return
    used: dict[DocumentKey, list[str]] = defaultdict(list)
    for candidate in (one.candidate for one in written if one.candidate.state is not EntryState.WAITING):
        place = candidate.place
        if place is not None and place.entry_id is not None and candidate.event_id is None:
            used[DocumentKey(request.scope, place.namespace, place.path)].append(place.entry_id)
    for key, entry_ids in used.items():
        service.usage.note(key, entry_ids)
