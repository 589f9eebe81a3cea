"""BlobStorage on Azure: the REST requests of the Blob service, and one translation of errors."""

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError
from azure.core.pipeline import AsyncPipeline
from azure.core.pipeline.transport import AioHttpTransport
from azure.core.rest import AsyncHttpResponse, HttpRequest
from azure.storage.blob.aio import LinearRetry

from memnet.adapters.azure.blob_listing import BlobListing, listing_query, parse_listing
from memnet.adapters.azure.credentials import storage_credential, storage_policy
from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import InvalidCursor, Unavailable
from memnet.domain.core.scope import StorageETag
from memnet.ports import (
    Clock,
    ListedBlob,
    Page,
    StoreConflict,
    StoredBlob,
)

API_VERSION = "2026-06-06"
"""The version of the Blob service's REST interface."""

OPERATION_TRIES = 2
"""An operation may take as long as this many tries that hang; its quick failures are retried more often."""

WHOLE_BODY_BYTES = 1 << 20
"""Larger bodies are sent in chunks: aiohttp warns that one write of them could hold up the event loop."""

PATH = "/!$&'()*+,;=:@"
"""Characters that stay unescaped in a URL's path besides those of `quote` (RFC 3986, 3.3), as in aiohttp."""

_log = logging.getLogger("memnet.storage")


class AzureBlobStorage:
    """The BlobStorage port. Names that are read or written are made of checked identifiers, so none needs escaping.

    All requests go through azure-core's public pipeline with three policies (retry, authorization, transport): the
    SDK's blob client sends the same bytes through sixteen policies and generated (de)serializers, at three to ten
    times the processor time.
    """

    def __init__(
        self,
        url: str,
        pipeline: AsyncPipeline[HttpRequest, AsyncHttpResponse],
        clock: Clock,
        timeout_seconds: float,
    ) -> None:
        """Use `open_container`."""
        self._url = url
        self._pipeline = pipeline
        self._clock = clock
        self._timeout = timeout_seconds

    async def get(self, name: str, known: StoredBlob | None = None) -> StoredBlob | None:
        condition: dict[str, str] = {} if known is None else {"If-None-Match": known.storage_etag}
        response = await self._send("GET", f"/{name}", condition)
        if response.status_code == 200:
            return StoredBlob(response.content, StorageETag(response.headers["ETag"]))
        if response.status_code == 304:
            return known
        # A missing container is 404 too, which says nothing about the blob.
        if _is_missing_blob(response):
            return None
        raise _refused(response)

    async def put(
        self,
        name: str,
        data: bytes,
        *,
        replaces: StorageETag | None,
        metadata: Mapping[str, str] | None = None,
        known_at: datetime | None = None,
    ) -> StorageETag:
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "x-ms-blob-type": "BlockBlob",
            **{f"x-ms-meta-{key}": value for key, value in (metadata or {}).items()},
        }
        # Never If-Match: *, which the emulator treats differently from Azure.
        if replaces is None:
            headers["If-None-Match"] = "*"
        else:
            headers["If-Match"] = replaces
        response = await self._send("PUT", f"/{name}", headers, data, known_at)
        if response.status_code == 201:
            return StorageETag(response.headers["ETag"])
        raise _refused(response)

    async def create_log(
        self, name: str, *, metadata: Mapping[str, str] | None = None, known_at: datetime | None = None
    ) -> None:
        headers = {
            "Content-Type": "application/json",
            "Content-Length": "0",
            "x-ms-blob-type": "AppendBlob",
            "If-None-Match": "*",
            **{f"x-ms-meta-{key}": value for key, value in (metadata or {}).items()},
        }
        response = await self._send("PUT", f"/{name}", headers, b"", known_at)
        if response.status_code != 201:
            raise _refused(response)

    async def append(self, name: str, data: bytes, *, offset: int, known_at: datetime | None = None) -> bool:
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "x-ms-blob-condition-appendpos": str(offset),
        }
        response = await self._send("PUT", f"/{name}?comp=appendblock", headers, data, known_at)
        if response.status_code == 201:
            return True
        if _is_missing_blob(response):
            return False
        raise _refused(response)

    async def delete(
        self, name: str, *, tag: StorageETag | None = None, copy: str = "", known_at: datetime | None = None
    ) -> None:
        place = quote(name, safe=PATH)
        headers = {"x-ms-delete-snapshots": "include"} | ({} if tag is None else {"If-Match": tag})
        if copy:
            # Source: Delete Blob (REST API): the query names the version or the snapshot.
            place, headers = f"{place}?{quote(copy, safe='=:')}", {}
        response = await self._send("DELETE", f"/{place}", headers, dated=known_at)
        status, code = response.status_code, response.headers.get("x-ms-error-code")
        if status == 202 or _is_missing_blob(response) or (copy and status == 404 and code != "ContainerNotFound"):
            return
        # A missing blob does not meet the condition either; an earlier try of this very call may have removed it.
        if status == 412 and not copy and await self.get(place) is None:
            return
        raise _refused(response)

    async def list(
        self, prefix: str, *, limit: int, cursor: str | None, metadata: bool = False, copies: bool = False
    ) -> Page[ListedBlob]:
        include = [*(["metadata"] if metadata else []), *(["snapshots", "versions", "deleted"] if copies else [])]
        page = await self._page(prefix, prefix, limit, cursor, include=include)
        return Page(page.blobs, cursors.encode(prefix, page.marker) if page.marker else None)

    async def list_folders(self, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        listing = f"{prefix}*/"
        page = await self._page(listing, prefix, limit, cursor, delimiter="/")
        return Page(page.folders, cursors.encode(listing, page.marker) if page.marker else None)

    async def _page(
        self,
        listing: str,
        prefix: str,
        limit: int,
        cursor: str | None,
        *,
        include: Sequence[str] = (),
        delimiter: str = "",
    ) -> BlobListing:
        """Return one page of the listing that the cursor is bound to."""
        marker = None if cursor is None else cursors.decode(listing, cursor)
        query = listing_query(prefix, limit=limit, marker=marker, include=include, delimiter=delimiter)
        response = await self._send("GET", f"?{query}", {})
        if response.status_code == 400 and marker is not None:
            raise InvalidCursor from _refused(response)
        if response.status_code != 200:
            raise _refused(response)
        try:
            return await parse_listing(response.content)
        except ValueError as error:
            _log.warning("blob storage: %s", error)
            raise Unavailable(dependency="blob_storage") from error

    @property
    def name(self) -> str:
        return self._url.rpartition("/")[2]

    async def ping(self) -> None:
        if not await self.exists():
            raise Unavailable(dependency="blob_storage")

    async def exists(self) -> bool:
        """Get Container Properties: whether there is one. Raises Unavailable."""
        response = await self._send("GET", "?restype=container", {})
        if response.status_code == 404:
            return False
        if response.status_code != 200:
            raise _refused(response)
        return True

    async def create(self) -> None:
        """Create the container unless it exists. Raises Unavailable."""
        response = await self._send("PUT", "?restype=container", {"Content-Length": "0"})
        # A container that is being deleted keeps its name, too.
        if response.status_code != 201 and response.headers.get("x-ms-error-code") != "ContainerAlreadyExists":
            raise _refused(response)

    async def _send(
        self,
        method: str,
        place: str,
        headers: dict[str, str],
        data: bytes | None = None,
        dated: datetime | None = None,
    ) -> AsyncHttpResponse:
        headers["x-ms-version"] = API_VERSION
        headers["x-ms-date"] = format_datetime(dated or self._clock.now(), usegmt=True)
        content = io.BytesIO(data) if data is not None and len(data) > WHOLE_BODY_BYTES else data
        request = HttpRequest(method, self._url + place, headers=headers, content=content)
        try:
            # The transport's timeouts are per connect and per read: a server that drips would never meet them.
            async with asyncio.timeout(self._timeout * OPERATION_TRIES):
                return (await self._pipeline.run(request)).http_response
        except (AzureError, TimeoutError) as error:
            raise _translated(error) from error


@asynccontextmanager
async def open_container(
    url: str,
    *,
    account_key: str | None,
    timeout_seconds: float,
    clock: Clock,
    backoff_seconds: float = 0.3,
) -> AsyncIterator[AzureBlobStorage]:
    """Connect to the container at `url`, with the account's key or, without one, an Entra identity.

    `timeout_seconds` bounds one try, `backoff_seconds` is waited between tries, give or take a third.
    Connections are pooled until the context ends. Nothing is sent before the first call. Raises ValueError for an
    Entra identity over plain http.
    """
    credential = storage_credential(url, account_key)
    # Without use_env_settings=False aiohttp asks for proxies and .netrc in a thread, twice per request.
    transport = AioHttpTransport(
        use_env_settings=False, connection_timeout=timeout_seconds, read_timeout=timeout_seconds
    )
    async with transport:
        try:
            policies: list[Any] = [_retry(backoff_seconds), storage_policy(credential)]
            pipeline: AsyncPipeline[HttpRequest, AsyncHttpResponse] = AsyncPipeline(transport, policies)
            yield AzureBlobStorage(url.rstrip("/"), pipeline, clock, timeout_seconds)
        finally:
            if not hasattr(credential, "named_key"):
                await credential.close()


def _retry(backoff: float) -> LinearRetry:
    """Three more tries on connection errors and 5xx; with the SDK's own pauses a dead server takes 83 s to admit."""
    return LinearRetry(backoff=backoff, retry_total=3, random_jitter_range=backoff / 3)  # type: ignore[arg-type]


def _is_missing_blob(response: AsyncHttpResponse) -> bool:
    return response.status_code == 404 and response.headers.get("x-ms-error-code") == "BlobNotFound"


def _refused(response: AsyncHttpResponse) -> Exception:
    """Return the port's error for an unexpected response, with the response as its cause."""
    error = HttpResponseError(response=response)
    translated = _translated(error)
    if translated is not error:
        translated.__cause__ = error
    return translated


def _translated(error: AzureError | TimeoutError) -> Exception:
    """Translate a failure: StoreConflict, Unavailable, or, for an invalid request, the error itself.

    - ConditionNotMet and AppendPositionConditionNotMet (412) and BlobAlreadyExists (409) answer a conditional write:
      StoreConflict. The other 409s and 412s speak of leases, policies and containers being deleted, not of the
      precondition.
    - No answer at all (connection, timeout, truncated body, no Entra token), 401, 403, 408, 429, 5xx and a missing
      container: Unavailable. The operator must act or wait; the caller may retry.
    - Anything else (400, 411, 413 …) would always fail: the error is raised and reported as a defect of the service.
    """
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    code = response.headers.get("x-ms-error-code") if response is not None else None
    if code in ("ConditionNotMet", "AppendPositionConditionNotMet", "BlobAlreadyExists") or (
        status == 412 and code is None
    ):
        return StoreConflict(code)
    if status in (400, 405, 411, 413, 414, 416) and not isinstance(error, ClientAuthenticationError):
        return error
    request_id = response.headers.get("x-ms-request-id") if response is not None else None
    _log.warning("blob storage: %s status=%s code=%s request=%s", type(error).__name__, status, code, request_id)
    return Unavailable(dependency="blob_storage")
