"""The app under the local host, on the emulators of everything it uses."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from local.stack.key_vault_server import KeyVault
from local.stack.service_bus_server import ServiceBus
from local.stack.worker_host import WorkerHost
from memnet.domain.core.job import DEAD_LETTERS, QUEUES, JobKind
from memnet.domain.core.scope import Actor
from memnet.operations.replay.jobs import get_replay
from memnet.operations.replay.snapshots import store_snapshot
from memnet.settings import load
from memnet.wiring import connect
from tests.conftest import AzuriteAccount
from tests.domain.snapshot_samples import SCOPE, conversation
from tests.sample_settings import NOWHERE

SECONDS = 180


async def test_a_poison_message_becomes_a_dead_letter_and_the_snapshot_after_it_is_replayed(
    azurite: AzuriteAccount, container_url: str, key_vault: KeyVault, tmp_path: Path
) -> None:
    async with asyncio.timeout(SECONDS), AsyncExitStack() as stack:
        bus = stack.enter_context(ServiceBus(log=tmp_path / "service-bus.log"))
        environment = {
            **NOWHERE,
            "MEMNET_STORAGE_URL": container_url,
            "MEMNET_STORAGE_KEY": azurite.account_key,
            **bus.environment,
            **key_vault.environment,
        }
        worker_environment = {**environment, "MEMNET_SERVICE_BUS": bus.connection_string}
        worker = stack.enter_context(WorkerHost(environment=worker_environment, log=tmp_path / "worker.log"))
        services = await stack.enter_async_context(connect(load(environment)))
        client = await stack.enter_async_context(ServiceBusClient.from_connection_string(bus.connection_string))

        session, queue = f"{SCOPE.tenant_id}/{SCOPE.user_id}", QUEUES[JobKind.REPLAY]
        async with client.get_queue_sender(queue) as sender:
            await sender.send_messages(ServiceBusMessage("poison", session_id=session, message_id="p-1"))
        said = conversation("s_1", "Please always answer in Norwegian.", "I will.")
        stored = await store_snapshot(SCOPE, "c_1", said, services, actor=Actor("svc-a", frozenset()))
        assert stored.queued
        while True:
            replay = await get_replay(SCOPE, stored.replay_id, records=services.records)
            if replay["status"] not in ("queued", "running"):
                break
            await asyncio.sleep(0.1)
        assert replay["status"] in ("succeeded", "partial"), replay
        async with client.get_queue_receiver(DEAD_LETTERS) as receiver:
            [message] = await receiver.receive_messages(1, max_wait_time=SECONDS)
            await receiver.complete_message(message)
        letter = json.loads(b"".join(message.body))
        assert (letter["reason"], letter["queue"], letter["body"]) == ("MALFORMED_REQUEST", queue, "poison")
        assert (letter["message_id"], letter["session_id"]) == ("p-1", session)
        assert worker.functions()["replay_snapshot"]["failures"] == 0
        assert (await services.marks.list(limit=10, cursor=None)).items == []
