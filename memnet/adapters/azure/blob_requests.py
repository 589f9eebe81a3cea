"""Requests to one container of the Blob service: authorized, bounded in time, retried, their failures translated.

aiohttp is called directly: docs/decisions/0012 has the reasons and the figures.
"""

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import urlsplit

import aiohttp
from azure.core.exceptions import AzureError

from memnet.adapters.azure.credentials import Authorize, storage_authorization
from memnet.domain.core.errors import Unavailable
from memnet.ports import Clock, StoreConflict

API_VERSION = "2026-06-06"
"""The version of the Blob service's REST interface."""

OPERATION_TRIES = 2
"""An operation may take as long as this many tries that hang; its quick failures are retried more often."""

RETRIES = 3
CONFLICTS = frozenset({"ConditionNotMet", "AppendPositionConditionNotMet", "BlobAlreadyExists"})
RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

WHOLE_BODY_BYTES = 1 << 20
"""Larger bodies are sent in chunks: aiohttp warns that one write of them could hold up the event loop."""

_log = logging.getLogger("memnet.storage")


@dataclass(frozen=True, slots=True)
class BlobResponse:
    """What the service answered."""

    status_code: int
    headers: Mapping[str, str]
    """Their names in any case."""
    content: bytes

    @property
    def code(self) -> str | None:
        """The service's name of the error (Status and error codes, REST API)."""
        return self.headers.get("x-ms-error-code")

    @property
    def is_missing_blob(self) -> bool:
        """Whether there is no such blob; a missing container is 404 too, which says nothing about the blob."""
        return self.status_code == 404 and self.code == "BlobNotFound"


class BlobServiceError(Exception):
    """The service refused a request. As itself only for a request that can never succeed, a defect of this service."""

    def __init__(self, response: BlobResponse) -> None:
        self.response = response
        super().__init__(f"{response.status_code} {response.code}")


class BlobRequests:
    """Sends requests to one container; their places begin after its URL. Use `open_requests`."""

    def __init__(
        self,
        url: str,
        session: aiohttp.ClientSession,
        authorize: Authorize,
        clock: Clock,
        timeout_seconds: float,
        backoff_seconds: float,
    ) -> None:
        self.url = url
        self._session = session
        self._authorize = authorize
        self._clock = clock
        self._timeout = timeout_seconds
        self._backoff = backoff_seconds

    async def send(
        self,
        method: str,
        place: str,
        headers: dict[str, str],
        data: bytes | None = None,
        dated: datetime | None = None,
    ) -> BlobResponse:
        """Send one request, retried with the same date, and return the answer. Raises Unavailable.

        `place` is the escaped rest of the URL, and the request is dated `dated` or now.
        """
        headers["x-ms-version"] = API_VERSION
        headers["x-ms-date"] = format_datetime(dated or self._clock.now(), usegmt=True)
        try:
            # aiohttp's timeouts are per connect and per read: a server that drips would never meet them.
            end = asyncio.get_running_loop().time() + self._timeout * OPERATION_TRIES
            async with asyncio.timeout_at(end):
                url = self.url + place
                headers["Authorization"] = await self._authorize(method, url, headers)
                return await self._retried(method, url, headers, data, end)
        except (AzureError, aiohttp.ClientError, OSError) as error:
            raise unavailable(error) from error

    async def _retried(
        self, method: str, url: str, headers: dict[str, str], data: bytes | None, end: float
    ) -> BlobResponse:
        for _ in range(RETRIES):
            pause = self._backoff
            try:
                response = await self._try(method, url, headers, data)
            except (aiohttp.ClientError, OSError):
                pass
            else:
                if response.status_code not in RETRIED_STATUSES:
                    return response
                pause = max(pause, _seconds(response.headers.get("Retry-After")))
                if asyncio.get_running_loop().time() + pause >= end:
                    return response
            await asyncio.sleep(pause)
        return await self._try(method, url, headers, data)

    async def _try(self, method: str, url: str, headers: dict[str, str], data: bytes | None) -> BlobResponse:
        body = io.BytesIO(data) if data is not None and len(data) > WHOLE_BODY_BYTES else data
        async with self._session.request(method, url, headers=headers, data=body, allow_redirects=False) as response:
            return BlobResponse(response.status, response.headers, await response.read())


@asynccontextmanager
async def open_requests(
    url: str, *, account_key: str | None, timeout_seconds: float, backoff_seconds: float, clock: Clock
) -> AsyncIterator[BlobRequests]:
    """Connect to the container at `url`. `open_container` explains the parameters. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not parts.path.strip("/"):
        raise ValueError("this is no URL of a container")
    async with (
        storage_authorization(url, account_key) as authorize,
        aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(sock_connect=timeout_seconds, sock_read=timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept-Encoding", "Content-Type"),
            auto_decompress=False,
        ) as session,
    ):
        yield BlobRequests(url.rstrip("/"), session, authorize, clock, timeout_seconds, backoff_seconds)


def refused(response: BlobResponse) -> Exception:
    """Return the port's error for an unexpected answer, with the answer as its cause.

    - ConditionNotMet and AppendPositionConditionNotMet (412) and BlobAlreadyExists (409) answer a conditional write:
      StoreConflict. The other 409s and 412s speak of leases, policies and containers being deleted, not of the
      precondition.
    - 401, 403, 408, 429, 5xx and a missing container: Unavailable. The operator must act or wait; the caller may retry.
    - Anything else (400, 411, 413 …) would always fail: BlobServiceError.
    """
    error = BlobServiceError(response)
    status, code = response.status_code, response.code
    if status in (400, 405, 411, 413, 414, 416):
        return error
    is_conflict = code in CONFLICTS or (status == 412 and code is None)
    translated = StoreConflict(code) if is_conflict else unavailable(error)
    translated.__cause__ = error
    return translated


def unavailable(error: Exception) -> Unavailable:
    """Log a failure, and return the port's error for it."""
    response = getattr(error, "response", None)
    status, code, request_id = None, None, None
    if isinstance(response, BlobResponse):
        status, code, request_id = response.status_code, response.code, response.headers.get("x-ms-request-id")
    _log.warning("blob storage: %s status=%s code=%s request=%s", type(error).__name__, status, code, request_id)
    return Unavailable(dependency="blob_storage")


def _seconds(retry_after: str | None) -> int:
    """Parse Retry-After (RFC 9110, 10.2.3); the service does not send its other form, a date."""
    return int(retry_after) if retry_after is not None and retry_after.isdecimal() else 0
