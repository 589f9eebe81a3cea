"""The SDK's asynchronous clients drive the emulator as the synchronous ones do."""

import asyncio
from uuid import uuid4

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchAlias
from azure.search.documents.models import VectorizedQuery

from tests.emulators.search.emulator_process import ADMIN_KEY, EmulatorProcess, events_index


def credential() -> AzureKeyCredential:
    return AzureKeyCredential(ADMIN_KEY)


async def test_the_life_of_an_index(emulator: EmulatorProcess) -> None:
    name, alias = f"made-{uuid4().hex[:8]}", f"alias-{uuid4().hex[:8]}"
    async with SearchIndexClient(emulator.url, credential()) as indexes:
        created = await indexes.create_index(events_index(name))
        assert await indexes.get_index(name) == created
        assert (await indexes.create_or_update_index(created)).e_tag != created.e_tag
        assert name in [found async for found in indexes.list_index_names()]
        await indexes.create_or_update_alias(SearchAlias(name=alias, indexes=[name]))
        assert (await indexes.get_index_statistics(name)).document_count == 0
        assert (await indexes.get_service_statistics()).counters.index_counter.usage >= 1
        await indexes.delete_alias(alias)
        await indexes.delete_index(name)
        with pytest.raises(ResourceNotFoundError):
            await indexes.get_index(name)


async def test_documents_and_searches(emulator: EmulatorProcess, index_name: str) -> None:
    async with SearchClient(emulator.url, index_name, credential()) as client:
        documents = [
            {"id": f"d{number}", "title": "boat" if number % 2 else "car", "count": number, "embedding": [1, number, 0]}
            for number in range(120)
        ]
        assert all(result.succeeded for result in await client.upload_documents(documents))
        (failed,) = await client.merge_documents([{"id": "missing", "title": "x"}])
        assert (failed.succeeded, failed.status_code) == (False, 404)
        await client.merge_or_upload_documents([{"id": "d1", "digest": "sails"}])
        await client.delete_documents([{"id": "d3"}])
        assert await client.get_document_count() == 119
        assert (await client.get_document("d1"))["digest"] == "sails"
        results = await client.search("boat", filter="count lt 10", include_total_count=True, order_by=["count desc"])
        assert await results.get_count() == 4
        assert [hit["id"] async for hit in results] == ["d9", "d7", "d5", "d1"]
        results = await client.search("*", order_by=["count"], facets=["done"])
        assert len([hit async for hit in results]) == 119
        query = VectorizedQuery(vector=[1, 0, 0], k_nearest_neighbors=3, fields="embedding")
        results = await client.search(None, vector_queries=[query])
        assert [hit["id"] async for hit in results] == ["d0", "d1", "d2"]
        with pytest.raises(HttpResponseError, match="Could not find a property named 'nope'"):
            _ = [hit async for hit in await client.search("*", filter="nope eq 1")]


async def test_many_at_once(emulator: EmulatorProcess, index_name: str) -> None:
    async with SearchClient(emulator.url, index_name, credential()) as client:

        async def write(number: int) -> list[str]:
            await client.upload_documents([{"id": f"d{number}", "tenant_id": f"t{number % 4}", "title": "same"}])
            results = await client.search("same", filter=f"tenant_id eq 't{number % 4}'", top=100)
            return [hit["id"] async for hit in results]

        found = await asyncio.gather(*(write(number) for number in range(40)))
        assert all(f"d{number}" in ids for number, ids in enumerate(found))
        assert await client.get_document_count() == 40
