"""Retractions beside live writers, replays, confirmations, upkeep, retention, holds and erasures, in random orders."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from memnet.domain.core.errors import MemnetError, TenantEnded
from memnet.domain.governance.source import Source, SourceKind
from memnet.operations.governance.erase_tenant import erase_tenants, request_tenant_erasure
from memnet.operations.governance.erase_user import Erased, erase_user, erase_users
from memnet.operations.governance.erasure_request import request_erasure
from tests.memory_blobs import storage_of
from tests.operations.erasure_scenario import SETTLE
from tests.operations.retraction_scenario import ADMIN
from tests.operations.retraction_walk import Walk
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import drain

WORKERS, STEPS, WRITERS = 4, 14, 16


def steps_of(walk: Walk) -> list[Callable[[], Awaitable[None]]]:
    """What a worker of a walk may do, but to place a hold."""
    often = [walk.write, walk.work_once, walk.work_once, walk.retract]
    return [
        *often,
        walk.speak,
        walk.work_once,
        walk.decide,
        walk.compact,
        walk.retain,
        walk.write,
        walk.undo,
        walk.again,
    ]


@pytest.mark.parametrize("seed", range(8))
async def test_nothing_is_lost_and_no_clean_value_is_touched(seed: int) -> None:
    walk = Walk(seed=seed)
    await walk.begin()
    steps = [*steps_of(walk), walk.hold]
    await asyncio.gather(*(walk.steps(STEPS, *steps) for _ in range(WORKERS)))
    await walk.finish()
    await walk.check()


@pytest.mark.parametrize("seed", range(2))
async def test_beside_sixteen_live_writers(seed: int) -> None:
    walk = Walk(seed=seed)
    await walk.begin()
    await walk.finish()
    await walk.retract(Source(kind=SourceKind.CONVERSATION, conversation_id="c1"))
    writers = [walk.steps(3, walk.write) for _ in range(WRITERS)]
    workers = [walk.steps(6, walk.work_once, walk.work_once, walk.undo, walk.again, walk.retract) for _ in range(2)]
    await asyncio.gather(*writers, *workers)
    await walk.finish()
    await walk.check()


@pytest.mark.parametrize("of_tenant", [False, True])
@pytest.mark.parametrize("seed", range(3))
async def test_an_erasure_in_the_middle_leaves_nothing(seed: int, of_tenant: bool) -> None:
    walk = Walk(seed=seed)
    await walk.begin()
    await walk.finish()
    service = walk.service
    await walk.retract(Source(kind=SourceKind.CONVERSATION, conversation_id="c1"))

    async def erase() -> None:
        for _ in range(walk.random.randrange(400)):
            await asyncio.sleep(0)
        if of_tenant:
            await request_tenant_erasure(ONE.tenant_id, service, actor=ADMIN)
        else:
            await request_erasure(ONE, service, idempotency_key="forget", actor=ADMIN)

    await asyncio.gather(erase(), *(walk.steps(STEPS, *steps_of(walk)) for _ in range(WORKERS)))
    for _ in range(12):
        await drain(service)
        walk.clock.advance(SETTLE)
        if of_tenant:
            await erase_tenants(service)
            await erase_users(None, service)
        elif await erase_user(ONE, service) in (Erased.FINISHED, Erased.NOTHING):
            break
    # A worker that still has a message of one of its jobs.
    for job in list(walk.done):
        with suppress(MemnetError):
            await walk.do(job, 0)
    await drain(service)
    storage = storage_of(service.records)
    left = [name for name in storage.names("") if f"/{ONE.user_id}/" in name or name.startswith(ONE.prefix)]
    assert left == []
    assert [name for name in storage.names("") if b"word" in storage.data(name)] == []
    assert await walk.documents() == {}
    if of_tenant:
        with pytest.raises(TenantEnded):
            await walk.write("svc-live", "c9")
