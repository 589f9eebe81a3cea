"""Conflicts of replays with documents that others have changed: HTTP in, one operation, HTTP out."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import admit
from api.bodies import MAX_NOTE, Body
from api.direct_route import DirectRoute
from api.openapi import (
    ADMISSION_ERRORS,
    BODY_ERRORS,
    IDENTIFIER,
    USER_PARAMETERS,
    USER_PREFIX,
    Schema,
    answer,
    describe,
    parameter,
)
from api.request_body import read_body
from api.routes.documents_openapi import CURSOR, LIMIT, TEXT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import Json
from memnet.domain.replay.conflict import Conflict, ConflictStatus, Versions
from memnet.operations.replay.discard_conflict import discard_conflict
from memnet.operations.replay.list_conflicts import list_conflicts
from memnet.operations.replay.retry_conflict import retry_conflict

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)


class DiscardBody(Body):
    """Why it is discarded; the body may be left out."""

    note: Annotated[str, Field(max_length=MAX_NOTE)] | None = None


_STATUSES = [status.value for status in ConflictStatus]
_TIME: Schema = {"type": "string", "format": "date-time"}
_VERSION: Schema = {
    "type": ["object", "null"],
    "properties": {"etag": {"type": ["string", "null"], "description": "null: it did not exist."}, "content": {}},
}
_CONFLICT: Schema = {
    "type": "object",
    "required": [
        *("conflict_id", "replay_id", "binding_id", "namespace", "path", "status", "reason", "attempts"),
        *("next_attempt_at", "confidence", "evidence", "idempotency_key", "change_id", "base", "ours", "theirs"),
    ],
    "properties": {
        "conflict_id": TEXT,
        "replay_id": TEXT,
        "binding_id": TEXT,
        "namespace": TEXT,
        "path": TEXT,
        "status": {"type": "string", "enum": _STATUSES},
        "reason": {**TEXT, "description": "Why it could not be applied when it was tried last."},
        "attempts": {"type": "integer", "minimum": 0, "description": "Tries since the conflict was opened."},
        "next_attempt_at": {
            "type": ["string", "null"],
            "format": "date-time",
            "description": "When a worker tries it again; null: it rests until somebody asks for it.",
        },
        "confidence": {"type": "number"},
        "evidence": {"type": "object"},
        "idempotency_key": {**TEXT, "description": "Of the first request; the audit names it as the lineage."},
        "change_id": {"type": ["string", "null"], "description": "The audit record of the change that resolved it."},
        "redirected": {"type": "boolean", "description": "Whether some of that waits for a confirmation."},
        "decisions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["asked", "by", "at"],
                "properties": {"asked": {"type": "string", "enum": ["retry", "discard"]}, "by": TEXT, "at": _TIME},
            },
        },
        "base": {**_VERSION, "description": "What the patch was proposed on."},
        "ours": {
            "type": ["object", "null"],
            "properties": {"ops": {"type": "array", "items": {"type": "object"}}},
            "description": "What was proposed.",
        },
        "theirs": {**_VERSION, "description": "What it met when it was tried last."},
        "place": {"type": ["object", "null"], "description": "Where the versions part, if they do."},
    },
}
_LISTED: Schema = {
    "type": "object",
    "required": ["conflicts", "next_cursor"],
    "properties": {
        "conflicts": {"type": "array", "items": _CONFLICT},
        "next_cursor": {"type": ["string", "null"]},
    },
}
_ONE = (
    *USER_PARAMETERS,
    parameter("path", "conflict_id", IDENTIFIER, "As the list and the replay name it.", required=True),
)
_LIST = describe(
    "list_conflicts",
    tag="conflicts",
    summary="List what replays could not apply, with the three versions of it",
    parameters=(
        *USER_PARAMETERS,
        parameter("query", "status", {"type": "string", "enum": _STATUSES}, "Only these."),
        LIMIT,
        CURSOR,
    ),
    answers={200: answer("A page of conflicts; it may be shorter than its limit.", _LISTED, examples.CONFLICTS)},
    errors=ADMISSION_ERRORS | {E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE},
)
_DECIDED = (
    ADMISSION_ERRORS
    | {E.CONFLICT_NOT_FOUND, E.CONFLICT_CLOSED, E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE}
    | {E.ERASURE_RUNNING, E.CATALOG_CONFLICT}
)
_RETRY = describe(
    "retry_conflict",
    tag="conflicts",
    summary="Try now to apply what was proposed to the newest version",
    parameters=_ONE,
    answers={
        200: answer("The conflict as it is then: resolved, or open with its reason.", _CONFLICT, examples.CONFLICT)
    },
    errors=_DECIDED,
)
_DISCARD = describe(
    "discard_conflict",
    tag="conflicts",
    summary="Decide that what stands in the document stays",
    parameters=_ONE,
    body={
        "required": False,
        "content": {"application/json": {"schema": DiscardBody.model_json_schema()}},
    },
    answers={200: answer("The conflict, discarded.", _CONFLICT, {**examples.CONFLICT, "status": "discarded"})},
    errors=_DECIDED | BODY_ERRORS | {E.FIELD_DENIED},
)


@router.get("/conflicts", **_LIST)
async def list_(request: Request) -> Response:
    """List them in the order of their ids, each with what was there, what was proposed, and what was there instead."""
    admission = await admit(request, "list_conflicts")
    page = await list_conflicts(
        admission.scope,
        status=_status(request),
        limit=query.limit(request),
        cursor=query.cursor(request),
        vault=admission.service.vault,
    )
    rows = [_members(conflict, versions) for conflict, versions in page.items]
    return json_answer.answer(json_answer.dump({"conflicts": rows, "next_cursor": page.next_cursor}))


@router.post("/conflicts/{conflict_id}:retry", **_RETRY)
async def retry(request: Request) -> Response:
    """Rebase it and send it through the governed write, as the worker would; who asked is noted."""
    admission = await admit(request, "retry_conflict")
    service = admission.service
    conflict, versions = await retry_conflict(
        admission.scope, request.path_params["conflict_id"], service, actor=admission.actor
    )
    return json_answer.answer(json_answer.dump(_members(conflict, versions)))


@router.post("/conflicts/{conflict_id}:discard", **_DISCARD)
async def discard(request: Request) -> Response:
    """Close it for good; who decided so, and why, is noted. The document is not touched."""
    admission = await admit(request, "discard_conflict")
    service = admission.service
    note = (await _body(request, service.settings.max_body_bytes)).note
    conflict, versions = await discard_conflict(
        admission.scope, request.path_params["conflict_id"], service, actor=admission.actor, note=note
    )
    return json_answer.answer(json_answer.dump(_members(conflict, versions)))


async def _body(request: Request, max_bytes: int) -> DiscardBody:
    """The body; an empty one if none was sent (RFC 9112, 6.3: neither header, no body)."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return DiscardBody()
    return await read_body(request, DiscardBody, max_bytes=max_bytes)


def _status(request: Request) -> ConflictStatus | None:
    given = query.text(request, "status")
    if given is None:
        return None
    if given not in _STATUSES:
        raise MalformedRequest(f"The query parameter status must be one of {', '.join(_STATUSES)}.", parameter="status")
    return ConflictStatus(given)


def _members(conflict: Conflict, versions: Versions | None) -> Json:
    """Its three versions are null if they do not open any more."""
    told = dict.fromkeys(("base", "ours", "theirs", "place")) if versions is None else versions.members()
    return {**conflict.members(), **told}
