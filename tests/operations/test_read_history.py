"""A history is read whole, also while its beginning is removed."""

import pytest

from memnet.domain import envelope
from memnet.domain.errors import HistoryBroken
from memnet.operations.read_history import read_history
from tests.operations.baseline_world import retain
from tests.operations.retention_world import ALPHA, SCOPE, RetentionWorld, put


async def aged() -> tuple[RetentionWorld, envelope.Envelope]:
    world = RetentionWorld()
    await world.create_project()
    for number in range(2, 7):
        await world.change(ALPHA, put("/summary", str(number)))
    await world.sweep()
    stored = await world.documents.get(ALPHA)
    return world, envelope.load(stored.data)


async def test_from_the_first_record_or_from_the_baseline():
    world, head = await aged()
    baseline, records = await read_history(SCOPE, head, 6, audit=world.audit)
    assert (baseline, [record["sequence"] for record in records]) == (None, [1, 2, 3, 4, 5, 6])
    await retain(world, ALPHA, 4)
    baseline, records = await read_history(SCOPE, head, 5, audit=world.audit)
    assert (baseline.sequence, [record["sequence"] for record in records]) == (4, [5])
    baseline, records = await read_history(SCOPE, head, 2, audit=world.audit)
    assert (baseline.sequence, list(records)) == (4, [])


@pytest.mark.parametrize("number", range(1, 7))
async def test_removed_between_two_reads(number):
    world, head = await aged()
    read, calls = world.audit.read, 0

    async def meanwhile(scope, change):
        nonlocal calls
        calls += 1
        if calls == number:
            world.audit.read = read
            await retain(world, ALPHA, 4)
        return await read(scope, change)

    world.audit.read = meanwhile
    baseline, records = await read_history(SCOPE, head, 6, audit=world.audit)
    begin = 0 if baseline is None else baseline.sequence
    assert [record["sequence"] for record in records] == list(range(begin + 1, 7))


async def test_a_record_that_nothing_stands_for_is_missing():
    world, head = await aged()
    await world.audit.delete(SCOPE, head.change_id(3))
    with pytest.raises(HistoryBroken):
        await read_history(SCOPE, head, 6, audit=world.audit)
    await retain(world, ALPHA, 2)
    with pytest.raises(HistoryBroken):
        await read_history(SCOPE, head, 6, audit=world.audit)
