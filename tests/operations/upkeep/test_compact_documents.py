"""The compaction that a timer runs: everybody's documents, and nothing left to do afterwards."""

import asyncio

from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.operations.upkeep.compact_documents import compact_documents
from memnet.operations.upkeep.maintain_documents import UpkeepReport
from tests.operations.upkeep_scenario import Upkeep
from tests.services import arguments

KEYS = [DocumentKey(UserScope(tenant, user), "projects", "a.json") for tenant in ("t1", "t2") for user in ("u1", "u2")]


async def test_everybody_s_documents_are_compacted_once() -> None:
    world = Upkeep()
    for key in KEYS:
        await world.put_project([f"n{n}" for n in range(30)], key)
    await world.put_user(preferences=["a", "A"])
    report = await compact_documents(**arguments(**world.ports))
    assert report == UpkeepReport(listed=5, changed=5, entries={"trimmed": 24, "merged": 1})
    assert await compact_documents(**arguments(**world.ports)) == UpkeepReport(listed=5, untouched=5)
    assert len(await world.told()) == 4
    await world.service.background.drain()


async def test_runs_beside_each_other_make_one_change_a_document() -> None:
    world = Upkeep()
    for key in KEYS:
        await world.put_project([f"n{n}" for n in range(30)], key)
    await asyncio.gather(*(compact_documents(**arguments(**world.ports)) for _ in range(4)))
    assert [(await world.service.head(key)).commit.sequence for key in KEYS] == [2] * 4
    assert len(await world.told()) == 4
    await world.service.background.drain()
