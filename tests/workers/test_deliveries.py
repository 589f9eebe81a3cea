"""What becomes of a message, for each way in which its job can end."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from memnet.domain.core.errors import (
    ConflictClosed,
    DecryptionFailed,
    ErasureRunning,
    HistoryCorrupt,
    InvalidIdentifier,
    MemnetError,
    ReplayNotFound,
    SnapshotNotFound,
    Unavailable,
)
from memnet.domain.core.job import QUEUES, Job, JobKind, dump, message_id, session_id
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import dump as dump_erasure
from memnet.domain.replay.replay import replay_key
from memnet.operations.replay.fail_replay import fail_replay
from memnet.operations.replay.get_replay import get_replay
from memnet.operations.replay.retry_replay import retry_replay
from memnet.service import Service
from memnet.stores import ErasureStore
from tests.domain.erasure_samples import erasure
from tests.services import service_of
from tests.workers.samples import JOB, UNKNOWN, clock_of, delivery_of, delivery_with, queue_of, service
from workers.deliveries import DeadLetter, Redelivered, Work, deliver
from workers.outcomes import LONGEST_DELAY, MOST_STARTS, delay
from workers.work import CONFLICT, REINDEX, REPLAY

SECRET = "Maya's doctor is called Quist"


@dataclass
class Play:
    """Work that fails as often as told, and remembers."""

    failures: list[Exception] = field(default_factory=list)
    giving_up: list[Exception] = field(default_factory=list)
    done: list[tuple[Job, int]] = field(default_factory=list)
    given_up: list[tuple[Job, str]] = field(default_factory=list)
    kind: JobKind = JobKind.REPLAY
    most_starts: int | None = MOST_STARTS
    sent_anew: bool = True

    @property
    def work(self) -> Work:
        return Work(self.kind, self._do, self._give_up, self.most_starts, self.sent_anew)

    async def _do(self, job: Job, attempt: int, services: Service) -> None:
        self.done.append((job, attempt))
        if self.failures:
            raise self.failures.pop(0)

    async def _give_up(self, job: Job, reason: str, services: Service) -> None:
        self.given_up.append((job, reason))
        if self.giving_up:
            raise self.giving_up.pop(0)


@pytest.fixture
async def services() -> Service:
    return await service()


async def sent(services: Service) -> tuple[Job, int] | None:
    """What is due in the queue."""
    return await queue_of(services).receive(JobKind.REPLAY)


async def run(play: Play, services: Service, attempt: int = 0, patience: Sequence[float] = ()) -> DeadLetter | None:
    return await deliver(delivery_of(attempt=attempt), play.work, services, patience=patience)


async def test_a_job_that_succeeds_is_done_with(services: Service) -> None:
    play = Play()
    assert await run(play, services, attempt=3) is None
    assert (play.done, play.given_up, await sent(services)) == ([(JOB, 3)], [], None)


async def test_a_short_failure_is_waited_out_within_the_delivery(services: Service) -> None:
    play = Play([Unavailable(), Unavailable()])
    assert await run(play, services, patience=(0.0, 0.0)) is None
    assert (len(play.done), await sent(services)) == (3, None)


async def test_a_longer_failure_sends_the_job_anew_for_later(services: Service) -> None:
    assert await run(Play([Unavailable(), Unavailable()]), services, attempt=2, patience=(0.0,)) is None
    clock_of(services).advance(delay(2) - timedelta(seconds=1))
    assert await sent(services) is None
    clock_of(services).advance(timedelta(seconds=1))
    assert await sent(services) == (JOB, 3)


async def test_it_is_sent_under_the_number_that_its_mark_would_have_it_sent_under() -> None:
    services = await service(attempts=12)
    assert await run(Play([Unavailable()]), services, attempt=5) is None
    clock_of(services).advance(delay(5))
    assert await sent(services) == (JOB, 12)


async def test_a_job_that_ended_meanwhile_is_not_sent_anew(services: Service) -> None:
    body = delivery_of(UNKNOWN)
    assert await deliver(body, Play([Unavailable()]).work, services, patience=()) is None
    clock_of(services).advance(timedelta(days=1))
    assert await sent(services) is None


async def test_a_repair_goes_on_however_often_it_was_begun(services: Service) -> None:
    job = Job(JobKind.REINDEX, "acme", None, "r-1")
    play = Play([Unavailable()], kind=JobKind.REINDEX, most_starts=None)
    assert await deliver(delivery_of(job, attempt=5000), play.work, services, patience=()) is None
    clock_of(services).advance(LONGEST_DELAY)
    assert await queue_of(services).receive(JobKind.REINDEX) == (job, 5001)


async def test_a_failure_that_lasts_is_given_up_with_its_reason(services: Service) -> None:
    play = Play([Unavailable()])
    dead = await run(play, services, attempt=MOST_STARTS - 1)
    assert dead is not None
    assert dead.reason == "UNAVAILABLE"
    clock_of(services).advance(timedelta(days=1))
    assert await sent(services) is None
    assert play.given_up == [(JOB, "UNAVAILABLE")]


@pytest.mark.parametrize("failure", [DecryptionFailed(), HistoryCorrupt()])
async def test_what_can_never_succeed_is_a_dead_letter_at_once(services: Service, failure: MemnetError) -> None:
    play = Play([failure])
    dead = await run(play, services, patience=(0.0,))
    assert dead is not None
    assert (dead.queue, dead.reason, dead.description) == ("memnet-replay", failure.code.value, failure.message)
    assert (len(play.done), play.given_up, await sent(services)) == (1, [(JOB, failure.code)], None)


@pytest.mark.parametrize("failure", [ReplayNotFound(), ConflictClosed()])
async def test_a_job_without_a_subject_is_done_with(services: Service, failure: MemnetError) -> None:
    play = Play([failure])
    assert await run(play, services) is None
    assert play.given_up == [(JOB, failure.code)]


async def test_a_job_with_its_own_schedule_is_left_to_its_mark(services: Service) -> None:
    play = Play([Unavailable()], sent_anew=False)
    assert await run(play, services) is None
    clock_of(services).advance(timedelta(days=1))
    assert (play.given_up, await sent(services)) == ([], None)


async def test_a_job_that_was_begun_too_often_is_not_begun_again(services: Service) -> None:
    play = Play()
    dead = await run(play, services, attempt=MOST_STARTS)
    assert dead is not None
    assert (dead.reason, play.done, play.given_up) == ("INTERNAL", [], [(JOB, "INTERNAL")])


async def test_what_was_begun_before_somebody_asked_for_it_anew_does_not_count() -> None:
    services = await service(attempts=MOST_STARTS)
    await fail_replay(JOB, "INTERNAL", services)
    scope, ids = JOB.scope, JOB.job_id
    ports = {"records": services.records, "marks": services.marks, "queue": services.queue, "clock": services.clock}
    await retry_replay(scope, ids, service_of(**ports))
    play = Play()
    assert await run(play, services, attempt=MOST_STARTS) is None
    assert play.done == [(JOB, MOST_STARTS)]
    dead = await run(Play(), services, attempt=2 * MOST_STARTS)
    assert dead is not None
    assert dead.reason == "INTERNAL"


async def test_without_a_broker_the_message_stays_with_the_queue(services: Service) -> None:
    queue_of(services).available = False
    with pytest.raises(Redelivered):
        await run(Play([Unavailable()]), services)


async def test_a_job_that_cannot_be_given_up_now_comes_again(services: Service) -> None:
    with pytest.raises(Redelivered):
        await run(Play([DecryptionFailed()], giving_up=[Unavailable()]), services)


@pytest.mark.parametrize("failure", [HistoryCorrupt(), InvalidIdentifier()])
async def test_a_job_without_a_record_loses_its_mark_all_the_same(services: Service, failure: MemnetError) -> None:
    await services.marks.mark(JOB)
    assert await run(Play([DecryptionFailed()], giving_up=[failure]), services) is not None
    assert (await services.marks.list(limit=10, cursor=None)).items == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'"replay"',
        b'{"kind":"replay","tenant_id":"acme","user_id":"../maya","job_id":"r"}',
        b'{"kind":"replay","tenant_id":1,"user_id":"maya","job_id":"r"}',
        b'{"kind":["replay"],"tenant_id":"acme","user_id":"maya","job_id":"r"}',
        b'{"kind":"dance","tenant_id":"acme","user_id":"maya","job_id":"r"}',
        dump(Job(JobKind.REINDEX, "acme", None, "r")),
    ],
)
async def test_a_poison_message_is_a_dead_letter_and_never_begun(services: Service, body: bytes) -> None:
    play = Play()
    dead = await deliver(delivery_with(body), play.work, services)
    assert dead is not None
    assert (dead.reason, play.done, play.given_up) == ("MALFORMED_REQUEST", [], [])
    told = json.loads(dead.to_text())
    assert told["queue"] == QUEUES[JobKind.REPLAY]
    assert (told["message_id"], told["session_id"], told["bytes"]) == ("m-1", "acme/maya", len(body))
    assert ("body_base64" in told) == (body == b"\xff\xfe")


async def test_a_dead_letter_fits_into_a_message(services: Service) -> None:
    for body in (b"\xff" * 250_000, b"\x00" * 250_000):
        dead = await deliver(delivery_with(body), Play().work, services)
        assert dead is not None
        assert len(dead.to_text()) < 160 * 1024


async def test_a_crash_counts_as_internal_and_tells_nothing_of_its_text(
    services: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert await run(Play([RuntimeError(SECRET)]), services) is None
        dead = await run(Play([RuntimeError(SECRET)]), services, attempt=MOST_STARTS - 1)
    assert dead is not None
    assert dead.reason == "INTERNAL"
    clock_of(services).advance(delay(0))
    assert await sent(services) == (JOB, 1)
    assert "job_crashed" in caplog.text
    assert "job_dead_lettered" in caplog.text
    assert "Quist" not in caplog.text + dead.to_text()


@pytest.mark.parametrize("is_readable", [True, False])
async def test_the_log_names_the_job_and_not_its_user(
    services: Service, caplog: pytest.LogCaptureFixture, is_readable: bool
) -> None:
    """Their memory may be erased; the log stays."""
    own = delivery_of() if is_readable else delivery_with(b"{")
    sent_as = replace(own, message_id=message_id(JOB, 0), session_id=session_id(JOB))
    with caplog.at_level(logging.DEBUG, "memnet"):
        dead = await deliver(sent_as, Play([DecryptionFailed()]).work, services, patience=())
    assert dead is not None
    (line,) = [record.getMessage() for record in caplog.records if "job_dead_lettered" in record.getMessage()]
    code, job = ("DECRYPTION_FAILED", JOB.job_id) if is_readable else ("MALFORMED_REQUEST", "unreadable")
    assert line == f"job_dead_lettered queue=memnet-replay code={code} job={job}"
    assert JOB.session not in caplog.text
    assert JOB.scope.user_id not in caplog.text
    assert json.loads(dead.to_text())["message_id"] == message_id(JOB, 0)


async def test_the_shipped_work_ends_a_replay_that_nobody_knows(services: Service) -> None:
    await services.marks.mark(UNKNOWN)
    assert await deliver(delivery_of(UNKNOWN), REPLAY, services) is None
    assert (await services.marks.list(limit=10, cursor=None)).items == []


async def test_the_shipped_work_records_a_replay_that_it_gives_up(services: Service) -> None:
    """Its record stands, its snapshot is gone: that is damage, and for people."""
    await services.marks.mark(JOB)
    dead = await deliver(delivery_of(), REPLAY, services)
    assert dead is not None
    assert dead.reason == "SNAPSHOT_NOT_FOUND"
    told = await get_replay(JOB.scope, JOB.job_id, records=services.records)
    assert (told["status"], told["reason"]) == ("failed", "SNAPSHOT_NOT_FOUND")
    assert (await services.marks.list(limit=10, cursor=None)).items == []


@pytest.mark.parametrize(
    ("work", "job"),
    [
        (CONFLICT, Job(JobKind.CONFLICT, "acme", "maya", "c-1")),
        (REINDEX, Job(JobKind.REINDEX, "acme", None, "r-1")),
    ],
)
async def test_the_shipped_work_ends_what_is_not_known(services: Service, work: Work, job: Job) -> None:
    assert await deliver(delivery_of(job), work, services) is None


class Unreachable(ErasureStore):
    """The fences while the storage does not answer."""

    async def check(self, scope: UserScope) -> None:
        raise Unavailable


async def fence(services: Service) -> None:
    """The memory of JOB's user is being erased."""
    await services.erasures.write(JOB.scope, b"{}", replaces=None)


@pytest.mark.parametrize(
    "failure",
    [ErasureRunning(), DecryptionFailed(), HistoryCorrupt(), SnapshotNotFound(), Unavailable(), ValueError(SECRET)],
)
async def test_whatever_a_job_fails_with_while_its_user_is_erased_nothing_comes_of_it(
    services: Service, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    await fence(services)
    before = await services.records.read(replay_key(JOB.scope, JOB.job_id))
    play = Play([failure])
    with caplog.at_level(logging.INFO, "memnet.workers"):
        assert await run(play, services) is None
    assert play.given_up == []
    clock_of(services).advance(timedelta(days=1))
    assert await sent(services) is None
    assert await services.records.read(replay_key(JOB.scope, JOB.job_id)) == before
    assert "job_dead_lettered" not in caplog.text
    assert f"job_void kind=replay job={JOB.job_id} code=ERASURE_RUNNING" in caplog.text


@pytest.mark.parametrize("failure", [ErasureRunning(), HistoryCorrupt()])
async def test_a_job_is_retried_while_the_erasure_of_its_user_may_be_withdrawn(
    services: Service, failure: MemnetError
) -> None:
    requested = erasure(JOB.scope, started_at=None)
    await services.erasures.write(JOB.scope, dump_erasure(requested), replaces=None)
    assert await run(Play([failure]), services, attempt=2) is None
    clock_of(services).advance(delay(2))
    assert await sent(services) == (JOB, 3)


async def test_a_job_is_retried_after_the_erasure_of_its_user_was_withdrawn(services: Service) -> None:
    assert await run(Play([ErasureRunning()]), services, attempt=2) is None
    clock_of(services).advance(delay(2))
    assert await sent(services) == (JOB, 3)


async def test_a_refusal_whose_fence_cannot_be_read_is_delivered_again(services: Service) -> None:
    with pytest.raises(Redelivered):
        await run(Play([ErasureRunning()]), replace(services, erasures=Unreachable(services.erasures._blobs)))


class OutOfReach(ErasureStore):
    """Fences that are seen, while their content cannot be read."""

    async def has_started(self, scope: UserScope) -> bool:
        raise Unavailable


@pytest.mark.parametrize("failure", [ErasureRunning(), HistoryCorrupt()])
async def test_a_start_that_cannot_be_read_redelivers_the_job(services: Service, failure: MemnetError) -> None:
    await fence(services)
    with pytest.raises(Redelivered):
        await run(Play([failure]), replace(services, erasures=OutOfReach(services.erasures._blobs)))


async def test_the_work_itself_leaves_nothing_of_a_user_who_is_erased(services: Service) -> None:
    await fence(services)
    before = await services.records.read(replay_key(JOB.scope, JOB.job_id))
    assert await deliver(delivery_of(), REPLAY, services, patience=()) is None
    conflict = Job(JobKind.CONFLICT, JOB.tenant_id, JOB.user_id, "cfl-1")
    assert await deliver(delivery_of(conflict), CONFLICT, services, patience=()) is None
    assert await services.records.read(replay_key(JOB.scope, JOB.job_id)) == before
    assert (await services.marks.list(limit=10, cursor=None)).items == []
    clock_of(services).advance(timedelta(days=1))
    assert await sent(services) is None


async def test_a_fence_that_comes_while_a_job_is_given_up_keeps_nothing_of_it(services: Service) -> None:
    """Between the look at the fence and the record: the message is over, and its mark with it."""
    await services.marks.mark(JOB)
    play = Play([DecryptionFailed()], giving_up=[ErasureRunning()])
    assert await run(play, services) is not None
    assert (await services.marks.list(limit=10, cursor=None)).items == []


async def test_if_the_fence_cannot_be_read_a_job_is_postponed(services: Service) -> None:
    await fence(services)
    unreachable = replace(services, erasures=Unreachable(services.erasures._blobs))
    assert await run(Play([Unavailable()]), unreachable, attempt=2) is None
    clock_of(services).advance(delay(2))
    assert await sent(services) == (JOB, 3)


async def test_a_tenants_job_has_no_fence(services: Service) -> None:
    await fence(services)
    job = Job(JobKind.REINDEX, JOB.tenant_id, None, "r-1")
    play = Play([HistoryCorrupt()], kind=JobKind.REINDEX, most_starts=None)
    assert await deliver(delivery_of(job), play.work, services, patience=()) is not None
