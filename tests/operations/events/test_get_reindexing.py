"""The record of a reindexing is there once there was one."""

import pytest

from memnet.domain.core.errors import InvalidIdentifier, ReindexNotFound
from memnet.domain.events.index_layout import IndexVersion, Phase, Reindexing, dump_reindexing, tenant_record
from memnet.operations.events.get_reindexing import get_reindexing
from tests.operations.event_scenario import World

NOW = "2026-01-01T00:00:00.000000Z"


async def test_the_record_is_read_as_it_was_written() -> None:
    world = World()
    record = Reindexing("r1", Phase.SWITCHED, NOW, NOW, IndexVersion("n", "m", 3), ("a", "b"), "c", 1, 2, 3)
    await world.register.write(tenant_record("t1"), dump_reindexing(record), replaces=None)
    assert await get_reindexing("t1", search=world.search) == record
    with pytest.raises(ReindexNotFound):
        await get_reindexing("t2", search=world.search)


async def test_a_tenant_cannot_lead_elsewhere() -> None:
    with pytest.raises(InvalidIdentifier):
        await get_reindexing("../layout", search=World().search)
