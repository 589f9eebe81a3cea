"""The SDK's asynchronous clients drive the emulator as the synchronous ones do."""

import asyncio

from azure.core.credentials import AzureKeyCredential
from azure.search.documents.aio import SearchClient

from local.stack.search_server import API_KEY
from tests.emulators.search.emulator_process import EmulatorProcess


async def test_many_at_once(emulator: EmulatorProcess, index_name: str) -> None:
    async with SearchClient(emulator.url, index_name, AzureKeyCredential(API_KEY)) as client:

        async def write(number: int) -> list[str]:
            await client.upload_documents([{"id": f"d{number}", "tenant_id": f"t{number % 4}", "title": "same"}])
            results = await client.search("same", filter=f"tenant_id eq 't{number % 4}'", top=100)
            return [hit["id"] async for hit in results]

        found = await asyncio.gather(*(write(number) for number in range(40)))
        assert all(f"d{number}" in ids for number, ids in enumerate(found))
        assert await client.get_document_count() == 40
