"""The outermost layer of every request, as plain ASGI: request id, headers, HEAD, the last resort, the log line."""

import re
from time import perf_counter

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.answer_headers import complete
from api.problems import unexpected
from api.telemetry import log_request
from memnet.ports import IdGenerator

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")


class Edge:
    """Wraps the application. What it learns about a request lies in the ASGI scope under memnet.*"""

    def __init__(self, app: ASGIApp, *, ids: IdGenerator) -> None:
        """`ids` names the requests that bring no usable X-Request-Id."""
        self._app = app
        self._ids = ids

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection event; only HTTP requests are touched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        is_head = method == "HEAD"
        if is_head:
            scope = {**scope, "method": "GET"}
        request_id = _given_request_id(scope) or f"req_{self._ids.new()}"
        scope["memnet.request_id"] = request_id
        status: int | None = None

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = complete(message.get("headers", ()), request_id)
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        started = perf_counter()
        try:
            await self._app(scope, receive, answer)
        except ClientDisconnect:
            pass  # nobody is left to be told; the log line has no status
        except Exception as error:
            if status is not None:
                raise
            await unexpected(error, scope)(scope, receive, answer)
        finally:
            log_request(scope, method, status, perf_counter() - started)


def _given_request_id(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return None
