"""What a history begins with."""

import pytest

from memnet.domain.errors import HistoryBroken
from memnet.operations.read_baseline import read_baseline
from tests.operations.baseline_world import retain
from tests.operations.retention_world import ALPHA, SCOPE, RetentionWorld, put


async def aged() -> tuple[RetentionWorld, str]:
    world = RetentionWorld()
    await world.create_project()
    for number in range(3):
        await world.change(ALPHA, put("/summary", str(number)))
    await world.sweep()
    return world, (await world.rebuilt())[ALPHA].doc_id


async def test_none_then_the_newest():
    world, doc_id = await aged()
    assert await read_baseline(SCOPE, doc_id, audit=world.audit) is None
    await retain(world, ALPHA, 2)
    found = await read_baseline(SCOPE, doc_id, audit=world.audit)
    assert (found.sequence, found.key, found.content["summary"]) == (2, ALPHA, "0")


async def test_one_that_gives_way_to_a_newer_one_meanwhile():
    world, doc_id = await aged()
    twin = world.twin()
    await retain(twin, ALPHA, 3)
    await retain(world, ALPHA, 2)
    read, change = world.audit.read_baseline, f"{doc_id}-000000000003"

    async def replaced(scope, name):
        world.audit.read_baseline = read
        await world.audit.append_baseline(scope, change, await twin.audit.read_baseline(scope, change))
        await world.audit.delete_baseline(scope, name)
        return await read(scope, name)

    world.audit.read_baseline = replaced
    assert (await read_baseline(SCOPE, doc_id, audit=world.audit)).sequence == 3


async def test_what_is_none_is_told():
    world, doc_id = await aged()
    await world.audit.append_baseline(SCOPE, f"{doc_id}-000000000001", b"{}")
    with pytest.raises(HistoryBroken):
        await read_baseline(SCOPE, doc_id, audit=world.audit)
