"""The app under the local host, on the emulators of everything it uses."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from local.stack.key_vault_server import KeyVault
from local.stack.service_bus_server import ServiceBus
from local.stack.worker_host import WorkerHost
from memnet.domain.core.job import DEAD_LETTERS, QUEUES, Job, JobKind, dump
from memnet.domain.core.scope import Actor
from memnet.operations.replay.jobs import get_replay
from memnet.operations.replay.snapshots import store_snapshot
from memnet.service import Service
from memnet.settings import load
from memnet.wiring import connect
from tests.conftest import AzuriteAccount
from tests.domain.snapshot_samples import SCOPE, conversation
from tests.sample_settings import NOWHERE

SECONDS = 180


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceBus]:
    with ServiceBus(log=tmp_path_factory.mktemp("service-bus") / "log") as running:
        yield running


@dataclass
class World:
    """A worker process, and services on the same emulators."""

    worker: WorkerHost
    services: Service
    client: ServiceBusClient


@pytest.fixture
async def world(
    azurite: AzuriteAccount, container_url: str, key_vault: KeyVault, bus: ServiceBus, tmp_path: Path
) -> AsyncIterator[World]:
    environment = {
        **NOWHERE,
        "MEMNET_STORAGE_URL": container_url,
        "MEMNET_STORAGE_KEY": azurite.account_key,
        **bus.environment,
        **key_vault.environment,
    }
    async with AsyncExitStack() as stack:
        worker_environment = {**environment, "MEMNET_SERVICE_BUS": bus.connection_string}
        worker = stack.enter_context(WorkerHost(environment=worker_environment, log=tmp_path / "worker.log"))
        settings = load(environment)
        services = await stack.enter_async_context(connect(settings))
        client = ServiceBusClient.from_connection_string(bus.connection_string)
        yield World(worker, services, await stack.enter_async_context(client))


async def dead_letter(client: ServiceBusClient) -> dict[str, Any]:
    async with client.get_queue_receiver(DEAD_LETTERS) as receiver:
        [message] = await receiver.receive_messages(1, max_wait_time=SECONDS)
        await receiver.complete_message(message)
        letter: dict[str, Any] = json.loads(b"".join(message.body))
        return letter


async def test_a_poison_message_becomes_a_dead_letter_and_the_snapshot_after_it_is_replayed(world: World) -> None:
    async with world.client.get_queue_sender(QUEUES[JobKind.REPLAY]) as sender:
        session = f"{SCOPE.tenant_id}/{SCOPE.user_id}"
        await sender.send_messages(ServiceBusMessage("poison", session_id=session, message_id="p-1"))
    stored = await store_snapshot(
        SCOPE,
        "c_1",
        conversation("s_1", "Please always answer in Norwegian.", "I will."),
        world.services,
        actor=Actor("svc-a", frozenset()),
    )
    assert stored.queued
    replay = await ended(world, stored.replay_id)
    assert replay["status"] in ("succeeded", "partial"), replay
    letter = await dead_letter(world.client)
    assert (letter["reason"], letter["queue"], letter["body"]) == (
        "MALFORMED_REQUEST",
        QUEUES[JobKind.REPLAY],
        "poison",
    )
    assert (letter["message_id"], letter["session_id"]) == ("p-1", session)
    counts = world.worker.functions()["replay_snapshot"]
    assert counts["failures"] == 0
    assert (await world.services.marks.list(limit=10, cursor=None)).items == []


async def ended(world: World, replay_id: str) -> dict[str, Any]:
    async with asyncio.timeout(SECONDS):
        while True:
            replay = await get_replay(SCOPE, replay_id, records=world.services.records)
            if replay["status"] not in ("queued", "running"):
                return replay
            await asyncio.sleep(0.1)


async def test_a_job_of_the_wrong_queue_becomes_a_dead_letter(world: World) -> None:
    job = Job(JobKind.REPLAY, "t1", "u1", "r-1")
    async with world.client.get_queue_sender(QUEUES[JobKind.REINDEX]) as sender:
        await sender.send_messages(ServiceBusMessage(dump(job), session_id="t1"))
    letter = await dead_letter(world.client)
    assert (letter["reason"], letter["queue"]) == ("MALFORMED_REQUEST", QUEUES[JobKind.REINDEX])


async def test_a_timer_runs_on_request(world: World) -> None:
    world.worker.fire("compact_documents")
    async with asyncio.timeout(SECONDS):
        while True:
            counts = world.worker.functions()["compact_documents"]
            if counts["invocations"]:
                break
            await asyncio.sleep(0.05)
    assert counts["failures"] == 0
