"""A proposal is rebased, sent as one write, and kept as a conflict."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import BindingNotFound, ProfileNotFound
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.rebase import ConflictCause, RebaseConflict, Rebased
from memnet.domain.replay.conflict import BACKOFF, ConflictStatus
from memnet.domain.replay.proposal import Request
from memnet.operations.replay.proposals import LostRace, create_conflict, rebase_proposal, try_proposal
from tests.domain.replay_samples import OPS, details, proposal
from tests.domain.samples import CATALOG
from tests.operations.replay_scenario import ALPHA, SCOPE, WORKER, DownQueue, World, put
from tests.services import service_of

EMPTY = {"summary": "", "facets": {}, "recent_notes": []}


async def attempt(world: World, request: Request, *, dry_run: bool = False, **members: Any) -> Any:
    found = await try_proposal(
        proposal(**members), request, service_of(**world.writing(), worker_principal=WORKER), dry_run=dry_run
    )
    await world.background.drain()
    return found


async def test_a_lost_race_has_its_code() -> None:
    world = World()
    await world.create_project()
    head = await world.live(ALPHA, put("/summary", "Another"))
    assert await attempt(world, Request(0, None, OPS)) == LostRace(ErrorCode.DOCUMENT_EXISTS)
    await world.live(ALPHA, put("/summary", "A third"))
    assert await attempt(world, Request(1, head.etag, OPS)) == LostRace(ErrorCode.ETAG_MISMATCH)
    missing = await attempt(World(), Request(1, head.etag, OPS))
    assert missing == LostRace(ErrorCode.DOCUMENT_NOT_FOUND)


@pytest.mark.parametrize(
    ("members", "error"), [({"profile_id": "none"}, ProfileNotFound), ({"binding_id": "none"}, BindingNotFound)]
)
async def test_what_another_release_may_know_goes_up(members: Any, error: Any) -> None:
    """A newer worker may have planned it: it is retried, and not refused permanently."""
    with pytest.raises(error):
        await attempt(World(), Request(0, None, OPS), **members)


async def rebased(world: World, catalog: Any = CATALOG, **members: Any) -> Any:
    return await rebase_proposal(proposal(**members), service_of(documents=world.documents, catalog=catalog))


async def test_a_document_that_is_not_there_is_its_initial_content() -> None:
    carried = await rebased(World(), base={"summary": "", "facets": {}, "recent_notes": []}, base_etag=None)
    assert (carried.etag, carried.content) == (None, {"summary": "", "facets": {}, "recent_notes": []})
    assert carried.rebased == Rebased(OPS, ())


async def test_a_binding_that_is_gone_is_said_to_be() -> None:
    profile = CATALOG.profile("project-copilot-v1")
    kept = tuple(binding for binding in profile.document_bindings if binding.binding_id != "project_doc")
    changed = profile.model_copy(update={"document_bindings": kept})
    catalog = replace(CATALOG, profiles=MappingProxyType({profile.profile_id: changed}))
    with pytest.raises(BindingNotFound):
        await rebased(World(), catalog, key=DocumentKey(SCOPE, "projects", "beta.json"), base_etag=None)


async def test_a_document_deleted_since_is_not_brought_back() -> None:
    carried = await rebased(World())
    assert isinstance(carried.rebased, RebaseConflict)
    assert (carried.etag, carried.rebased.why) == (None, ConflictCause.GONE)


async def create(world: World, **ports: Any) -> None:
    chosen = {"vault": world.vault, "marks": world.marks, "queue": world.queue}
    await create_conflict(proposal(), details(), service_of(**chosen | ports), rebases=1)


async def test_it_is_marked_stored_and_sent_once() -> None:
    world = World()
    await create(world)
    await create(world)
    ((conflict, versions),) = await world.conflicts()
    assert (conflict.conflict_id, conflict.status, conflict.reason) == ("cfl-rpl-1-1", ConflictStatus.OPEN, "changed")
    assert versions.proposal == proposal()
    assert versions.details == details()
    assert world.queue.sent == [(conflict.job, 1, world.clock.now() + BACKOFF[0])]
    assert await world.marked() == [conflict.job]


async def test_nothing_of_what_was_proposed_is_readable() -> None:
    world = World()
    await create(world)
    for data in world.records_at_rest():
        assert b"rewrite" not in data


async def test_without_a_broker_it_is_marked_all_the_same() -> None:
    world = World()
    await create(world, queue=DownQueue())
    ((conflict, _),) = await world.conflicts()
    assert await world.marked() == [conflict.job]
