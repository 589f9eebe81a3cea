"""Retractions beside live writers, replays, confirmations, upkeep, retention, holds and erasures, in random orders."""

import asyncio

import pytest

from tests.operations.retraction_walk import Walk

WORKERS, STEPS = 4, 14


@pytest.mark.parametrize("seed", range(120))
async def test_nothing_is_lost_and_no_clean_value_is_touched(seed: int) -> None:
    walk = Walk(seed=seed)
    await walk.begin()
    steps = (
        walk.write,
        walk.write,
        walk.speak,
        walk.work_once,
        walk.work_once,
        walk.work_once,
        walk.decide,
        walk.compact,
        walk.retain,
        walk.hold,
        walk.retract,
        walk.undo,
        walk.again,
    )
    await asyncio.gather(*(walk.steps(STEPS, *steps) for _ in range(WORKERS)))
    await walk.settle()
    await walk.check()
