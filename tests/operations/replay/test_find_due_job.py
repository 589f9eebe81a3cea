"""Whether a job is still to be done."""

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.timestamps import from_text
from memnet.domain.replay.replay import replay_key
from memnet.operations.replay.find_due_job import DueJob, find_due_job
from tests.operations.replay_scenario import PREFERENCE, SCOPE, World, answer, disputed_world


async def test_a_replay_is_due_until_it_is_finished() -> None:
    world = World(models=ScriptedModels([answer(PREFERENCE)]))
    job = await world.store()
    assert await find_due_job(job, records=world.records) == DueJob(0, None)
    await world.replay(job)
    assert await find_due_job(job, records=world.records) is None


async def test_a_conflict_is_due_when_its_next_retry_is() -> None:
    world, conflict = await disputed_world()
    due = from_text(conflict.next_attempt_at or "")
    assert await find_due_job(conflict.job, records=world.records) == DueJob(1, due)
    for attempt in range(1, 6):
        await world.retry(conflict.job, attempt)
    assert await find_due_job(conflict.job, records=world.records) is None


async def test_what_is_not_known_is_not_due_but_a_reindexing_is() -> None:
    world = World()
    assert await find_due_job(Job(JobKind.REPLAY, "t1", "u1", "x"), records=world.records) is None
    assert await find_due_job(Job(JobKind.CONFLICT, "t1", "u1", "x"), records=world.records) is None
    assert await find_due_job(Job(JobKind.REINDEX, "t1", None, "x"), records=world.records) == DueJob(0, None)


async def test_a_record_that_is_none_is_said_to_be_broken() -> None:
    world = World()
    await world.records.write(replay_key(SCOPE, "x"), b"{}", replaces=None)
    with pytest.raises(HistoryCorrupt):
        await find_due_job(Job(JobKind.REPLAY, "t1", "u1", "x"), records=world.records)
