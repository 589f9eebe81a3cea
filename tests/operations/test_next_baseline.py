"""Where a history has to begin: found from its records alone, in as few reads as it takes."""

from datetime import timedelta

import pytest

from memnet.domain import baseline as baselines
from memnet.domain import envelope
from memnet.domain.errors import HistoryBroken
from memnet.operations.next_baseline import next_baseline
from memnet.operations.remove_due import RetentionRun
from tests.memory_blobs import storage_of
from tests.operations.retention_world import ALPHA, DAY, SCOPE, RetentionWorld, put


async def aged(changes: int = 9) -> RetentionWorld:
    """A change a day."""
    world = RetentionWorld()
    await world.create_project()
    for number in range(2, changes + 1):
        world.clock.advance(DAY)
        await world.change(ALPHA, put("/summary", str(number)))
    await world.sweep()
    return world


def a_run(world: RetentionWorld) -> RetentionRun:
    return RetentionRun(SCOPE, world.catalog.retention("t1"), world.clock.now(), False, world.holds, world.clock)


async def found(world: RetentionWorld, before=None, **ports):
    stored = await world.documents.get(ALPHA)
    head = envelope.load(stored.data)
    return await next_baseline(ALPHA, head, before, run=a_run(world), **{"audit": world.audit} | ports)


@pytest.mark.parametrize("gone", range(10))
async def test_the_last_change_that_is_over(gone):
    world = await aged()
    world.clock.advance((365 - 8 + gone - 1) * DAY)
    baseline = await found(world)
    assert (baseline.sequence if baseline else 0) == gone
    again = await found(world, baseline)
    assert again == baseline
    world.clock.advance(DAY)
    assert (await found(world, baseline)) == (await found(world))


async def test_it_follows_from_the_records_whoever_makes_it_and_when():
    world = await aged()
    world.clock.advance(360 * DAY)
    first = await found(world)
    world.clock.advance(timedelta(hours=3))
    assert baselines.dump(await found(world)) == baselines.dump(first)


async def test_mostly_one_record_is_read():
    world = await aged()
    read, calls = world.audit.read, []

    async def counted(scope, change):
        calls.append(change)
        return await read(scope, change)

    world.audit.read = counted
    assert await found(world) is None
    assert len(calls) == 1


@pytest.mark.parametrize("member", ["timestamp", "profile_id", "values_hash", "sealed"])
async def test_a_record_without_a_member_breaks_it(member):
    world = await aged()
    stored = await world.documents.get(ALPHA)
    head = envelope.load(stored.data)
    name = f"{SCOPE.prefix}audit/{head.change_id(1)}.json"
    record = envelope.orjson.loads(storage_of(world.audit).data(name))
    del record[member]
    storage_of(world.audit).overwrite(name, envelope.canonical(record))
    world.clock.advance(400 * DAY)
    with pytest.raises(HistoryBroken):
        await found(world)
