"""Events with the storage client and the search client as they come: what the service does with both, by hand."""

import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from azure.core.credentials import AzureKeyCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.storage.blob import ContentSettings
from azure.storage.blob.aio import ContainerClient

from local.bench import event_subject as subject
from local.bench import recall_subject
from local.bench.subject import PROFILE, TENANT
from local.stack.search_server import API_KEY
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event import Event, place
from memnet.domain.events.event_search import SEARCHED, EventQuery, IndexDocument, odata_filter
from memnet.domain.recall.recall_query import RecallQuery
from memnet.operations.recall.gather import TAKE

BATCH = 1000


class EventSide:
    """Calls of azure-search-documents, and of azure-storage-blob where an event is written, with their own defaults."""

    def __init__(self, container: ContainerClient, search_url: str) -> None:
        """`container` is the service's; nothing is asked before the first call, when the service has its index."""
        self._container = container
        self._url = search_url
        self._stack = AsyncExitStack()
        self._client: SearchClient | None = None
        self._count = 0

    @property
    def calls(self) -> dict[str, Callable[[str], Awaitable[object]]]:
        """What can be measured: `search`, `search_turns`, and `put_upload`, which writes an event."""
        return {"search": self._search, "search_turns": self._search_turns, "put_upload": self._put_upload}

    async def prepare(self) -> None:
        """Connect to the index that the service has made."""
        if self._client is not None:
            return
        credential = AzureKeyCredential(API_KEY)
        async with SearchIndexClient(self._url, credential) as indexes:
            (name,) = [name async for name in indexes.list_index_names()]
        self._client = await self._stack.enter_async_context(SearchClient(self._url, name, credential))

    async def load(self, first: int, count: int) -> None:
        """Put the events numbered from `first` up to `count` into the index, as documents made by the service's code.

        Their blobs are left out: neither a search nor a write looks at another event's blob.
        """
        await self.prepare()
        for start in range(first, count, BATCH):
            events = (subject.stored_event(number) for number in range(start, min(start + BATCH, count)))
            await self._index.upload_documents([IndexDocument(event).fields() for event in events])

    async def _search(self, user: str) -> list[str]:
        """The same words, fields and filter as the service's."""
        self._count += 1
        query = EventQuery(scope=UserScope(TENANT, user), text=subject.search_words(self._count), top=subject.TOP)
        found = await self._index.search(
            query.words,
            filter=odata_filter(query),
            search_fields=["digest", "keywords", "entities"],
            select=["id", "payload"],
            top=query.top,
        )
        return [row["payload"] async for row in found]

    async def _search_turns(self, user: str) -> list[str]:
        """The first of the searches that a recall makes."""
        self._count += 1
        text = recall_subject.question(self._count)
        query = RecallQuery(scope=UserScope(TENANT, user), text=text, profiles=(PROFILE,), top=TAKE)
        found = await self._index.search(
            query.words,
            filter=odata_filter(query),
            search_fields=[SEARCHED],
            select=["id", "kind", "payload"],
            top=query.top,
        )
        return [row["payload"] async for row in found]

    async def _put_upload(self, user: str) -> None:
        """Create the blob, then index it: what an acknowledged event takes at the least."""
        self._count += 1
        body = subject.event_body(f"stock-{os.getpid()}-{self._count}", self._count)
        stored = place(Event.model_validate_json(subject.dump(body)), UserScope(TENANT, user))
        await self._container.upload_blob(
            f"bench/{stored.key.blob_name}",
            stored.data,
            content_settings=ContentSettings(content_type="application/json"),
        )
        await self._index.upload_documents([IndexDocument(stored).fields()])

    @property
    def _index(self) -> SearchClient:
        assert self._client is not None
        return self._client

    async def close(self) -> None:
        """Close the search client."""
        await self._stack.aclose()
