"""Runs the timers as the workers do: a timer sends a job for each shard with work, and each job runs to its end."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from local.bench.scale.seeding import change, scope_of
from local.bench.scale.world import Measured, World
from memnet.domain.core.job import JobKind
from memnet.domain.upkeep.marks import SHARDS, Work, changed_mark, due_mark, shard_of
from memnet.operations.service.run_shard import run_job, send_shards
from memnet.paging import bounded, rows

RUNS_A_MONTH = {Work.CHANGED: 4 * 24 * 30.4, Work.DUE: 24 * 30.4}
"""As workers/function_app.py schedules them."""
LATER = timedelta(hours=1, minutes=30)
"""After so long every mark is ready, and every run has stalled that was killed."""
AT_ONCE = 4
"""Jobs at the same time."""


async def run_timer(work: Work, world: World) -> None:
    """Run a timer and the jobs that it sends."""
    await send_shards(work, world.service)
    await asyncio.gather(*(_run_jobs(world) for _ in range(AT_ONCE)))


async def _run_jobs(world: World) -> None:
    while received := await world.queue.receive(JobKind.UPKEEP):
        job, _ = received
        try:
            await run_job(job, world.service)
            await world.queue.complete(job)
        except asyncio.CancelledError:
            await world.queue.abandon(job)
            raise


async def measure(work: Work, what: str, users: int, world: World, found: list[Measured]) -> None:
    """Run a timer once every mark is ready, and add what it took to `found`."""
    world.advance(LATER)
    async with world.measuring(f"{work} users: {what}", users, found):
        await run_timer(work, world)


async def clear_changed(world: World) -> None:
    """Remove every changed mark, as completed runs would have."""
    for shard in SHARDS:
        listed = rows(partial(world.service.upkeep.list_changed, shard))
        await world.service.upkeep.remove([mark async for mark in listed])


async def make_due(numbers: Sequence[int], world: World) -> None:
    """Mark these users as due today."""
    today = world.service.clock.now()
    await bounded(world.service.upkeep.add_due, [due_mark(scope_of(number), today) for number in numbers])


async def kill_and_resume(numbers: Sequence[int], calls: int, world: World) -> dict[str, int]:
    """Change users, kill the timer's run after so many storage calls, and run it again; return the counts of both."""
    await change(world, numbers)
    changed = world.service.clock.now()
    world.advance(LATER)
    world.storage.counts.clear()
    run = asyncio.create_task(run_timer(Work.CHANGED, world))
    reached = asyncio.create_task(world.storage.wait_for(calls))
    await asyncio.wait({run, reached}, return_when=asyncio.FIRST_COMPLETED)
    for task in (run, reached):
        task.cancel()
    await asyncio.gather(run, reached, return_exceptions=True)
    before = world.storage.counts.total()
    world.advance(LATER)
    world.storage.counts.clear()
    await run_timer(Work.CHANGED, world)
    after = world.storage.counts.total()
    left = [number for number in numbers if await _is_marked(number, changed, world)]
    return {"users": len(numbers), "calls_before": before, "calls_after": after, "left": len(left)}


async def _is_marked(number: int, changed: datetime, world: World) -> bool:
    """Return whether the user's mark of that change is still there."""
    mark = changed_mark(scope_of(number), changed)
    listed = rows(partial(world.service.upkeep.list_changed, shard_of(mark.scope)))
    return mark in [one async for one in listed]
