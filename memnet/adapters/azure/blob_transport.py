"""An azure-core transport for small requests to one origin: HTTP/1.1 on asyncio, parsed by httptools.

azure-core documents AsyncHttpTransport as the place to bring another HTTP client. Measured on Azurite, a conditional
GET costs 0.15 ms of processor time through this one and 0.28 ms through AioHttpTransport, a PUT of 18 KB 0.18 and
0.34 ms. It can do what single-blob calls need and nothing else: bodies are bytes, there are no proxies, no redirects,
no compression.
"""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httptools
from azure.core.exceptions import ServiceRequestError, ServiceResponseError, ServiceResponseTimeoutError
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.core.rest import HttpRequest

MAX_CONNECTIONS = 128


class Headers:
    """Header fields, looked up under their names in any case; of a repeated one the last. Few are ever looked up."""

    __slots__ = ("_fields",)

    def __init__(self) -> None:
        """Start without any."""
        self._fields: dict[bytes, bytes] = {}

    def add(self, name: bytes, value: bytes) -> None:
        """Take a field as it came."""
        self._fields[name.lower()] = value

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value, or `default`."""
        value = self._fields.get(name.lower().encode("latin-1"))
        return default if value is None else value.decode("latin-1")

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower().encode("latin-1")].decode("latin-1")

    def __contains__(self, name: str) -> bool:
        return name.lower().encode("latin-1") in self._fields


@dataclass
class BlobResponse:
    """A whole answer, with what azure-core's policies and errors ask of one."""

    request: HttpRequest
    status_code: int
    headers: Headers
    content: bytes
    reason: str | None = None
    location_mode: str | None = None

    def text(self) -> str:
        """Return the body as text; azure-core looks there for an error's message."""
        return self.content.decode("utf-8", "replace")


class BlobTransport(AsyncHttpTransport[HttpRequest, BlobResponse]):
    """Keeps connections to one origin, and sends each request on one that is free.

    Raises ServiceRequestError if there is no connection to be had, so that nothing was sent, and ServiceResponseError
    if the answer did not come whole.
    """

    def __init__(self, url: str, *, timeout_seconds: float, tls: ssl.SSLContext | None = None) -> None:
        """`url` is any URL of the origin; `timeout_seconds` bounds one try, with connecting; `tls` is for tests."""
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._origin = len(f"{parts.scheme}://{parts.netloc}")
        self._netloc = parts.netloc
        self._timeout = timeout_seconds
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: list[_Connection] = []

    async def open(self) -> None:
        """Do nothing: connections are made when they are needed."""

    async def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().abort()
        # The event loop tells a connection of its end in its next round.
        await asyncio.sleep(0)

    async def __aenter__(self) -> "BlobTransport":
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.close()

    async def send(self, request: HttpRequest, **_: Any) -> BlobResponse:
        """Send the request and return the whole answer, whatever its status."""
        fields = [f"{name}: {value}\r\n" for name, value in request.headers.items()]
        head = (
            f"{request.method} {request.url[self._origin :]} HTTP/1.1\r\nHost: {self._netloc}\r\n{''.join(fields)}\r\n"
        )
        if head.count("\n") != len(fields) + 3:
            raise ValueError("a line break in a request's head")
        parts = [head.encode("latin-1")]
        if request.content:
            parts.append(request.content)
        try:
            async with self._slots, asyncio.timeout(self._timeout):
                status, headers, body = await self._exchange(parts)
        except TimeoutError as error:
            raise ServiceResponseTimeoutError("no answer in time", error=error) from error
        return BlobResponse(request, status, headers, body)

    async def _exchange(self, parts: Sequence[bytes]) -> "_Answer":
        while True:
            connection = self._take_idle()
            was_idle = connection is not None
            connection = connection or await self._connect()
            try:
                return await connection.exchange(parts)
            except ConnectionError as error:
                # The server may close an idle connection while a request is on its way to it: not worth a pause.
                if was_idle and not connection.heard:
                    continue
                raise ServiceResponseError("the connection ended before the answer did", error=error) from error
            except httptools.HttpParserError as error:
                raise ServiceResponseError("the answer is not HTTP/1.1", error=error) from error
            finally:
                # Also when cancelled: a late answer must not meet the next request.
                if connection.reusable:
                    self._idle.append(connection)
                else:
                    connection.abort()

    def _take_idle(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(_Connection, self._host, self._port, ssl=self._tls)
        except TimeoutError:
            raise
        except OSError as error:
            raise ServiceRequestError(f"cannot connect: {type(error).__name__}", error=error) from error
        return connection


_Answer = tuple[int, Headers, bytes]


class _Connection(asyncio.Protocol):
    """One connection, one exchange at a time."""

    def __init__(self) -> None:
        self.heard = False
        """Whether anything has come back in this exchange."""
        self.reusable = False
        """Whether the last exchange ended as it should and the server keeps the connection open."""
        self._headers = Headers()
        self._chunks: list[bytes] = []
        self._parser: Any = None
        self._transport: Any = None
        self._waiting: asyncio.Future[_Answer] | None = None

    @property
    def is_open(self) -> bool:
        """Whether neither end has closed it, as far as known."""
        return not self._transport.is_closing()

    async def exchange(self, parts: Sequence[bytes]) -> _Answer:
        """Send `parts` and return the answer. Raises ConnectionError, HttpParserError."""
        self._waiting = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self.heard = self.reusable = False
        self._transport.writelines(parts)
        try:
            return await self._waiting
        finally:
            self._waiting = None

    def abort(self) -> None:
        """Close it at once."""
        self._transport.abort()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionResetError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:
            # Nobody asked: whatever it is, it must not be taken for the answer to the next request.
            self.reusable = False
            self._transport.abort()
            return
        self.heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(error)

    def on_message_begin(self) -> None:
        self._headers = Headers()
        self._chunks = []
        self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.add(name, value)

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._waiting is None or self._waiting.done():
            return
        # An answer that comes before the request is sent leaves the rest of it in the way.
        self.reusable = self._parser.should_keep_alive() and not self._transport.get_write_buffer_size()
        self._waiting.set_result((status, self._headers, b"".join(self._chunks)))

    def _fail(self, error: Exception) -> None:
        self.reusable = False
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)
