"""A client that costs next to nothing, so that what is measured is the service."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import httptools


class UnexpectedAnswer(Exception):
    """The service answered with another status than the measured call must have."""


class Connection(asyncio.Protocol):
    """One keep-alive connection, one request at a time."""

    def __init__(self, host: str, token: str) -> None:
        """Use `connect`."""
        self._common = f"Host: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self._waiting: asyncio.Future[None] | None = None
        self._transport: Any = None
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._parser: Any = None

    @classmethod
    async def connect(cls, url: str, token: str) -> "Connection":
        """Connect to the service at `url`; the token goes with every request."""
        parts = urlsplit(url)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: cls(parts.netloc, token), parts.hostname or "", parts.port or 80
        )
        return connection

    async def call(self, method: str, path: str, *, expect: int, headers: str = "", body: bytes = b"") -> bytes:
        """Send a request and return the answer's body. Raises UnexpectedAnswer, ConnectionError.

        `headers` are whole lines, each with its CR LF.
        """
        self._waiting = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self.headers = {}
        self._body = []
        head = f"{method} {path} HTTP/1.1\r\n{self._common}{headers}Content-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)
        await self._waiting
        answer = b"".join(self._body)
        if self.status != expect:
            raise UnexpectedAnswer(f"{method} {path}: {self.status} {answer[:500].decode(errors='replace')}")
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def connection_made(self, transport: Any) -> None:
        """Called by the event loop."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("the service closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self.headers[name.lower()] = value

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self.status = self._parser.get_status_code()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
