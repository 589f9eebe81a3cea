"""EventIndex on Azure AI Search: the SDK's client for the indexes, its `send_request` for what is in them.

Documents are sent in batches of our own making: the SDK's asynchronous client splits a batch that was too large
wrongly, and its models cost more than the rest of a search. Its pipeline (retry, authentication, transport) is used
for everything.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import orjson
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import AzureError, HttpResponseError, ResourceNotFoundError
from azure.core.pipeline.transport import AioHttpTransport
from azure.core.rest import AsyncHttpResponse, HttpRequest
from azure.identity.aio import DefaultAzureCredential
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchResourceEncryptionKey

from memnet.adapters.azure.search_definition import definition, encryption_key_of, is_definition
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import SEARCHED, IndexKind, IndexQuery, Vector, odata_filter, position, quote
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import EventHit, Hits, Indexed, IndexedTurn, IndexMissing

API_VERSION = "2026-04-01"
MAX_ACTIONS = 1000
MAX_BATCH_BYTES = 15 * 1024 * 1024
"""Azure's limit is 16 MB for the whole request."""
OPERATION_TRIES = 2
"""An operation may take as long as this many tries that hang; its quick failures are retried more often."""
KEY_TRIES = 3
_PASSING = frozenset({409, 422, 429, 503})
"""Temporary statuses of a refused document: version conflict, index busy, throttled."""
_RETRIED = frozenset({"GET", "PUT", "POST", "DELETE"})
"""Every call is safe to repeat, POST too: uploading and deleting by key, and searching."""

_PREFIX = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""The allowed beginning of an index's name."""

_NEWEST = "timestamp desc,position asc,id asc"
_TURN_FIELDS = ("tenant_id", "user_id", "snapshot")

_log = logging.getLogger("memnet.search")

T = TypeVar("T")
Actions = list[dict[str, Any]]
Rows = list[EventHit]


class SearchEventIndex:
    """The EventIndex port; errors as the port says."""

    def __init__(
        self,
        client: SearchIndexClient,
        prefix: str,
        timeout_seconds: float,
        backoff_seconds: float,
        encryption_key: SearchResourceEncryptionKey | None = None,
    ) -> None:
        """Use `open_search`."""
        self._client = client
        self._encryption_key = encryption_key
        self._prefix = prefix
        self._timeout = timeout_seconds
        self._backoff = backoff_seconds

    def new_name(self, suffix: str) -> str:
        return f"{self._prefix}-{suffix}"

    async def create(self, version: IndexVersion) -> None:
        await self._bounded(self._client.create_or_update_index(definition(version, self._encryption_key)))

    async def matches(self, version: IndexVersion) -> bool:
        wanted = definition(version, self._encryption_key)
        return is_definition(await self._bounded(self._client.get_index(version.name)), wanted)

    async def drop(self, name: str) -> None:
        try:
            await self._bounded(self._client.delete_index(name))
        except IndexMissing:
            return

    async def upload(self, name: str, documents: Sequence[Indexed]) -> frozenset[str]:
        actions = [{"@search.action": "upload", **document.fields()} for document in documents]
        return await self._index(name, actions)

    async def delete(self, name: str, keys: Sequence[str]) -> frozenset[str]:
        return await self._index(name, [{"@search.action": "delete", "id": key} for key in keys])

    async def search(self, name: str, query: IndexQuery, vector: Vector | None) -> Hits:
        """Rank by BM25 of the words, or by the nearest vectors. Raises IndexMissing, Unavailable."""
        body: dict[str, Any] = {"filter": odata_filter(query), "select": "id,kind,payload,embedding"}
        # One more shows whether more follow; another one, because the place itself is found again.
        body["top"] = query.top + (1 if query.after is None else 2)
        if query.skip:
            body["skip"] = query.skip
        if query.words is None:
            return _hits(await self._search(name, body | {"search": "*", "orderby": _NEWEST}), query)
        if vector is not None:
            nearest = {"kind": "vector", "vector": vector, "fields": "vector", "k": query.skip + body["top"]}
            found = _settled(await self._search(name, body | {"vectorQueries": [nearest]}))
            return _hits([replace(hit, score=_cosine(hit.score)) for hit in found], query)
        body |= {"search": query.words, "searchFields": SEARCHED, "searchMode": "any"}
        ordered = body | {"orderby": "search.score() desc,id asc"}
        if query.skip:
            return _hits(await self._search(name, ordered), query)
        found = _settled(await self._search(name, body))
        # Results of equal score come in the order of indexing, which a rebuild changes. Ordering makes the service sort
        # all results, so it is requested only when the page would end between equals that cannot be left out.
        if len(found) > query.top and found[-1].score == found[-2].score:
            better = [hit for hit in found if hit.score > found[-1].score]
            if not query.has_pages and 2 * len(better) >= query.top:
                return Hits(better, more=True)
            found = await self._search(name, ordered)
        return _hits(found, query)

    async def list(self, name: str, tenant_id: str | None, *, limit: int, after: str | None) -> Sequence[EventHit]:
        where = {"kind": IndexKind.EVENT.value} | ({} if tenant_id is None else {"tenant_id": tenant_id})
        return _listed(await self._list(name, where, "id,payload", limit, after))

    async def list_turns(
        self, name: str, where: Mapping[str, str], *, limit: int, after: str | None
    ) -> Sequence[IndexedTurn]:
        own = {"kind": IndexKind.TURN.value}
        found = await self._list(name, {**own, **where}, f"id,payload,{','.join(_TURN_FIELDS)}", limit, after)
        return [
            IndexedTurn(key=row["id"], data=row["payload"].encode(), **{one: row[one] for one in _TURN_FIELDS})
            for row in found
        ]

    async def list_of_user(self, name: str, scope: UserScope, *, limit: int, after: str | None = None) -> Sequence[str]:
        where = {"tenant_id": scope.tenant_id, "user_id": scope.user_id}
        return [row["id"] for row in await self._list(name, where, "id", limit, after)]

    async def _list(
        self, name: str, where: Mapping[str, str], select: str, limit: int, after: str | None
    ) -> Sequence[dict[str, Any]]:
        parts = [f"{field} eq {quote(value)}" for field, value in where.items()]
        # From `after` inclusive: another key could share its position.
        parts += [] if after is None else [f"position ge {position(after)}"]
        body = {"search": "*", "select": select, "orderby": "position asc,id asc", "top": limit + 1}
        found = await self._rows(name, body | {"filter": " and ".join(parts)})
        return [row for row in found if after is None or row["id"] > after][:limit]

    async def ping(self) -> None:
        url = f"/indexes?$select=name&api-version={API_VERSION}"
        await self._bounded(self._send(HttpRequest("GET", url)))

    async def _search(self, name: str, body: dict[str, Any]) -> Rows:
        return _listed(await self._rows(name, body))

    async def _rows(self, name: str, body: dict[str, Any]) -> Sequence[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        following: dict[str, Any] | None = body
        while following is not None:
            response = await self._bounded(self._send(_post(name, "search.post.search", following)))
            answer = orjson.loads(response.content)
            found += answer["value"]
            # The service cuts an answer short only when it would become too large.
            following = answer.get("@search.nextPageParameters")
        return found

    async def _index(self, name: str, actions: Actions) -> frozenset[str]:
        refused: set[str] = set()
        for batch in _batches(actions):
            refused |= await self._index_batch(name, batch)
        return frozenset(refused)

    async def _index_batch(self, name: str, actions: Actions) -> set[str]:
        """Send a batch, retry documents that were refused temporarily, and halve a batch that is too large."""
        refused: set[str] = set()
        for attempt in range(KEY_TRIES):
            if attempt:
                await asyncio.sleep(self._backoff * 2**attempt)
            try:
                response = await self._bounded(self._send(_post(name, "search.index", {"value": actions})))
            except HttpResponseError as error:
                if error.status_code != 413:
                    raise
                if len(actions) == 1:
                    return refused | {str(actions[0]["id"])}
                middle = len(actions) // 2
                halves = [await self._index_batch(name, half) for half in (actions[:middle], actions[middle:])]
                return refused.union(*halves)
            failed = {
                row["key"]: row["statusCode"] for row in orjson.loads(response.content)["value"] if not row["status"]
            }
            refused |= {key for key, status in failed.items() if status not in _PASSING}
            actions = [action for action in actions if failed.get(action["id"]) in _PASSING]
            if not actions:
                return refused
        return refused | {str(action["id"]) for action in actions}

    async def _send(self, request: HttpRequest) -> AsyncHttpResponse:
        response = await self._client.send_request(request, retry_on_methods=_RETRIED)
        if response.status_code in (200, 201, 207):
            return response
        if response.status_code == 404:
            raise ResourceNotFoundError(response=response)
        raise HttpResponseError(response=response)

    async def _bounded(self, call: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._timeout * OPERATION_TRIES):
                return await call
        except (AzureError, TimeoutError) as error:
            raise _translated(error) from error


@asynccontextmanager
async def open_search(
    url: str,
    *,
    key: str | None,
    prefix: str,
    timeout_seconds: float,
    backoff_seconds: float = 0.2,
    encryption_key: str | None = None,
    encryption_identity: str | None = None,
) -> AsyncIterator[SearchEventIndex]:
    """Connect to the search service at `url`, with an API key or, without one, an Entra identity.

    `timeout_seconds` bounds one try. Each index is encrypted with the key at the URL `encryption_key`, which the search
    service reads as `encryption_identity`. Nothing is sent before the first call. Raises ValueError for an address, a
    prefix or a key that is none, and for an Entra identity over plain http.
    """
    own_key = None if encryption_key is None else encryption_key_of(encryption_key, encryption_identity)
    if not url.startswith("https://" if key is None else ("https://", "http://")) or not _PREFIX.fullmatch(prefix):
        raise ValueError(url)
    credential = DefaultAzureCredential() if key is None else AzureKeyCredential(key)
    transport = AioHttpTransport(
        use_env_settings=False, connection_timeout=timeout_seconds, read_timeout=timeout_seconds
    )
    async with transport:
        client = SearchIndexClient(
            url,
            credential,
            transport=transport,
            api_version=API_VERSION,
            retry_total=3,
            retry_backoff_factor=backoff_seconds,
            retry_backoff_max=2,
        )
        try:
            yield SearchEventIndex(client, prefix, timeout_seconds, backoff_seconds, own_key)
        finally:
            if isinstance(credential, DefaultAzureCredential):
                await credential.close()


def _listed(rows: Sequence[dict[str, Any]]) -> Rows:
    return [_hit(row) for row in rows]


def _hit(row: dict[str, Any]) -> EventHit:
    kind = IndexKind(row.get("kind") or IndexKind.EVENT)
    return EventHit(row["id"], row["payload"].encode(), row["@search.score"], kind, row.get("embedding"))


def _cosine(score: float) -> float:
    """The cosine of two vectors by the score of their nearness (Microsoft Learn, "Relevance in vector search")."""
    return 2 - 1 / score


def _settled(hits: Rows) -> Rows:
    return sorted(hits, key=lambda hit: (-hit.score, hit.key))


def _hits(found: Rows, query: IndexQuery) -> Hits:
    found = [hit for hit in found if query.after is None or hit.key != query.after.key]
    return Hits(found[: query.top], len(found) > query.top)


def _post(name: str, action: str, body: dict[str, Any]) -> HttpRequest:
    url = f"/indexes('{name}')/docs/{action}?api-version={API_VERSION}"
    # Written as the bytes that `_batches` has counted.
    content = orjson.dumps(body)
    return HttpRequest("POST", url, content=content, headers={"Content-Type": "application/json"})


def _batches(actions: Actions) -> Iterator[Actions]:
    """Cut into batches of at most MAX_ACTIONS and MAX_BATCH_BYTES; a document over it goes alone, to be refused."""
    batch: Actions = []
    size = 0
    for action in actions:
        length = len(orjson.dumps(action)) + 1
        if batch and (len(batch) == MAX_ACTIONS or size + length > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(action)
        size += length
    if batch:
        yield batch


def _translated(error: AzureError | TimeoutError) -> Exception:
    """Translate a failure: IndexMissing, Unavailable, or, for an invalid request, the error itself."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if status == 404:
        return IndexMissing()
    if status in (400, 405, 413, 415):
        return error
    request_id = response.headers.get("request-id") if response is not None else None
    _log.warning("search: %s status=%s request=%s", type(error).__name__, status, request_id)
    return Unavailable(dependency="search")
