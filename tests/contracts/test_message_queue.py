"""The MessageQueue contract, for every backend, each with the other end that takes what was sent."""

import asyncio
from datetime import timedelta

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import MAX_ID, Job, JobKind, message_id, session_id
from memnet.domain.core.scope import UserScope
from tests.contracts.queue_ends import Ends

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def replay(tenant: str, user: str, job_id: str) -> Job:
    return Job(JobKind.REPLAY, tenant, user, job_id)


async def test_what_is_sent_is_received_with_its_attempt(ends: Ends) -> None:
    jobs = [replay("t", "u", "r"), Job(JobKind.CONFLICT, "t", "u", "c"), Job(JobKind.REINDEX, "t", None, "i")]
    for attempt, job in enumerate(jobs):
        await ends.queue.send(job, attempt=attempt)
    for attempt, job in enumerate(jobs):
        assert await ends.received.receive(job.kind) == (job, attempt)
        await ends.received.complete(job)
    assert await ends.received.receive(JobKind.REPLAY) is None


async def test_a_users_jobs_come_in_order_and_one_at_a_time(ends: Ends) -> None:
    first, second, others = replay("t", "a", "2"), replay("t", "a", "1"), replay("t", "b", "3")
    for job in (first, second, others):
        await ends.queue.send(job)
    assert await ends.received.receive(JobKind.REPLAY) == (first, 0)
    assert await ends.received.receive(JobKind.REPLAY) == (others, 0)
    assert await ends.received.receive(JobKind.REPLAY) is None
    await ends.received.complete(others)
    await ends.received.abandon(first)
    assert await ends.received.receive(JobKind.REPLAY) == (first, 0)
    await ends.received.complete(first)
    assert await ends.received.receive(JobKind.REPLAY) == (second, 0)
    await ends.received.complete(second)


async def test_the_same_job_and_attempt_is_sent_once(ends: Ends) -> None:
    job, namesake = replay("t", "a", "1"), replay("t", "b", "1")
    for _ in range(2):
        await ends.queue.send(job)
    assert await ends.received.receive(JobKind.REPLAY) == (job, 0)
    await ends.received.complete(job)
    await ends.queue.send(job)
    await ends.queue.send(job, attempt=1)
    await ends.queue.send(namesake)
    assert await ends.received.receive(JobKind.REPLAY) == (job, 1)
    await ends.received.complete(job)
    assert await ends.received.receive(JobKind.REPLAY) == (namesake, 0)
    await ends.received.complete(namesake)
    assert await ends.received.receive(JobKind.REPLAY) is None


async def test_a_job_comes_when_it_is_due_and_lets_others_go_first(ends: Ends) -> None:
    later, sooner = replay("t", "a", "later"), replay("t", "a", "sooner")
    due = ends.now() + timedelta(seconds=8)
    await ends.queue.send(later, attempt=3, due=due)
    await ends.queue.send(sooner, due=ends.now() - timedelta(days=1))
    assert await ends.received.receive(JobKind.REPLAY) == (sooner, 0)
    await ends.received.complete(sooner)
    assert ends.now() < due
    while (found := await ends.received.receive(JobKind.REPLAY)) is None:
        await ends.pass_time()
    assert (found, ends.now() >= due) == ((later, 3), True)
    await ends.received.complete(later)


async def test_ids_may_be_as_long_as_the_identifiers_of_memnet(ends: Ends) -> None:
    jobs = [replay("t" * 128, "u" * 128, "j" * 128), replay("t" * 128, "u" * 128, "j" * 127)]
    assert max(len(text) for job in jobs for text in (message_id(job, 0), session_id(job))) <= MAX_ID
    for job in jobs:
        await ends.queue.send(job)
        await ends.queue.send(job)
    assert await ends.received.receive(JobKind.REPLAY) == (jobs[0], 0)
    await ends.received.complete(jobs[0])
    await ends.received.leave(jobs[0])
    assert await ends.queue.purge(UserScope("t" * 128, "u" * 128)) == 1


async def test_many_may_send_at_once(ends: Ends) -> None:
    jobs = [replay("t", "a", str(number)) for number in range(30)]
    await asyncio.gather(*(ends.queue.send(job) for job in [*jobs, *jobs]), ends.queue.ping())
    found = set()
    for _ in jobs:
        received = await ends.received.receive(JobKind.REPLAY)
        assert received is not None
        found.add(received[0])
        await ends.received.complete(received[0])
    assert found == set(jobs)
    assert await ends.received.receive(JobKind.REPLAY) is None


async def test_a_broker_that_is_away_is_unavailable_and_nothing_is_doubled_when_it_is_back(ends: Ends) -> None:
    jobs = [replay("t", "u", str(number)) for number in range(3)]
    await ends.queue.ping()
    ends.fail()
    for call in (ends.queue.ping(), ends.queue.send(jobs[0]), ends.queue.send(jobs[1], due=ends.now())):
        with pytest.raises(Unavailable) as refused:
            await call
        assert refused.value.details == {"dependency": "service_bus"}
    ends.recover()
    for job in [*jobs, *jobs]:
        await ends.queue.send(job)
    await ends.queue.ping()
    for job in jobs:
        assert await ends.received.receive(JobKind.REPLAY) == (job, 0)
        await ends.received.complete(job)
    assert await ends.received.receive(JobKind.REPLAY) is None
