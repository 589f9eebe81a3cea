"""The refreshing that a timer runs: everybody's documents, and what it could not move is counted."""

from memnet.operations.upkeep.maintain_documents import UpkeepReport
from memnet.operations.upkeep.refresh_documents import refresh_documents
from tests.operations.upkeep_scenario import Upkeep
from tests.services import arguments


async def test_everybody_s_documents_are_refreshed_and_what_is_held_is_told() -> None:
    world = Upkeep()
    await world.put_project(["a", "a"])
    await world.put_user(durable_facts=[world.fact(f"f{n}", days=400) for n in range(31)])
    report = await refresh_documents(**arguments(**world.ports))
    assert report == UpkeepReport(listed=2, untouched=1, changed=1, held=1, entries={"stale": 30})
    assert await refresh_documents(**arguments(**world.ports)) == UpkeepReport(listed=2, untouched=2, held=1)
    await world.service.background.drain()
