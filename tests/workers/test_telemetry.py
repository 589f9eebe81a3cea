"""What telemetry is told of the workers: replays by how they ended, dead letters by their code, traces that go on."""

from dataclasses import replace
from datetime import timedelta

import azure.functions as func
import pytest
from workers.handlers import REPLAY, TimerFailed
from workers.message_handling import receive

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.memory.telemetry import MemoryTelemetry
from memnet.domain.core.access import Role
from memnet.domain.core.errors import DecryptionFailed, Unavailable
from memnet.domain.core.job import TRACEPARENT, Job, JobKind
from memnet.domain.core.scope import Actor
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import PatchResult, PatchStatus, replay_key
from memnet.operations.replay.snapshots import store_snapshot
from memnet.service import Service
from tests.domain.snapshot_samples import SCOPE, conversation
from tests.services import arguments
from tests.workers.samples import clock_of, delivery_of, delivery_with, queue_of, service
from workers import work
from workers.deliveries import NAMES, Redelivered, Work, deliver
from workers.function_app import app
from workers.outcomes import MOST_STARTS
from workers.runtime import connection
from workers.work import on_time

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "Maya's doctor is called Quist"


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
async def services(telemetry: MemoryTelemetry) -> Service:
    return replace(await service(), telemetry=telemetry)


def outcomes(telemetry: MemoryTelemetry, metric: str) -> list[tuple[str, ...]]:
    return [tuple(labels.values()) for _, labels in telemetry.values.get(metric, [])]


def failing(failure: Exception | None) -> Work:
    """Work on replays that fails every time, if there is something to fail with."""

    async def do(job: Job, attempt: int, services: Service) -> None:
        if failure is not None:
            raise failure

    async def give_up(job: Job, reason: str, services: Service) -> None:
        pass

    return Work(JobKind.REPLAY, do, give_up, MOST_STARTS)


async def stored(services: Service, *said: str) -> Job:
    """A snapshot that waits for its replay."""
    ports = {"vault": services.vault, "marks": services.marks, "queue": services.queue}
    told = await store_snapshot(
        SCOPE,
        "c1",
        conversation("s_1", *said),
        actor=Actor("svc-a", frozenset({Role.REPLAY})),
        **arguments(catalog=services.catalog, **ports),
    )
    return Job(JobKind.REPLAY, SCOPE.tenant_id, SCOPE.user_id, told.replay_id)


async def test_a_replay_is_counted_by_how_it_ended_and_once(services: Service, telemetry: MemoryTelemetry) -> None:
    job = await stored(services)
    assert await deliver(delivery_of(job), REPLAY, services, patience=()) is None
    assert outcomes(telemetry, "memnet.replays") == [("succeeded",)]
    assert isinstance(services.clock, FrozenClock)
    assert services.vault.clock is services.clock
    services.clock.advance(timedelta(seconds=1))
    assert await deliver(delivery_of(job), REPLAY, services, patience=()) is None
    assert outcomes(telemetry, "memnet.replays") == [("succeeded",)]


async def test_a_replay_that_is_given_up_counts_as_failed(services: Service, telemetry: MemoryTelemetry) -> None:
    job = await stored(services)
    key = replay_key(SCOPE, job.job_id)
    fate = PatchResult(index=1, binding_id="b", namespace="n", path="d", status=PatchStatus.APPLIED)
    found = await services.records.read(key)
    assert found is not None
    decided = replays.load(found.data).decide(fate, services.clock.now())
    await services.records.write(key, replays.dump(decided), replaces=found.storage_etag)
    down = replace(services, models=ScriptedModels([Unavailable()]))
    dead = await deliver(delivery_of(job, attempt=MOST_STARTS), REPLAY, down, patience=())
    assert dead is not None
    assert outcomes(telemetry, "memnet.replays") == outcomes(telemetry, "memnet.replay.duration") == [("failed",)]
    # They count when it is retried.
    assert "memnet.replay.patches" not in telemetry.values
    assert outcomes(telemetry, "memnet.jobs.dead_lettered") == [("replay_snapshot", "INTERNAL")]


async def test_the_duration_of_a_replay_begins_with_its_snapshot_whoever_ends_it(
    services: Service, telemetry: MemoryTelemetry
) -> None:
    job = await stored(services)
    down = replace(services, models=ScriptedModels([Unavailable()]))
    assert await deliver(delivery_of(job), REPLAY, down, patience=()) is None
    assert "memnet.replay.duration" not in telemetry.values
    clock_of(services).advance(timedelta(seconds=301))
    assert await deliver(delivery_of(job, attempt=1), REPLAY, services, patience=()) is None
    assert telemetry.values["memnet.replay.duration"] == [(301.0, {"outcome": "late"})]


async def test_each_patch_of_a_replay_is_counted_once_with_its_fate(
    services: Service, telemetry: MemoryTelemetry
) -> None:
    job = await stored(services, "I prefer concise answers. I lead the retrieval team.")
    await deliver(delivery_of(job), REPLAY, services, patience=())
    clock_of(services).advance(timedelta(seconds=1))
    await deliver(delivery_of(job), REPLAY, services, patience=())
    stored_replay = await services.records.read(replay_key(SCOPE, job.job_id))
    assert stored_replay is not None
    fates = [fate.outcome for fate in replays.load(stored_replay.data).patches]
    assert fates
    assert outcomes(telemetry, "memnet.replay.patches") == [(fate,) for fate in fates]


async def test_a_dead_letter_is_counted_by_its_operation_and_code(
    services: Service, telemetry: MemoryTelemetry
) -> None:
    await deliver(delivery_of(), failing(DecryptionFailed()), services, patience=())
    await deliver(delivery_with(b"poison"), failing(None), services, patience=())
    assert outcomes(telemetry, "memnet.jobs.dead_lettered") == [
        ("replay_snapshot", "DECRYPTION_FAILED"),
        ("replay_snapshot", "MALFORMED_REQUEST"),
    ]
    assert [(span.name, span.facts["outcome"], span.failed) for span in telemetry.spans] == [
        ("replay_snapshot", "DECRYPTION_FAILED", True),
        ("replay_snapshot", "MALFORMED_REQUEST", True),
    ]


async def test_a_job_that_is_done_or_comes_later_is_no_failure(services: Service, telemetry: MemoryTelemetry) -> None:
    for failure in (None, Unavailable()):
        assert await deliver(delivery_of(attempt=2), failing(failure), services, patience=()) is None
    assert [(span.kind, span.facts, span.failed) for span in telemetry.spans] == [
        ("consumer", {"attempt": 2, "outcome": "done"}, False)
    ] * 2
    assert "memnet.jobs.dead_lettered" not in telemetry.values


async def test_a_message_that_comes_again_is_told_as_such(services: Service, telemetry: MemoryTelemetry) -> None:
    queue_of(services).available = False
    with pytest.raises(Redelivered):
        await deliver(delivery_of(), failing(Unavailable()), services, patience=())
    [span] = telemetry.spans
    assert (span.facts["outcome"], span.failed) == ("redelivered", True)


async def test_a_job_goes_on_with_the_trace_it_was_sent_in(services: Service, telemetry: MemoryTelemetry) -> None:
    delivery = replace(delivery_of(), traceparent=PARENT)
    await deliver(delivery, failing(None), services, patience=())
    await deliver(delivery_of(), failing(None), services, patience=())
    assert [span.parent for span in telemetry.spans] == [PARENT, None]


@pytest.fixture
def connected(services: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """The services under the functions themselves."""

    async def found() -> Service:
        return services

    monkeypatch.setattr(connection, "service", found)
    return services


class Message(func.ServiceBusMessage):
    """A message as a trigger brings it."""

    def __init__(self, properties: dict[str, object] | None) -> None:
        self._properties = properties

    def get_body(self) -> bytes:
        return b"poison"

    message_id = "m-1"
    session_id = "acme/maya"

    @property
    def application_properties(self) -> dict[str, object] | None:  # type: ignore[override]
        return self._properties


class Letters(func.Out[str]):
    """Takes dead letters."""

    def set(self, val: str) -> None:
        self.text = val

    def get(self) -> str:
        return self.text


@pytest.mark.parametrize(
    ("properties", "parent"), [({TRACEPARENT: PARENT}, PARENT), ({TRACEPARENT: 7}, None), ({}, None), (None, None)]
)
async def test_the_trace_comes_in_the_message_s_properties(
    connected: Service, telemetry: MemoryTelemetry, properties: dict[str, object] | None, parent: str | None
) -> None:
    await receive(Message(properties), Letters(), failing(None))
    assert [span.parent for span in telemetry.spans] == [parent]


def test_spans_have_the_names_of_the_functions() -> None:
    # It refuses to be asked twice in one process.
    app.functions_bindings = {}
    functions = {function.get_function_name() for function in app.get_functions()}
    assert set(NAMES) == set(JobKind)
    assert set(NAMES.values()) <= functions


async def test_a_timer_has_a_trace_of_its_own(connected: Service, telemetry: MemoryTelemetry) -> None:
    await on_time("sweep_outboxes", work.sweep)
    assert [(span.name, span.kind, span.parent) for span in telemetry.spans] == [("sweep_outboxes", "internal", None)]


async def test_a_timer_that_fails_tells_type_and_place_and_no_text(
    connected: Service, telemetry: MemoryTelemetry
) -> None:
    async def fail(_: Service) -> object:
        raise KeyError(SECRET)

    with pytest.raises(TimerFailed):
        await on_time("sweep_outboxes", fail)
    [span] = telemetry.spans
    assert span.failed
    assert str(span.facts["place"]).startswith("KeyError at ")
    assert SECRET not in str(span)


async def test_the_timer_of_lost_jobs_tells_how_old_the_oldest_is(
    connected: Service, telemetry: MemoryTelemetry
) -> None:
    await stored(connected)
    assert isinstance(connected.clock, FrozenClock)
    await on_time("requeue_jobs", work.requeue)
    assert telemetry.values["memnet.replay.oldest_age"] == [(0.0, {})]
    assert telemetry.values["memnet.index.lag"] == [(0.0, {})]


async def test_where_nobody_listens_the_marks_are_read_once(connected: Service, telemetry: MemoryTelemetry) -> None:
    telemetry.enabled = False
    await on_time("requeue_jobs", work.requeue)
    assert telemetry.values == {}
