"""The one door through which retention removes: batch by batch, never under a hold."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from memnet.domain.catalog.retention_policy import Limits, RetentionPolicy, Tally
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.governance.legal_hold import HoldKey, HoldTarget
from memnet.operations.governance.retention_run import BATCH, RetentionRun, delete_expired
from memnet.stores import HoldStore
from tests.domain.samples import SCOPE
from tests.memory_blobs import memory_blobs
from tests.operations.hold_scenario import HoldWorld
from tests.services import service_of


def a_run(holds: HoldStore, *, dry_run: bool = False) -> RetentionRun:
    world = HoldWorld()
    return RetentionRun(
        SCOPE, RetentionPolicy({}, Limits()), world.clock.now(), dry_run, service_of(holds=holds, clock=world.clock)
    )


async def all_of(batch: Sequence[int], _: datetime) -> Sequence[int]:
    return batch


async def test_batches_and_what_is_left_of_them() -> None:
    seen: list[int] = []

    async def even(batch: Sequence[int], _: datetime) -> Sequence[int]:
        seen.append(len(batch))
        return [number for number in batch if number % 2 == 0]

    tally = Tally()
    gone = await delete_expired(range(2 * BATCH + 2), even, tally, run=a_run(HoldStore(memory_blobs())))
    assert seen == [BATCH, BATCH, 2]
    assert gone == list(range(0, 2 * BATCH + 2, 2))
    assert tally == Tally(removed=BATCH + 1, deferred=BATCH + 1)


async def test_a_dry_run_counts_alone() -> None:
    async def never(*_: object) -> Sequence[int]:
        raise AssertionError

    tally = Tally()
    assert await delete_expired([1, 2], never, tally, run=a_run(HoldStore(memory_blobs()), dry_run=True)) == [1, 2]
    assert tally == Tally(removed=2)


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_hold_is_seen_before_every_batch(dry_run: Any) -> None:
    world, tally = HoldWorld(), Tally()

    async def place(batch: Sequence[int], _: datetime) -> Sequence[int]:
        await world.place("meanwhile")
        return batch

    if dry_run:
        await world.place("before")
    gone = await delete_expired(range(BATCH + 5), place, tally, run=a_run(world.holds, dry_run=dry_run))
    held = BATCH + 5 if dry_run else 5
    assert (len(gone), tally) == (BATCH + 5 - held, Tally(removed=BATCH + 5 - held, on_hold=held))


async def test_a_removal_is_dated_before_the_holds_are_asked() -> None:
    """Who stands still between the answer and the removal removes nothing under a hold that came meanwhile."""

    class Slow(HoldStore):
        async def list(self, *given: Any, **named: Any) -> Any:
            run.service.clock.advance(timedelta(minutes=7))
            return await super().list(*given, **named)

    async def remove(batch: Sequence[int], known_at: datetime) -> Sequence[int]:
        dates.append(known_at)
        return batch

    dates: list[datetime] = []
    run = a_run(Slow(memory_blobs()))
    begun = run.service.clock.now()
    await delete_expired(range(BATCH + 1), remove, Tally(), run=run)
    step = (run.service.clock.now() - begun) / 2
    assert step >= timedelta(minutes=7)
    assert dates == [begun, begun + step]


async def test_a_hold_that_cannot_be_read_stops_everything() -> None:
    holds = HoldStore(memory_blobs())
    await holds.create(HoldKey(HoldTarget("t1"), 1), b"?")
    with pytest.raises(HistoryCorrupt):
        await delete_expired([1], all_of, Tally(), run=a_run(holds))
