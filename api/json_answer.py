"""Answers as bytes: what is JSON already is not parsed again on its way out."""

from collections.abc import Mapping

import orjson
from starlette.responses import Response

from memnet.domain.core.scope import ETag, Json


def dump(value: Json) -> bytes:
    """Write a JSON value."""
    return orjson.dumps(value)


def members(parts: Mapping[str, bytes]) -> bytes:
    """Write an object whose members' values are JSON already."""
    return b"{" + b",".join(orjson.dumps(name) + b":" + value for name, value in parts.items()) + b"}"


def elements(parts: list[bytes]) -> bytes:
    """Write an array whose elements are JSON already."""
    return b"[" + b",".join(parts) + b"]"


def answer(body: bytes, *, status: int = 200, etag: ETag | None = None) -> Response:
    """Build the response."""
    headers = {"ETag": etag} if etag is not None else None
    return Response(body, status_code=status, headers=headers, media_type="application/json")
