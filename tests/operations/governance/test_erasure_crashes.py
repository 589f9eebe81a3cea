"""An erasure that is interrupted, overtaken and doubled: it ends all the same, and counts once."""

from typing import Any

import pytest

from memnet.domain.core.errors import ErasureRunning
from memnet.domain.governance.erasure import INDEXED, MESSAGES, Status
from memnet.operations.governance.erase_user import Erased
from tests.operations.erasure_scenario import OTHER, U1, U10, ErasureWorld
from tests.operations.retention_scenario import Between, FallsAt, StopsAt


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    for scope in (U1, U10, OTHER):
        await made.live(scope)
    return made


async def _steps() -> int:
    world = ErasureWorld()
    await world.live(U1)
    await world.request()
    counter = FallsAt(0, applied=False)
    await _both_runs(world, counter)
    return len(counter.calls)


async def _both_runs(world: ErasureWorld, watch: FallsAt) -> None:
    await world.run(watch=watch)
    world.advance()
    await world.run(watch=watch)


@pytest.mark.parametrize("applied", [False, True])
async def test_it_may_be_killed_at_every_call_and_counts_everything_once(applied: Any) -> None:
    steps = await _steps()
    assert steps > 40
    for number in range(1, steps + 1):
        world = ErasureWorld()
        await world.live(U1)
        before = await world.expected()
        erasure_id = (await world.request()).erasure_id
        watch = FallsAt(number, applied=applied)
        with pytest.raises(StopsAt):
            await _both_runs(world, watch)
        await world.finish()
        status = await world.status(erasure_id)
        assert status.status is Status.COMPLETE, watch.calls[-1]
        assert world.stored(U1) == {}, watch.calls[-1]
        # What the index and the queues have lost is not written down beforehand: a kill in between may miss it.
        removed = {kind: n for kind, n in status.removed.items() if kind not in (INDEXED, MESSAGES)}
        assert removed == {k: n for k, n in before.items() if k not in (INDEXED, MESSAGES)}, watch.calls[-1]
        assert status.removed.get(INDEXED, 0) <= before[INDEXED]


async def test_two_processes_at_it_at_once_count_once(world: Any) -> None:
    before = await world.expected()
    erasure_id = (await world.request()).erasure_id
    second: list[Erased] = []

    async def other() -> None:
        second.append(await world.run())

    assert await world.run(watch=Between("storage.delete", other, number=3)) is Erased.TAKEN_OVER
    assert second == [Erased.WAITING]
    await world.finish()
    assert dict((await world.status(erasure_id)).removed) == before


async def test_of_two_that_end_it_at_once_one_receipt_stands(world: Any) -> None:
    erasure_id = (await world.request()).erasure_id
    await world.run()
    world.advance()
    found: list[bytes | None] = []

    async def other() -> None:
        assert await world.run() is Erased.FINISHED
        found.append(await world.services.erasures.read_receipt(U1.tenant_id, erasure_id))

    await world.run(watch=Between("erasures.create_receipt", other))
    assert found == [await world.services.erasures.read_receipt(U1.tenant_id, erasure_id)]


async def test_an_erasure_begun_anew_is_not_ended_by_one_that_was_late(world: Any) -> None:
    """A process that stood still before its last step finds another fence, which is not its own to take down."""
    await world.request()
    await world.run()
    world.advance()

    async def other() -> None:
        await world.run()
        await world.patch(U1, "afresh")
        await world.request("forget-2")

    assert await world.run(watch=Between("erasures.lift", other)) is Erased.TAKEN_OVER
    assert await world.services.erasures.read(U1) is not None
    with pytest.raises(ErasureRunning):
        await world.patch(U1, "again")
