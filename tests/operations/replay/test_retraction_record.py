"""The record of a retraction: its plan is sealed, and each write is conditional."""

import pytest

from memnet.domain.core.errors import RetractionNotFound
from memnet.domain.core.job import Job, JobKind
from memnet.operations.replay.retraction_record import load_retraction, write_plan
from memnet.ports import StoreConflict
from tests.operations.retraction_scenario import Retracting
from tests.operations.turn_search_scenario import ONE


async def test_the_plan_is_sealed_and_a_stale_write_is_refused() -> None:
    world = await Retracting().prepared()
    view = await world.planned()
    job = Job(JobKind.RETRACTION, ONE.tenant_id, ONE.user_id, view.retraction.retraction_id)
    loaded = await load_retraction(job, world.service)
    assert (loaded.retraction, loaded.plan) == (view.retraction, view.plan)
    assert b"Mallory" not in b"".join(world.stored("retractions").values())
    await write_plan(loaded, loaded.plan, world.service)
    with pytest.raises(StoreConflict):
        await write_plan(loaded, loaded.plan, world.service)
    with pytest.raises(RetractionNotFound):
        await load_retraction(Job(JobKind.RETRACTION, ONE.tenant_id, ONE.user_id, "rtr-none"), world.service)
