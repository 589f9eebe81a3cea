"""The route of blame: where every value of a document comes from."""

import re

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.json_response import json_response
from api.openapi import DOCUMENT_PARAMETERS, Returned, parameter
from api.parameters import CURSOR, LIMIT, TEXT
from api.responses.blame import BlamePage
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_patch import MAX_POINTER_CHARS, Pointer, pointer
from memnet.domain.history.blame import row_of
from memnet.operations.history.get_blame import get_blame

POINTER = re.compile(r"/content(/([^~/]|~[01])*)*")
router = APIRouter()
route = user_routes(router, "audit")


@route(
    "GET",
    "/blame/{namespace}/{path:path}",
    "get_blame",
    summary="Get where the values of a document come from",
    parameters=(
        *DOCUMENT_PARAMETERS,
        parameter(
            "query",
            "pointer",
            TEXT,
            "The value at this JSON Pointer and what is within it, such as `/content/notes/0`. Default: `/content`.",
        ),
        parameter("query", "as_of", TEXT, "An RFC 3339 time or a change_id: the values of the version at that time."),
        LIMIT,
        CURSOR,
    ),
    returns={200: Returned("A page of values in document order.", BlamePage)},
    errors={
        *(E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.DOCUMENT_NOT_FOUND, E.VERSION_NOT_FOUND, E.VALUE_NOT_FOUND),
        *(E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE),
    },
)
async def get(call: UserCall) -> Response:
    """Get, for the values of a document, who wrote them, when, by which change and rule, and on which evidence.

    A row is a value and everything within it with the same origin; what differs has a row of its own. The origin is the
    operation that put the value, wherever insertions, removals and moves have taken it since, and also if later changes
    wrote the same value again. `further` has the other changes that the value rests on: those that stated it again, the
    proposal behind a confirmation, merged entries. `before` has the values that it replaced. The answer quotes evidence
    and values that were removed, so it requires Memory.Audit or Memory.Admin. Each link of the chain is checked.
    """
    page = await get_blame(
        call.document_key(),
        _pointer(call),
        call.service,
        as_of=query.text(call.request, "as_of"),
        limit=query.limit(call.request),
        cursor=query.cursor(call.request),
    )
    return json_response(
        {
            "etag": page.version.etag,
            "change_id": page.version.change_id,
            "values": [row_of(row) for row in page.rows],
            "next_cursor": page.next_cursor,
        }
    )


def _pointer(call: UserCall) -> Pointer:
    """Read the pointer; return it below the content. Raises MalformedRequest."""
    text = query.text(call.request, "pointer", max_length=MAX_POINTER_CHARS)
    if text is None:
        return ()
    if not POINTER.fullmatch(text):
        message = "The query parameter pointer must be a JSON Pointer in the document, such as /content/notes/0."
        raise MalformedRequest(message, param="pointer")
    return pointer(text)[1:]
