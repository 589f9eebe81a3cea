"""JSON responses as bytes: stored JSON is sent without being parsed again."""

from collections.abc import Mapping, Sequence

import orjson
from starlette.responses import Response

from memnet.domain.core.scope import ETag, Json


def encode(value: Json) -> bytes:
    """Encode a JSON value."""
    return orjson.dumps(value)


def raw_object(parts: Mapping[str, bytes]) -> bytes:
    """Encode an object whose values are encoded already."""
    return b"{" + b",".join(orjson.dumps(name) + b":" + value for name, value in parts.items()) + b"}"


def raw_array(parts: Sequence[bytes]) -> bytes:
    """Encode an array whose elements are encoded already."""
    return b"[" + b",".join(parts) + b"]"


def json_response(value: Json, *, status: int = 200, replayed: bool = False) -> Response:
    """Encode `value` and return it as a response; `replayed` marks the answer to a repeated request."""
    return raw_response(encode(value), status=status, replayed=replayed)


def raw_response(body: bytes, *, status: int = 200, etag: ETag | None = None, replayed: bool = False) -> Response:
    """Return encoded JSON as a response."""
    headers = {} if etag is None else {"ETag": str(etag)}
    if replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def page_response(name: str, rows: Sequence[Json], next_cursor: str | None) -> Response:
    """Return one page of a list: the rows under `name`, and `next_cursor`."""
    return json_response({name: rows, "next_cursor": next_cursor})


def raw_page_response(name: str, rows: Sequence[bytes], next_cursor: str | None) -> Response:
    """Return one page of a list whose rows are encoded already."""
    return raw_response(raw_object({name: raw_array(rows), "next_cursor": encode(next_cursor)}))
