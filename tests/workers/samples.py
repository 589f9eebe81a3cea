"""A service in memory, and deliveries to its workers."""

from dataclasses import replace

from workers.message_handling import Delivery

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.queue import MemoryQueue
from memnet.catalog import load_catalog
from memnet.domain.core.job import Job, JobKind, dump
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import new_replay
from memnet.service import Service
from memnet.wiring import in_memory
from tests.domain.snapshot_samples import snapshot
from tests.sample_settings import sample_settings

SNAPSHOT = snapshot()
JOB = Job(JobKind.REPLAY, SNAPSHOT.scope.tenant_id, SNAPSHOT.scope.user_id, SNAPSHOT.replay_id)
UNKNOWN = Job(JobKind.REPLAY, "acme", "maya", "r-1")


async def service(*, attempts: int = 0) -> Service:
    """A service with an empty queue, no marks, and the record of the replay of JOB, begun `attempts` times."""
    settings = sample_settings()
    catalog = load_catalog(settings.profiles_dir, settings.schemas_dir, settings.prompts_dir)
    services = in_memory(settings, catalog)
    replay = replace(new_replay(SNAPSHOT, services.clock.now()), attempts=attempts)
    await services.records.write(replay.key, replays.dump(replay), replaces=None)
    return services


def queue_of(services: Service) -> MemoryQueue:
    """The queue, with its other end."""
    assert isinstance(services.queue, MemoryQueue)
    return services.queue


def clock_of(services: Service) -> FrozenClock:
    """The clock, which can be moved."""
    assert isinstance(services.clock, FrozenClock)
    return services.clock


def delivery_of(job: Job = JOB, *, attempt: int = 0) -> Delivery:
    """The job's message."""
    return delivery_with(dump(job), attempt=attempt)


def delivery_with(body: bytes, *, attempt: int = 0) -> Delivery:
    """A message with any body."""
    return Delivery(body=body, message_id="m-1", session_id="acme/maya", attempt=attempt)
