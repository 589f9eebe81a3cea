"""Choose the adapter that checks each prerequisite of the service."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from memnet import clients
from memnet.adapters.azure.key_vault import open_vault
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
from memnet.settings import Settings, SettingsError
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
    try:
        client = await stack.enter_async_context(open_client(settings.queue_url, key=settings.queue_key, retries=0))
    except ValueError as error:
        raise SettingsError("MEMNET_QUEUE_URL, MEMNET_QUEUE_KEY: must be sb://<namespace>") from error
    kinds = [*((name, True) for name in QUEUES.values()), (DEAD_LETTERS, False)]
    return [
        QueuePrerequisite(client, name, sessions=sessions, receives=receives, timeout_seconds=DEFAULT_TIMEOUT_SECONDS)
        for name, sessions in kinds
    ]


async def _vault(stack: AsyncExitStack, settings: Settings, writes_secrets: bool) -> list[Prerequisite]:
    vault = open_vault(
        settings.vault_url,
        token=settings.vault_token,
        ca=settings.vault_ca,
        timeout_seconds=clients.VAULT_SECONDS,
    )
    try:
        secrets = await stack.enter_async_context(vault)
    except ValueError as error:
        raise SettingsError(f"MEMNET_VAULT_URL, MEMNET_VAULT_TOKEN, MEMNET_VAULT_CA: {error}") from error
    reading = SecretReading(secrets, VAULT_SECONDS)
    return [reading, SecretWriting(secrets, VAULT_SECONDS)] if writes_secrets else [reading]
