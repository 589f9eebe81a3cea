"""The telemetry of the workers: replays by outcome, dead letters by code, continued traces; and the erasure timer."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.memory.telemetry import MemoryTelemetry
from memnet.domain.core.access import Role
from memnet.domain.core.errors import DecryptionFailed, Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import PatchResult, PatchStatus, replay_key
from memnet.operations.governance import erase_tenant
from memnet.operations.replay.snapshots import store_snapshot
from memnet.service import Service
from tests.domain.snapshot_samples import SCOPE, conversation
from tests.operations.erasure_scenario import U1, ErasureWorld
from tests.workers.samples import clock_of, delivery_of, delivery_with, queue_of, service
from workers import handlers
from workers.function_app import app
from workers.handlers import REPLAY, TimerFailed, run_timer
from workers.message_handling import FUNCTIONS, AbandonMessage, JobHandler, handle
from workers.outcomes import MAX_ATTEMPTS
from workers.runtime import connection

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


def failing(failure: Exception | None) -> JobHandler:
    """Return a replay handler that raises `failure`, if there is one, every time."""

    async def run(job: Job, attempt: int, services: Service) -> None:
        if failure is not None:
            raise failure

    async def on_failure(job: Job, reason: str, services: Service) -> None:
        pass

    return JobHandler(JobKind.REPLAY, run, on_failure, MAX_ATTEMPTS)


async def stored(services: Service, *said: str) -> Job:
    """Store a snapshot; return the job of its replay."""
    snapshot = await store_snapshot(
        SCOPE, "c1", conversation("s_1", *said), services, actor=Actor("svc-a", frozenset({Role.REPLAY}))
    )
    return Job(JobKind.REPLAY, SCOPE.tenant_id, SCOPE.user_id, snapshot.replay_id)


async def test_a_replay_and_its_patches_are_counted_by_how_they_ended_and_once(
    services: Service, telemetry: MemoryTelemetry
) -> None:
    job = await stored(services, "I prefer concise answers. I lead the retrieval team.")
    for _ in range(2):
        assert await handle(delivery_of(job), REPLAY, services, retry_delays=()) is None
        clock_of(services).advance(timedelta(seconds=1))
    assert outcomes(telemetry, "memnet.replays") == [("succeeded",)]
    stored_replay = await services.records.read(replay_key(SCOPE, job.job_id))
    assert stored_replay is not None
    fates = [fate.outcome for fate in replays.load(stored_replay.data).patches]
    assert fates
    assert outcomes(telemetry, "memnet.replay.patches") == [(fate,) for fate in fates]


async def test_a_replay_without_attempts_left_counts_as_failed(services: Service, telemetry: MemoryTelemetry) -> None:
    job = await stored(services)
    key = replay_key(SCOPE, job.job_id)
    fate = PatchResult(index=1, binding_id="b", namespace="n", path="d", status=PatchStatus.APPLIED)
    found = await services.records.read(key)
    assert found is not None
    decided = replays.load(found.data).decide(fate, services.clock.now())
    await services.records.write(key, replays.dump(decided), replaces=found.storage_etag)
    down = replace(services, models=ScriptedModels([Unavailable()]))
    dead = await handle(delivery_of(job, attempt=MAX_ATTEMPTS), REPLAY, down, retry_delays=())
    assert dead is not None
    assert outcomes(telemetry, "memnet.replays") == outcomes(telemetry, "memnet.replay.duration") == [("failed",)]
    # They are counted when it is retried.
    assert "memnet.replay.patches" not in telemetry.values
    assert outcomes(telemetry, "memnet.jobs.dead_lettered") == [("replay_snapshot", "INTERNAL")]


async def test_the_duration_of_a_replay_starts_with_its_snapshot(services: Service, telemetry: MemoryTelemetry) -> None:
    job = await stored(services)
    down = replace(services, models=ScriptedModels([Unavailable()]))
    assert await handle(delivery_of(job), REPLAY, down, retry_delays=()) is None
    assert "memnet.replay.duration" not in telemetry.values
    clock_of(services).advance(timedelta(seconds=301))
    assert await handle(delivery_of(job, attempt=1), REPLAY, services, retry_delays=()) is None
    assert telemetry.values["memnet.replay.duration"] == [(301.0, {"outcome": "late"})]


async def test_a_dead_letter_is_counted_by_its_operation_and_code(
    services: Service, telemetry: MemoryTelemetry
) -> None:
    await handle(delivery_of(), failing(DecryptionFailed()), services, retry_delays=())
    await handle(delivery_with(b"poison"), failing(None), services, retry_delays=())
    assert outcomes(telemetry, "memnet.jobs.dead_lettered") == [
        ("replay_snapshot", "DECRYPTION_FAILED"),
        ("replay_snapshot", "MALFORMED_REQUEST"),
    ]
    assert [(span.name, span.facts["outcome"], span.failed) for span in telemetry.spans] == [
        ("replay_snapshot", "DECRYPTION_FAILED", True),
        ("replay_snapshot", "MALFORMED_REQUEST", True),
    ]


async def test_a_job_that_is_done_or_requeued_is_no_failure(services: Service, telemetry: MemoryTelemetry) -> None:
    for failure in (None, Unavailable()):
        assert await handle(delivery_of(attempt=2), failing(failure), services, retry_delays=()) is None
    assert [(span.kind, span.facts, span.failed) for span in telemetry.spans] == [
        ("consumer", {"attempt": 2, "outcome": "done"}, False)
    ] * 2
    assert "memnet.jobs.dead_lettered" not in telemetry.values


async def test_an_abandoned_message_is_recorded_as_redelivered(services: Service, telemetry: MemoryTelemetry) -> None:
    queue_of(services).available = False
    with pytest.raises(AbandonMessage):
        await handle(delivery_of(), failing(Unavailable()), services, retry_delays=())
    [span] = telemetry.spans
    assert (span.facts["outcome"], span.failed) == ("redelivered", True)


async def test_a_job_continues_the_trace_it_was_sent_in(services: Service, telemetry: MemoryTelemetry) -> None:
    delivery = replace(delivery_of(), traceparent=PARENT)
    await handle(delivery, failing(None), services, retry_delays=())
    await handle(delivery_of(), failing(None), services, retry_delays=())
    assert [span.parent for span in telemetry.spans] == [PARENT, None]


@pytest.fixture
def connected(services: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Let the functions use these services."""

    async def found() -> Service:
        return services

    monkeypatch.setattr(connection, "service", found)
    return services


def test_spans_have_the_names_of_the_functions() -> None:
    # It can be asked only once in a process.
    app.functions_bindings = {}
    functions = {function.get_function_name() for function in app.get_functions()}
    assert set(FUNCTIONS) == set(JobKind)
    assert set(FUNCTIONS.values()) <= functions


async def test_a_timer_has_a_trace_of_its_own(connected: Service, telemetry: MemoryTelemetry) -> None:
    await run_timer("tend_users", handlers.tend_users)
    assert [(span.name, span.kind, span.parent) for span in telemetry.spans] == [("tend_users", "internal", None)]


async def test_a_timer_that_fails_records_type_and_origin_without_text(
    connected: Service, telemetry: MemoryTelemetry
) -> None:
    async def fail(_: Service) -> object:
        raise KeyError(SECRET)

    with pytest.raises(TimerFailed):
        await run_timer("tend_users", fail)
    [span] = telemetry.spans
    assert span.failed
    assert str(span.facts["place"]).startswith("KeyError at ")
    assert SECRET not in str(span)


async def test_the_timer_of_lost_jobs_records_the_oldest_age(connected: Service, telemetry: MemoryTelemetry) -> None:
    await stored(connected)
    assert isinstance(connected.clock, FrozenClock)
    await run_timer("requeue_jobs", handlers.requeue_jobs)
    assert telemetry.values["memnet.replay.oldest_age"] == [(0.0, {})]
    assert telemetry.values["memnet.index.lag"] == [(0.0, {})]


async def test_without_telemetry_no_backlog_is_reported(connected: Service, telemetry: MemoryTelemetry) -> None:
    telemetry.enabled = False
    await run_timer("requeue_jobs", handlers.requeue_jobs)
    assert telemetry.values == {}


async def test_users_are_erased_before_tenants_are(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ErasureWorld()
    await world.live(U1)
    await world.request()
    left: list[dict[str, int]] = []

    async def erase_tenants(_: Service) -> Counter[str]:
        left.append(world.stored(U1))
        return Counter()

    assert world.stored(U1) != {}
    monkeypatch.setattr(erase_tenant, "erase_tenants", erase_tenants)
    await handlers.erase_users(world.services)
    assert left == [{}]
