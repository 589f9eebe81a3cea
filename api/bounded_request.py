"""uvicorn's HTTP protocol, with a bound on what a request may say before its body, and after its answer.

The parser has none, and the time it takes grows with the square of a header's length: measured, 40 MB of one header,
which needs no token, stop the process for two seconds. And what is left of a body after the answer is read and thrown
away for as long as it comes; closing at once instead would cost the client the answer.
"""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 65_536
"""Target and headers together; a token takes up to 16 KiB of it."""

MAX_DISCARDED_BYTES = 16_777_216
"""Of a body that goes on after the answer; then the connection is closed."""

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedRequest(HttpToolsProtocol):
    """Answers 431 (RFC 6585, section 5) and closes the connection when a request's head passes MAX_HEAD_BYTES.

    Closes it, too, when more than MAX_DISCARDED_BYTES of a body come after the answer.
    """

    _in_head = False
    _head_bytes = 0
    """Of what the parser has reported."""
    _unreported_bytes = 0
    """Of what it was given while a head was open: a field is reported only when it ends."""
    _discarded_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Take what the connection brought."""
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head and not self.transport.is_closing():
            self._unreported_bytes += len(data)
            if self._unreported_bytes > MAX_HEAD_BYTES:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start counting."""
        self._in_head, self._head_bytes, self._unreported_bytes, self._discarded_bytes = True, 0, 0, 0
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
        """Stop counting."""
        self._in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count what comes too late to be read."""
        if self.cycle.response_complete:
            self._discarded_bytes += len(body)
            if self._discarded_bytes > MAX_DISCARDED_BYTES:
                self.transport.close()
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser refuses; a head that is too large has a status of its own."""
        if max(self._head_bytes, self._unreported_bytes) > MAX_HEAD_BYTES:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            raise ValueError("the head is too large")  # the parser hands it on as an error of its own
