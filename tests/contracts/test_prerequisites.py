"""What is said of each prerequisite: there, missing, wrong, denied, silent; and that looking leaves no trace."""

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient
from azure.servicebus.exceptions import ServiceBusAuthorizationError
from azure.storage.blob.aio import ContainerClient

from local.stack.azurite_server import ACCOUNT_KEY
from local.stack.key_vault_server import KeyVault
from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from memnet.adapters.azure.blob_storage import AzureBlobStorage, open_container
from memnet.adapters.azure.key_vault import open_vault
from memnet.adapters.azure.prerequisites import (
    BlobAccess,
    ContainerPrerequisite,
    IndexDefinitionAccess,
    IndexDocumentAccess,
    QueuePrerequisite,
    SecretReading,
    SecretWriting,
)
from memnet.adapters.azure.search_index import open_search
from memnet.adapters.azure.service_bus_queue import open_client
from memnet.adapters.system import SystemClock
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import DEAD_LETTERS, QUEUES, JobKind
from memnet.domain.core.prerequisite import Finding, PrerequisiteStatus
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import EventIndex, Prerequisite
from tests.contracts.conftest import Place
from tests.contracts.scripted_server import CLOSE, answer, scripted_server
from tests.emulators.key_vault.vault_client import client_of

REPLAY = QUEUES[JobKind.REPLAY]
WRONG_KEY = "d3Jvbmc="
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened
    gc.collect()  # what the SDK leaves open belongs to this test


class TestTheContainer:
    @pytest.fixture
    async def absent(self, azurite: object) -> AsyncIterator[ContainerClient]:
        """A container that a test may make."""
        account_url = azurite.account_url  # type: ignore[attr-defined]
        credential = {"account_name": "devstoreaccount1", "account_key": ACCOUNT_KEY}
        async with ContainerClient(account_url, f"c{uuid4().hex}", credential=credential) as client:
            yield client
            if await client.exists():
                await client.delete_container()

    async def test_it_is_made_once_and_left_as_it_is(self, stack: AsyncExitStack, absent: ContainerClient) -> None:
        missing = ContainerPrerequisite(await container(stack, absent.url))
        found = await missing.check()
        assert (found.standing, found.creatable) == (PrerequisiteStatus.MISSING, True)
        for _ in range(2):
            await missing.create()
            assert (await missing.check()).standing is PrerequisiteStatus.READY

    async def test_working_in_it_is_tried_without_a_trace(self, stack: AsyncExitStack, place: Place) -> None:
        found = await BlobAccess(await container(stack, place.url)).check()
        assert found.standing is PrerequisiteStatus.READY
        assert [blob.name async for blob in place.client.list_blobs()] == []

    async def test_work_waits_for_the_container(self, stack: AsyncExitStack, absent: ContainerClient) -> None:
        found = await BlobAccess(await container(stack, absent.url)).check()
        assert (found.standing, found.detail) == (PrerequisiteStatus.UNKNOWN, "the container has to be there first")

    async def test_another_account_s_key_is_denied(self, stack: AsyncExitStack, place: Place) -> None:
        with_wrong_key = await container(stack, place.url, key=WRONG_KEY)
        for prerequisite in (ContainerPrerequisite(with_wrong_key), BlobAccess(with_wrong_key)):
            assert is_denied(await prerequisite.check(), "Storage Blob Data Contributor")

    @pytest.mark.parametrize(
        ("let_through", "asked"), [(0, "GET "), (1, "GET "), (2, "PUT "), (3, "DELETE "), (4, "GET ")]
    )
    async def test_each_right_is_tried(self, stack: AsyncExitStack, let_through: int, asked: str) -> None:
        allowed = [
            answer(200),
            answer(404, "BlobNotFound"),
            answer(412, "ConditionNotMet"),
            answer(404, "BlobNotFound"),
        ]
        refused = answer(403, "AuthorizationPermissionMismatch")
        server = await stack.enter_async_context(scripted_server(*allowed[:let_through], refused))
        found = await BlobAccess(await container(stack, server.url)).check()
        assert is_denied(found, "Storage Blob Data Contributor")
        assert len(server.asked) == let_through + 1
        assert server.asked[-1][0].startswith(asked)

    async def test_a_storage_that_is_not_there_is_unreachable(self, stack: AsyncExitStack) -> None:
        server = await stack.enter_async_context(scripted_server(CLOSE))
        silent = await container(stack, server.url)
        assert (await ContainerPrerequisite(silent).check()).standing is PrerequisiteStatus.UNREACHABLE

    @pytest.mark.parametrize("code", ["ContainerBeingDeleted", "ResourceTypeMismatch"])
    async def test_a_name_that_is_still_taken_is_no_success(self, stack: AsyncExitStack, code: str) -> None:
        server = await stack.enter_async_context(scripted_server(answer(409, code)))
        with pytest.raises(Unavailable):
            await ContainerPrerequisite(await container(stack, server.url)).create()


async def container(stack: AsyncExitStack, url: str, key: str = ACCOUNT_KEY) -> AzureBlobStorage:
    opened = open_container(url, account_key=key, timeout_seconds=10, clock=SystemClock(), backoff_seconds=0.01)
    return await stack.enter_async_context(opened)


def is_denied(found: Finding, role: str) -> bool:
    return (found.standing, found.detail) == (
        PrerequisiteStatus.DENIED,
        f"the role {role} is missing, or the key is not the right one",
    )


class TestTheDefinitionOfAnIndex:
    async def test_it_matches_what_it_was_made_for_and_nothing_else(self, index: EventIndex) -> None:
        plain = IndexVersion(index.new_name("plain"))
        vectors = IndexVersion(index.new_name("vectors"), "model", 3)
        for version in (plain, vectors):
            await index.create(version)
            assert await index.matches(version)
        assert not await index.matches(IndexVersion(vectors.name))
        assert not await index.matches(IndexVersion(vectors.name, "model", 4))
        assert not await index.matches(IndexVersion(plain.name, "model", 3))


class TestSearch:
    async def test_both_rights_are_tried_without_a_trace(
        self, stack: AsyncExitStack, search_emulator: SearchEmulator
    ) -> None:
        index = await self.index(stack, search_emulator.url)
        for prerequisite in rights(index):
            assert (await prerequisite.check()).standing is PrerequisiteStatus.READY
        server = await stack.enter_async_context(scripted_server(answer(404)))
        for prerequisite in rights(await self.index(stack, server.url.rpartition("/account")[0])):
            await prerequisite.check()
        assert [asked.partition("/")[0].strip() for asked, *_ in server.asked] == ["GET", "POST"]
        assert b'"@search.action":"delete"' in server.asked[1][2]

    @pytest.mark.parametrize("script", [answer(403), CLOSE])
    async def test_a_refusal_names_the_role_and_silence_does_not(self, stack: AsyncExitStack, script: bytes) -> None:
        server = await stack.enter_async_context(scripted_server(script))
        index = await self.index(stack, server.url.rpartition("/account")[0])
        roles = ("memnet Index Manager (or Search Service Contributor)", "Search Index Data Contributor")
        for prerequisite, role in zip(rights(index), roles, strict=True):
            found = await prerequisite.check()
            assert is_denied(found, role) if script != CLOSE else found.standing is PrerequisiteStatus.UNREACHABLE

    async def index(self, stack: AsyncExitStack, url: str) -> EventIndex:
        opened = open_search(
            url, key="local-search-admin-key", prefix=f"t{uuid4().hex}", timeout_seconds=10, backoff_seconds=0.01
        )
        return await stack.enter_async_context(opened)


def rights(index: EventIndex) -> list[Prerequisite]:
    return [IndexDefinitionAccess(index), IndexDocumentAccess(index)]


class TestTheVault:
    async def check(self, stack: AsyncExitStack, vault: KeyVault, token: str) -> list[Finding]:
        opened = open_vault(vault.url, token=token, ca=vault.ca_file, timeout_seconds=5, backoff_seconds=0.01)
        secrets = await stack.enter_async_context(opened)
        return [await right(secrets, 10).check() for right in (SecretReading, SecretWriting)]

    async def test_both_rights_are_tried_without_a_trace(self, stack: AsyncExitStack, key_vault: KeyVault) -> None:
        found = await self.check(stack, key_vault, key_vault.token)
        assert [finding.standing for finding in found] == [PrerequisiteStatus.READY, PrerequisiteStatus.READY]
        with client_of(key_vault) as client:
            assert "memnet-ping" not in [secret.name for secret in client.list_properties_of_secrets()]

    async def test_a_refusal_names_the_role(self, stack: AsyncExitStack, key_vault: KeyVault) -> None:
        reading, writing = await self.check(stack, key_vault, "another-token")
        assert is_denied(reading, "Key Vault Secrets User")
        assert is_denied(writing, "Key Vault Secrets Officer")

    async def test_a_vault_that_is_not_there_is_unreachable(self, stack: AsyncExitStack, tmp_path: Path) -> None:
        vault = KeyVault(log=tmp_path / "log", directory=tmp_path / "data")
        with vault:
            pass
        found = await self.check(stack, vault, vault.token)
        assert {finding.standing for finding in found} == {PrerequisiteStatus.UNREACHABLE}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceBus]:
    with ServiceBus(log=tmp_path_factory.mktemp("service-bus") / "log") as running:
        yield running


class TestQueues:
    async def check(
        self, stack: AsyncExitStack, url: str, name: str = REPLAY, *, sessions: bool = True, receives: bool = True
    ) -> Finding:
        client = await stack.enter_async_context(open_client(url, key="key", retries=0))
        queue = QueuePrerequisite(client, name, sessions=sessions, receives=receives, timeout_seconds=10)
        return await queue.check()

    async def test_every_queue_is_as_it_has_to_be(self, stack: AsyncExitStack, broker: ServiceBus) -> None:
        for name in QUEUES.values():
            assert (await self.check(stack, broker.url, name)).standing is PrerequisiteStatus.READY
        assert (await self.check(stack, broker.url, DEAD_LETTERS, sessions=False)).standing is PrerequisiteStatus.READY

    async def test_nothing_is_taken_from_a_queue(self, stack: AsyncExitStack, broker: ServiceBus) -> None:
        client = await stack.enter_async_context(open_client(broker.url, key="key", retries=0))
        async with client.get_queue_sender(DEAD_LETTERS) as sender:
            await sender.send_messages(ServiceBusMessage("buried"))
        for receives in (True, False):
            await self.check(stack, broker.url, DEAD_LETTERS, sessions=False, receives=receives)
        async with client.get_queue_receiver(DEAD_LETTERS, max_wait_time=10) as receiver:
            (message,) = await receiver.receive_messages(1)
            assert message.delivery_count == 0
            await receiver.complete_message(message)

    async def test_a_missing_queue_is_named(self, stack: AsyncExitStack, broker: ServiceBus) -> None:
        found = await self.check(stack, broker.url, "nowhere")
        assert (found.standing, found.subject, found.creatable) == (PrerequisiteStatus.MISSING, "queue: nowhere", False)
        assert "with sessions and duplicate detection" in found.detail

    @pytest.mark.parametrize(("name", "sessions"), [(DEAD_LETTERS, True), (REPLAY, False)])
    async def test_a_queue_of_the_other_kind_is_wrong(
        self, stack: AsyncExitStack, broker: ServiceBus, name: str, sessions: bool
    ) -> None:
        assert (await self.check(stack, broker.url, name, sessions=sessions)).standing is PrerequisiteStatus.WRONG
        sender_only = await self.check(stack, broker.url, name, sessions=sessions, receives=False)
        assert sender_only.standing is PrerequisiteStatus.READY

    @pytest.mark.parametrize(("call", "role"), [("sender", "Sender"), ("receiver", "Receiver")])
    async def test_a_refusal_names_the_role(
        self, stack: AsyncExitStack, broker: ServiceBus, monkeypatch: pytest.MonkeyPatch, call: str, role: str
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise ServiceBusAuthorizationError

        monkeypatch.setattr(ServiceBusClient, f"get_queue_{call}", refuse)
        assert is_denied(await self.check(stack, broker.url), f"Azure Service Bus Data {role}")
        without = await self.check(stack, broker.url, receives=False)
        assert (without.standing is PrerequisiteStatus.READY) == (call == "receiver")

    async def test_a_namespace_that_is_not_there_is_unreachable(self, stack: AsyncExitStack) -> None:
        assert (await self.check(stack, "sb://127.0.0.1:1")).standing is PrerequisiteStatus.UNREACHABLE
