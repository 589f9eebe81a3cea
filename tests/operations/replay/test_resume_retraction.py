"""A retraction that was applied, or is being applied, is applied again; any other stays unchanged."""

from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import Retraction, RetractionStatus, retraction_key
from memnet.operations.governance.retractions import undo_retraction
from memnet.operations.replay.resume_retraction import resume_retraction
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import ADMIN, WithdrawnWorld


async def read(world: WithdrawnWorld, retraction_id: str) -> Retraction:
    stored = await world.service.records.read(retraction_key(ONE, retraction_id))
    assert stored is not None
    return retractions.load(stored.data)


async def test_one_that_was_applied_is_marked_sent_and_applied_again() -> None:
    world = WithdrawnWorld()
    await world.fill()
    retraction = await world.retract()
    await world.run_jobs()
    applied = await read(world, retraction.retraction_id)
    assert applied.status in (RetractionStatus.APPLIED, RetractionStatus.PARTIAL)

    await resume_retraction(ONE, retraction.retraction_id, world.service)
    assert (await read(world, retraction.retraction_id)).status is RetractionStatus.APPLYING
    assert retraction.retraction_id in {job.job_id for job in await world.marked_jobs()}
    await world.run_jobs()
    again = await read(world, retraction.retraction_id)
    assert (again.status, again.applied_by) == (applied.status, applied.applied_by)
    assert await world.marked_jobs() == []


async def test_a_worker_that_is_applying_it_begins_again() -> None:
    """What arrives after the worker has looked at a document is found by its next look."""
    world = WithdrawnWorld()
    await world.fill()
    retraction = await world.retract()
    world.queue.sent.clear()
    await resume_retraction(ONE, retraction.retraction_id, world.service)
    again = await read(world, retraction.retraction_id)
    assert (again.status, again.attempts) == (RetractionStatus.APPLYING, retraction.attempts + 1)
    await world.run_jobs()
    assert (await read(world, retraction.retraction_id)).status is RetractionStatus.APPLIED
    assert await world.marked_jobs() == []


async def test_one_that_is_undone_or_unknown_stays_unchanged() -> None:
    world = WithdrawnWorld()
    await world.fill()
    retraction = await world.retract()
    await world.run_jobs()
    await undo_retraction(ONE, retraction.retraction_id, world.service, actor=ADMIN)
    await world.run_jobs()
    undone = await read(world, retraction.retraction_id)
    assert undone.status is RetractionStatus.UNDONE
    await resume_retraction(ONE, retraction.retraction_id, world.service)
    await resume_retraction(ONE, "rtr-unknown", world.service)
    assert await read(world, retraction.retraction_id) == undone
    assert world.queue.sent == []
