"""What every route of the HTTP shell shares: keys, api-version, the body, switches, error bodies.

A handler is given a `Call` and returns a response or raises SearchError.
"""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from local.emulators.search.errors import SearchError, bad_request, not_supported
from local.emulators.search.faults import Faults
from local.emulators.search.limits import BODY_BYTES
from local.emulators.search.service import SearchService

API_VERSIONS: Final = ("2024-07-01", "2025-09-01", "2026-04-01")


@dataclass(frozen=True)
class Call:
    """One request with its body read."""

    request: Request
    content: bytes

    @property
    def body(self) -> Any:
        """The body as JSON. Raises SearchError (400)."""
        try:
            return orjson.loads(self.content)
        except orjson.JSONDecodeError as error:
            raise bad_request(f"The request is invalid. Details: The body is not JSON: {error}.") from None

    def name(self, parameter: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[parameter]).replace("''", "'")

    def options(self, *known: str) -> dict[str, str]:
        """Return the query parameters besides api-version. Raises SearchError (400) for unknown ones."""
        given = {name: value for name, value in self.request.query_params.items() if name != "api-version"}
        for name in given:
            if name not in known:
                raise bad_request(f"The query parameter '{name}' is not valid for this operation.")
        return given


Handler = Callable[[Call], Response]
Endpoint = Callable[[Request], Awaitable[Response]]


class Shell:
    """Turns handlers into endpoints."""

    def __init__(self, service: SearchService, key: str, faults: Faults) -> None:
        """The service, the api-key that opens it, and what goes wrong on purpose."""
        self.service = service
        self._key = key
        self.faults = faults

    def endpoint(self, handler: Handler, operation: str) -> Endpoint:
        """Return an endpoint of Azure's API."""

        async def answer(request: Request) -> Response:
            try:
                response = await self._answer(request, handler, operation)
            except SearchError as error:
                response = error_response(error)
            return _with_request_ids(request, response)

        return answer

    def control(self, handler: Handler) -> Endpoint:
        """Return an endpoint of the emulator itself: no api-version and no faults."""

        async def answer(request: Request) -> Response:
            try:
                self._check_key(request)
                return handler(Call(request, await _content(request)))
            except SearchError as error:
                return error_response(error)

        return answer

    def _check_key(self, request: Request) -> None:
        given = request.headers.get("api-key")
        if given is None:
            raise SearchError(
                401, "Unauthorized", "The request has no api-key header; the emulator takes nothing else."
            )
        if not hmac.compare_digest(given.encode(), self._key.encode()):
            raise SearchError(403, "Forbidden", "The api-key is wrong.")

    async def _answer(self, request: Request, handler: Handler, operation: str) -> Response:
        content = await _content(request)
        self._check_key(request)
        _check_version(request)
        if {"if-match", "if-none-match"} & set(request.headers):
            raise not_supported("a request with a condition")
        failure = self.faults.take(operation)
        if failure is None:
            return handler(Call(request, content))
        if failure.after:
            handler(Call(request, content))
        response = error_response(failure.error())
        if failure.retry_after is not None:
            response.headers["Retry-After"] = str(failure.retry_after)
        return response


def json_response(body: object, status: int = 200) -> Response:
    """Return JSON; vectors are written as numbers of single precision."""
    return Response(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY), status, media_type="application/json")


def error_response(error: SearchError) -> Response:
    """Return Azure's error body."""
    return json_response(error.body(), error.status)


async def unknown_path(request: Request, error: Exception) -> Response:
    """Answer a path or method that Azure does not have either."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    codes = {404: "ResourceNotFound", 405: "MethodNotAllowed"}
    message = f"{request.method} {request.url.path} is not an operation of the search service."
    return error_response(SearchError(status, codes.get(status, "BadRequest"), message))


async def _content(request: Request) -> bytes:
    """Read the body. Raises SearchError (413) when it exceeds the limit, after it has been read to the end."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= BODY_BYTES:
            parts.append(part)
    if size > BODY_BYTES:
        raise SearchError(413, "RequestEntityTooLarge", f"The request body is larger than {BODY_BYTES} bytes.")
    return b"".join(parts)


def _check_version(request: Request) -> None:
    version = request.query_params.get("api-version")
    if version is None:
        raise bad_request(
            "The api-version query parameter (?api-version=) is required for all requests.",
            code="MissingApiVersionParameter",
        )
    if version not in API_VERSIONS:
        raise bad_request(
            f"The api-version '{version}' is invalid. The emulator has {', '.join(API_VERSIONS)}.",
            code="InvalidApiVersionParameter",
        )


def _with_request_ids(request: Request, response: Response) -> Response:
    identifier = request.headers.get("x-ms-client-request-id") or str(uuid4())
    response.headers["request-id"] = identifier
    response.headers["x-ms-client-request-id"] = identifier
    return response
