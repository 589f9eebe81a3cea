"""Choose the adapter that checks each prerequisite of the service."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from memnet import clients
from memnet.adapters.azure.prerequisites import (
    BlobAccess,
    ContainerPrerequisite,
    DeletionCheck,
    IndexDefinitionAccess,
    IndexDocumentAccess,
    QueuePrerequisite,
    SecretReading,
    SecretWriting,
)
from memnet.adapters.azure.service_bus_queue import DEFAULT_TIMEOUT_SECONDS, open_client
from memnet.domain.core.job import DEAD_LETTERS, QUEUES
from memnet.ports import Clock, Prerequisite, Prerequisites
from memnet.settings import Settings
from memnet.stores import Search

VAULT_SECONDS = 2 * clients.VAULT_SECONDS


@asynccontextmanager
async def look_at(
    settings: Settings, clock: Clock, search: Search, *, receives: bool, writes_secrets: bool
) -> AsyncIterator[Prerequisites]:
    """Yield the prerequisites of the services in the settings, with their own connections; nothing is sent yet.

    `search` is that of the service. `receives`: the identity must be able to receive from the queues; `writes_secrets`:
    it must be able to create secrets. Raises SettingsError.
    """
    async with AsyncExitStack() as stack:
        container = await clients.enter_container(stack, settings, clock)
        others: list[Prerequisite] = [BlobAccess(container), DeletionCheck(container)]
        others += [IndexDefinitionAccess(search.index), IndexDocumentAccess(search.index)]
        others += await _queues(stack, settings, receives)
        others += await _vault(stack, settings, writes_secrets)
        yield Prerequisites(ContainerPrerequisite(container), others)


async def _queues(stack: AsyncExitStack, settings: Settings, receives: bool) -> list[Prerequisite]:
    opening = open_client(settings.queue_url, key=settings.queue_key, retries=0)
    client = await clients.enter(stack, opening, "MEMNET_QUEUE_URL, MEMNET_QUEUE_KEY: must be sb://<namespace>")
    kinds = [*((name, True) for name in dict.fromkeys(QUEUES.values())), (DEAD_LETTERS, False)]
    return [
        QueuePrerequisite(client, name, sessions=sessions, receives=receives, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
        for name, sessions in kinds
    ]


async def _vault(stack: AsyncExitStack, settings: Settings, writes_secrets: bool) -> list[Prerequisite]:
    secrets = await clients.enter_secrets(stack, settings)
    reading = SecretReading(secrets, VAULT_SECONDS)
    return [reading, SecretWriting(secrets, VAULT_SECONDS)] if writes_secrets else [reading]
