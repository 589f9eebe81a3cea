"""uvicorn's HTTP protocol with limits: on the size of the headers, and on the time of the headers and the response.

The parser has no limits, and its time grows with the square of a header's length: 40 MB of one header, sent without a
token, block the process for two seconds (measured). uvicorn also waits without limit for headers, and for a response
to be read. The rest of a body after the response is read and discarded, up to a limit: closing the connection at once
would lose the response.

Requests that the parser refuses never reach the application, but are answered and logged like all others.
"""

import asyncio
from http import HTTPStatus
from typing import ClassVar

from starlette.types import Scope
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from api.problems import problem
from api.request_body import LOWEST_RATE
from api.response_headers import complete
from api.telemetry import log_request
from memnet.domain.core.errors import (
    HeadersTooLarge,
    MalformedRequest,
    MemnetError,
    RequestTimeout,
    TransferCodingUnsupported,
)
from memnet.ports import IdGenerator

MAX_HEAD_BYTES = 65_536
"""Target and headers together; a token uses up to 16 KiB."""

MAX_DISCARDED_BYTES = 16_777_216
"""Bytes of a body read after the response; then the connection is closed."""


class BoundedRequest(HttpToolsProtocol):
    """Answers 431 (RFC 6585, section 5) to headers above MAX_HEAD_BYTES, and 408 to headers that are late.

    Closes the connection after both, and after MAX_DISCARDED_BYTES of a body past the response; aborts it if the
    client reads the response too slowly. Use `bounded_request`.
    """

    ids: ClassVar[IdGenerator]
    """Ids of the requests that are refused here."""
    head_seconds: ClassVar[float]
    """Time limit of the headers, from when the connection waits for them."""
    answer_seconds: ClassVar[float]
    """Time limit for reading a response; a longer one must be read at LOWEST_RATE."""
    _running: RequestResponseCycle | None = None
    """The request being answered; `cycle` is the newest of pipelined ones."""
    _head_deadline: asyncio.TimerHandle | None = None
    _answer_deadline: asyncio.TimerHandle | None = None
    _unread_bytes = 0
    """Of the response, when its deadline started."""
    _in_head = False
    _head_bytes = 0
    """Reported by the parser."""
    _unreported_bytes = 0
    """Passed to the parser and not reported yet: a field is reported when it ends."""
    _discarded_bytes = 0
    _refused: MemnetError | None = None
    """Why the request is refused, if not by the parser."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first headers."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify every request of the connection that its client has left; uvicorn notifies only the newest."""
        self._stop_deadlines()
        for cycle in (self._running, *(queued for queued, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received data, and limit unreported headers."""
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head and not self.transport.is_closing():
            self._unreported_bytes += len(data)
            if self._unreported_bytes > MAX_HEAD_BYTES:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start counting."""
        self._in_head, self._head_bytes, self._unreported_bytes, self._discarded_bytes = True, 0, 0, 0
        self._refused = None
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count a part of the target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a field."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the headers' deadline and check the framing."""
        self._in_head = False
        if self._head_deadline is not None:
            self._head_deadline.cancel()
        self._check_framing()
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        if self._answer_deadline is not None and not self.flow.write_paused:
            self._answer_deadline.cancel()  # of an earlier response
            self._answer_deadline = None
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """Start the response's deadline: the client reads slower than the service writes."""
        super().pause_writing()
        if self._answer_deadline is None:
            self._await_reader()

    def on_response_complete(self) -> None:
        """Wait for the client to read the rest, and for the next headers."""
        self._await_reader()
        super().on_response_complete()
        if not self.transport.is_closing() and self._running is not None and self._running.response_complete:
            self._await_head()

    def on_body(self, body: bytes) -> None:
        """Count body bytes that arrive after the response."""
        if self.cycle.response_complete:
            self._discarded_bytes += len(body)
            if self._discarded_bytes > MAX_DISCARDED_BYTES:
                self.transport.close()
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be parsed, and close the connection.

        A response to an earlier request on the connection is completed first.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self._stop_deadlines()
        if cycle is None or cycle.response_complete or not cycle.response_started:
            is_too_large = max(self._head_bytes, self._unreported_bytes) > MAX_HEAD_BYTES
            error = HeadersTooLarge() if is_too_large else MalformedRequest("The request is not valid HTTP.")
            self.transport.write(self._refusal(self._refused or error))
        self.transport.close()
        self._await_reader()

    def _await_head(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
        self._head_deadline = self.loop.call_later(self.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self.transport.write(self._refusal(RequestTimeout()))
        self.transport.close()
        self._await_reader()

    def _await_reader(self) -> None:
        if self._answer_deadline is not None:
            self._answer_deadline.cancel()
            self._answer_deadline = None
        self._unread_bytes = self.transport.get_write_buffer_size()
        if self._unread_bytes:
            self._answer_deadline = self.loop.call_later(self.answer_seconds, self._answer_is_late)

    def _answer_is_late(self) -> None:
        self._answer_deadline = None
        unread = self.transport.get_write_buffer_size()
        if unread and self._unread_bytes - unread >= LOWEST_RATE * self.answer_seconds:
            self._await_reader()  # a long response, read fast enough
        elif unread:
            self.transport.abort()  # close() would wait for the reader

    def _stop_deadlines(self) -> None:
        for deadline in (self._head_deadline, self._answer_deadline):
            if deadline is not None:
                deadline.cancel()

    def _refusal(self, error: MemnetError) -> bytes:
        request_id = f"req_{self.ids.new()}"
        scope: Scope = {"memnet.request_id": request_id}
        response = problem(error, scope)
        log_request(scope, None, response.status_code, 0.0)
        rows = [*complete(response.raw_headers, request_id), (b"connection", b"close")]
        head = f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}\r\n".encode("ascii")
        return b"".join((head, *(b"%b: %b\r\n" % row for row in rows), b"\r\n", response.body))

    def _check_framing(self) -> None:
        """Refuse an unsupported transfer coding (RFC 9112, section 6.1) or HTTP version."""
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            self._refused = TransferCodingUnsupported()
        elif self.parser.get_http_version() not in ("1.0", "1.1"):
            self._refused = MalformedRequest("The request's HTTP version is not supported.")
        if self._refused is not None:
            raise ValueError("the head is refused")  # the parser re-raises it as its own error

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise ValueError("the head is too large")  # the parser re-raises it as its own error


def bounded_request(ids: IdGenerator, *, head_seconds: float, answer_seconds: float) -> type[BoundedRequest]:
    """Return the protocol class that uvicorn requires, with its settings as class attributes."""
    attributes = {"ids": ids, "head_seconds": head_seconds, "answer_seconds": answer_seconds}
    return type("BoundedRequest", (BoundedRequest,), attributes)
