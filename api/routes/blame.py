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
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_patch import MAX_POINTER_CHARS, Pointer, pointer, pointer_text
from memnet.domain.core.json_types import present
from memnet.domain.core.scope import Json
from memnet.domain.history.blame import Blamed
from memnet.domain.history.origin import Origin
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
            "The value at this JSON Pointer and what is within it, such as `/content/facts/0`. Default: `/content`.",
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
            "values": [_row(row) for row in page.rows],
            "next_cursor": page.next_cursor,
        }
    )


def _pointer(call: UserCall) -> Pointer:
    """Read the pointer; return it below the content. Raises MalformedRequest."""
    text = query.text(call.request, "pointer", max_length=MAX_POINTER_CHARS)
    if text is None:
        return ()
    if not POINTER.fullmatch(text):
        message = "The query parameter pointer must be a JSON Pointer in the document, such as /content/facts/0."
        raise MalformedRequest(message, param="pointer")
    return pointer(text)[1:]


def _row(row: Blamed) -> Json:
    node = row.node
    return {
        "pointer": pointer_text((ROOT, *row.place)),
        **({"value": node.plain()} if row.is_whole else {}),
        **_origin(node.origin),
        "further": [{"kind": source.kind.value, **_origin(source.origin)} for source in node.further],
        "before": [{"value": earlier.plain(), **_origin(earlier.origin)} for earlier in row.before],
        "before_known": row.knows_before,
    }


def _origin(origin: Origin) -> dict[str, Json]:
    known = origin.is_known
    return {
        "confirmed": origin.is_confirmed,
        **present(
            change_id=origin.change_id,
            sequence=origin.sequence if known else None,
            op_index=origin.op_index if known else None,
            op=origin.verb if known else None,
            recorded_at=origin.timestamp if known else None,
            recorded_before=None if known else origin.timestamp,
            recorded_by=origin.actor,
            application=origin.application,
            reason=origin.reason,
            profile_id=origin.profile_id,
            profile_version=origin.profile_version,
            binding_id=origin.binding_id,
            confidence=origin.confidence,
            source_time=origin.source_time,
            evidence=origin.evidence,
            proposed_by=origin.proposed_by,
            proposed_at=origin.proposed_at,
        ),
    }
