"""The request body: bounded, strict JSON, then a typed model; every fault is a MALFORMED_REQUEST with its place."""

import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from memnet.domain.errors import BodyTooLarge, MalformedRequest, UnsupportedMediaType
from memnet.domain.json_text import parse

_JSON_TYPE = re.compile(r'application/json *(?:; *charset *= *"?utf-8"? *)?', re.IGNORECASE)
"""RFC 8259, sections 8.1 and 11: JSON is sent in UTF-8, and the media type has no charset; some clients send one."""
MAX_PROBLEMS = 20

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, model: type[Model], *, max_bytes: int) -> Model:
    """Read, parse and check the body.

    Raises UnsupportedMediaType for a body that says it is not JSON, BodyTooLarge as soon as the limit is passed
    (the rest is not read), and MalformedRequest with details.problems, which quote none of its values.
    """
    _check_media_type(request)
    value = parse(await _read(request, max_bytes))
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        problems = [{"pointer": _pointer(fault["loc"]), "reason": fault["msg"]} for fault in faults[:MAX_PROBLEMS]]
        raise MalformedRequest("The request body is not what this call takes.", problems=problems) from error


def _check_media_type(request: Request) -> None:
    if not _JSON_TYPE.fullmatch(request.headers.get("content-type", "application/json").strip()):
        raise UnsupportedMediaType()
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaType("The request body must not be compressed.")


async def _read(request: Request, max_bytes: int) -> bytes:
    announced = request.headers.get("content-length", "0")
    if not re.fullmatch(r"[0-9]{1,18}", announced):
        raise MalformedRequest("The Content-Length is not a number.")
    if int(announced) > max_bytes:
        raise BodyTooLarge(max_bytes=max_bytes)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise BodyTooLarge(max_bytes=max_bytes)
        chunks.append(chunk)
    return b"".join(chunks)


def _pointer(location: tuple[int | str, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in location)
