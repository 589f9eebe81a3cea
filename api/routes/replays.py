"""Replays: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import admit
from api.direct_route import DirectRoute
from api.openapi import (
    ADMISSION_ERRORS,
    IDENTIFIER,
    USER_PARAMETERS,
    USER_PREFIX,
    Schema,
    answer,
    describe,
    parameter,
)
from api.routes.documents_openapi import CURSOR, LIMIT, TEXT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.replay.conflict import ConflictStatus
from memnet.domain.replay.replay import PatchStatus, ReplayStatus
from memnet.operations.replay.get_replay import get_replay
from memnet.operations.replay.list_replays import list_replays
from memnet.operations.replay.retry_replay import retry_replay

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

_PATCH: Schema = {
    "type": "object",
    "required": ["number", "binding_id", "namespace", "path", "status", "message_ids"],
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "binding_id": TEXT,
        "namespace": TEXT,
        "path": TEXT,
        "status": {
            "type": "string",
            "enum": [status.value for status in PatchStatus],
            "description": "redirected: some of it waits in the pending section for a confirmation.",
        },
        "change_id": {**TEXT, "description": "The audit record of the change; absent if there was nothing to change."},
        "reason": {**TEXT, "description": "An error code, or why it is in conflict or changed nothing."},
        "conflict_id": TEXT,
        "conflict_status": {
            "type": "string",
            "enum": [status.value for status in ConflictStatus],
            "description": "What has become of the conflict since.",
        },
        "message_ids": {"type": "array", "items": TEXT, "description": "The messages that speak for it."},
        "confidence": {"type": "number"},
        "rebased": {
            "type": "boolean",
            "description": "true: another writer came first, and the patch was adapted to the newer version.",
        },
        "supports": {
            "type": "array",
            "items": TEXT,
            "description": "Where the document, or its pending section, says the same already: JSON Pointers. Absent "
            "unless reason is already_there.",
        },
        "etag": {**TEXT, "description": "The version of the document that supports points into."},
    },
}
_REPLAY: Schema = {
    "type": "object",
    "required": ["replay_id", "status", "event_id", "patches", "attempts", "reason", "extraction", "snapshot_uri"],
    "properties": {
        "replay_id": TEXT,
        "status": {
            "type": "string",
            "enum": [status.value for status in ReplayStatus],
            "description": "partial: it is over, and some patch was rejected or is in conflict. failed: it was given "
            "up; asking for it again, or storing the same snapshot again, has it go on.",
        },
        "attempts": {"type": "integer", "minimum": 0, "description": "How often a worker has started on it."},
        "reason": {"type": ["string", "null"], "description": "Why it failed."},
        "event_id": {"type": ["string", "null"], "description": "The event that tells of the conversation."},
        "extraction": {
            "type": ["object", "null"],
            "description": "Who extracted, by which prompt and which version of the profile.",
        },
        "patches": {"type": "array", "items": _PATCH, "description": "Those that are decided, in their order."},
    },
}
_ONE = (
    *USER_PARAMETERS,
    parameter("path", "replay_id", IDENTIFIER, "As storing the snapshot has answered it.", required=True),
)
_GET = describe(
    "get_replay",
    tag="conversations",
    summary="Tell what became of a snapshot",
    parameters=_ONE,
    answers={200: answer("Its status, and each patch's fate.", _REPLAY, examples.REPLAYED)},
    errors=ADMISSION_ERRORS | {E.REPLAY_NOT_FOUND, E.HISTORY_CORRUPT},
)

_LISTED: Schema = {
    "type": "object",
    "required": ["replays", "next_cursor"],
    "properties": {
        "replays": {"type": "array", "items": _REPLAY},
        "next_cursor": {"type": ["string", "null"]},
    },
}
_LIST = describe(
    "list_replays",
    tag="conversations",
    summary="List what became of a user's snapshots",
    parameters=(*USER_PARAMETERS, LIMIT, CURSOR),
    answers={
        200: answer(
            "A page of replays, in the order of their ids; it may be shorter than its limit.",
            _LISTED,
            {"replays": [examples.REPLAYED], "next_cursor": None},
        )
    },
    errors=ADMISSION_ERRORS | {E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT},
)
_RETRY = describe(
    "retry_replay",
    tag="conversations",
    summary="Have a replay that was given up tried again",
    parameters=_ONE,
    answers={202: answer("The replay as it waits now; one that has not failed is as it was.", _REPLAY)},
    errors=ADMISSION_ERRORS | {E.REPLAY_NOT_FOUND, E.ERASURE_RUNNING, E.HISTORY_CORRUPT},
)


@router.get("/replays", **_LIST)
async def list_(request: Request) -> Response:
    """List them, each with its patches; ids are no order in time."""
    admission = await admit(request, "list_replays")
    page = await list_replays(
        admission.scope,
        limit=query.limit(request),
        cursor=query.cursor(request),
        records=admission.service.records,
    )
    return json_answer.answer(json_answer.dump({"replays": list(page.items), "next_cursor": page.next_cursor}))


@router.get("/replays/{replay_id:id}", **_GET)
async def get(request: Request) -> Response:
    """Read its record, to which the workers write every step, and look after its conflicts."""
    admission = await admit(request, "get_replay")
    told = await get_replay(admission.scope, request.path_params["replay_id"], records=admission.service.records)
    return json_answer.answer(json_answer.dump(told))


@router.post("/replays/{replay_id:id}:retry", **_RETRY)
async def retry(request: Request) -> Response:
    """Have it wait for a worker again; what it had planned and applied stays as it is."""
    admission = await admit(request, "retry_replay")
    service = admission.service
    replay = await retry_replay(admission.scope, request.path_params["replay_id"], service)
    return json_answer.answer(json_answer.dump(replay.members()), status=202)
