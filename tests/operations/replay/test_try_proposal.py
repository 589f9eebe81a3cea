"""One request of a proposal through the governed write."""

from typing import Any

import pytest

from memnet.domain.core.access import Role
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import BindingNotFound, ProfileNotFound
from memnet.domain.core.scope import Actor
from memnet.domain.documents.commands import WriteResult
from memnet.domain.replay.proposal import Request
from memnet.operations.replay.try_proposal import Raced, Refused, Writing, try_proposal
from tests.domain.replay_samples import OPS, proposal
from tests.operations.replay_scenario import ALPHA, WORKER, World, put
from tests.services import service_of

EMPTY = {"summary": "", "facets": {}, "recent_notes": []}


def writing(world: World) -> Writing:
    return Writing(actor=Actor(WORKER, frozenset({Role.REPLAY})), service=service_of(**world.writing()))


async def attempt(world: World, request: Request, *, dry_run: bool = False, **members: Any) -> Any:
    found = await try_proposal(proposal(**members), request, writing=writing(world), dry_run=dry_run)
    await world.background.drain()
    return found


async def test_it_is_applied_once_however_often_it_is_sent() -> None:
    world = World()
    first = await attempt(world, Request(0, None, OPS))
    again = await attempt(world, Request(0, None, OPS))
    assert isinstance(first, WriteResult)
    assert isinstance(again, WriteResult)
    assert (again.change_id, again.replayed) == (first.change_id, True)
    assert len(await world.history(ALPHA)) == 1


async def test_whoever_is_second_is_told() -> None:
    world = World()
    await world.create_project()
    head = await world.live(ALPHA, put("/summary", "Another"))
    assert await attempt(world, Request(0, None, OPS)) == Raced(ErrorCode.DOCUMENT_EXISTS)
    await world.live(ALPHA, put("/summary", "A third"))
    assert await attempt(world, Request(1, head.etag, OPS)) == Raced(ErrorCode.ETAG_MISMATCH)
    missing = await attempt(World(), Request(1, head.etag, OPS))
    assert missing == Raced(ErrorCode.DOCUMENT_NOT_FOUND)


async def test_what_is_wrong_with_the_patch_is_told_with_its_code() -> None:
    refused = await attempt(World(), Request(0, None, [put("/owner", "x")]))
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("PATH_NOT_WRITABLE: ")


@pytest.mark.parametrize(
    ("members", "error"), [({"profile_id": "none"}, ProfileNotFound), ({"binding_id": "none"}, BindingNotFound)]
)
async def test_what_another_release_may_know_goes_up(members: Any, error: Any) -> None:
    """A newer worker may have planned it: it is retried, and not refused for good."""
    with pytest.raises(error):
        await attempt(World(), Request(0, None, OPS), **members)


async def test_a_dry_run_tells_whether_it_was_applied_and_applies_nothing() -> None:
    world = World()
    seen = await attempt(world, Request(0, None, OPS), dry_run=True)
    assert isinstance(seen, WriteResult)
    assert not seen.replayed
    assert await world.content(ALPHA) is None
    await attempt(world, Request(0, None, OPS))
    seen = await attempt(world, Request(0, None, OPS), dry_run=True)
    assert isinstance(seen, WriteResult)
    assert seen.replayed
