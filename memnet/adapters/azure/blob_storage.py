"""BlobStorage on Azure: the operations of the Blob service (REST API) that the port needs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from urllib.parse import quote

from memnet.adapters.azure.blob_listing import BlobListing, listing_query, parse_listing
from memnet.adapters.azure.blob_requests import BlobRequests, open_requests, refused, unavailable
from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import InvalidCursor, Unavailable
from memnet.domain.core.scope import StorageETag
from memnet.ports import Clock, ListedBlob, Page, StoredBlob

PATH = "/!$&'()*+,;=:@"
"""Characters that stay unescaped in a URL's path besides those of `quote` (RFC 3986, 3.3), as in aiohttp."""


class AzureBlobStorage:
    """The BlobStorage port. Names that are read or written are made of checked identifiers, so none needs escaping."""

    def __init__(self, requests: BlobRequests) -> None:
        """Use `open_container`."""
        self._requests = requests

    async def get(self, name: str, known: StoredBlob | None = None) -> StoredBlob | None:
        condition: dict[str, str] = {} if known is None else {"If-None-Match": known.storage_etag}
        response = await self._requests.send("GET", f"/{name}", condition)
        if response.status_code == 200:
            return StoredBlob(response.content, StorageETag(response.headers["ETag"]))
        if response.status_code == 304:
            return known
        if response.is_missing_blob:
            return None
        raise refused(response)

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
        response = await self._requests.send("PUT", f"/{name}", headers, data, known_at)
        if response.status_code == 201:
            return StorageETag(response.headers["ETag"])
        raise refused(response)

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
        response = await self._requests.send("PUT", f"/{name}", headers, b"", known_at)
        if response.status_code != 201:
            raise refused(response)

    async def append(self, name: str, data: bytes, *, offset: int, known_at: datetime | None = None) -> bool:
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "x-ms-blob-condition-appendpos": str(offset),
        }
        response = await self._requests.send("PUT", f"/{name}?comp=appendblock", headers, data, known_at)
        if response.status_code == 201:
            return True
        if response.is_missing_blob:
            return False
        raise refused(response)

    async def delete(
        self, name: str, *, tag: StorageETag | None = None, copy: str = "", known_at: datetime | None = None
    ) -> None:
        place = quote(name, safe=PATH)
        headers = {"x-ms-delete-snapshots": "include"} | ({} if tag is None else {"If-Match": tag})
        if copy:
            # Source: Delete Blob (REST API): the query names the version or the snapshot.
            place, headers = f"{place}?{quote(copy, safe='=:')}", {}
        response = await self._requests.send("DELETE", f"/{place}", headers, dated=known_at)
        status, code = response.status_code, response.code
        if status == 202 or response.is_missing_blob or (copy and status == 404 and code != "ContainerNotFound"):
            return
        # A missing blob does not meet the condition either; an earlier try of this very call may have removed it.
        if status == 412 and not copy and await self.get(place) is None:
            return
        raise refused(response)

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
        response = await self._requests.send("GET", f"?{query}", {})
        if response.status_code == 400 and marker is not None:
            raise InvalidCursor from refused(response)
        if response.status_code != 200:
            raise refused(response)
        try:
            return await parse_listing(response.content)
        except ValueError as error:
            raise unavailable(error) from error

    @property
    def name(self) -> str:
        return self._requests.url.rpartition("/")[2]

    async def ping(self) -> None:
        if not await self.exists():
            raise Unavailable(dependency="blob_storage")

    async def exists(self) -> bool:
        """Get Container Properties: whether there is one. Raises Unavailable."""
        response = await self._requests.send("GET", "?restype=container", {})
        if response.status_code == 404:
            return False
        if response.status_code != 200:
            raise refused(response)
        return True

    async def create(self) -> None:
        """Create the container unless it exists. Raises Unavailable."""
        response = await self._requests.send("PUT", "?restype=container", {"Content-Length": "0"})
        # A container that is being deleted keeps its name, too.
        if response.status_code != 201 and response.code != "ContainerAlreadyExists":
            raise refused(response)


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

    `timeout_seconds` bounds one try; `backoff_seconds` pass between tries, or more if the service asks for it.
    Connections are pooled until the context ends. Nothing is sent before the first call. Raises ValueError for a URL
    without a container, for a key that is not base64, and for an Entra identity over plain http.
    """
    async with open_requests(
        url,
        account_key=account_key,
        timeout_seconds=timeout_seconds,
        backoff_seconds=backoff_seconds,
        clock=clock,
    ) as requests:
        yield AzureBlobStorage(requests)
