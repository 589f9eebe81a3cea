"""Snapshots of conversations: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import admit
from api.bodies import SnapshotBody
from api.direct_route import DirectRoute
from api.openapi import (
    ADMISSION_ERRORS,
    BODY_ERRORS,
    IDENTIFIER,
    USER_PARAMETERS,
    USER_PREFIX,
    Schema,
    answer,
    body,
    describe,
    parameter,
)
from api.request_body import read_body
from api.routes.documents_openapi import CURSOR, LIMIT, TEXT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.operations.replay.list_snapshot_reads import list_snapshot_reads
from memnet.operations.replay.read_snapshot import read_snapshot
from memnet.operations.replay.store_snapshot import store_snapshot

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

_STORED: Schema = {
    "type": "object",
    "required": ["snapshot_id", "snapshot_uri", "replay_id", "queued"],
    "properties": {
        "snapshot_id": TEXT,
        "snapshot_uri": {**TEXT, "description": "How evidence points to it."},
        "replay_id": TEXT,
        "queued": {
            "type": "boolean",
            "description": "Whether a worker was called just now. If not, and the replay is not over, one will be; "
            "there is nothing to do about it.",
        },
    },
}
_SNAPSHOT: Schema = {
    "type": "object",
    "required": [
        *("conversation_id", "snapshot_id", "snapshot_uri", "replay_id", "service_id", "messages"),
        *("profile_id", "profile_version", "profile_sha256"),
    ],
    "properties": {"messages": {"type": "array", "items": {"$ref": "#/components/schemas/Message"}}},
}
_ACCESSES: Schema = {
    "type": "object",
    "required": ["accesses", "next_cursor"],
    "properties": {
        "accesses": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["access_id", "accessed_at", "principal", "roles", "conversation_id", "snapshot_id"],
            },
        },
        "next_cursor": {"type": ["string", "null"]},
    },
}
_CONVERSATION = (
    *USER_PARAMETERS,
    parameter("path", "conversation_id", IDENTIFIER, "The conversation, as its client names it.", required=True),
)
_STORE = describe(
    "store_snapshot",
    tag="conversations",
    summary="Store a conversation encrypted, and have memory extracted from it",
    parameters=_CONVERSATION,
    body=body(SnapshotBody, conversation=examples.SNAPSHOT),
    answers={202: answer("It is stored; Location tells where to ask for the replay.", _STORED, examples.STORED)},
    errors=ADMISSION_ERRORS
    | BODY_ERRORS
    | {E.PROFILE_FORBIDDEN, E.PROFILE_NOT_FOUND, E.SNAPSHOT_EXISTS, E.DECRYPTION_FAILED, E.HISTORY_CORRUPT}
    | {E.ERASURE_RUNNING}
    | {E.VAULT_UNAVAILABLE},
)
_READ = describe(
    "read_snapshot",
    tag="conversations",
    summary="Read a stored conversation back, which is recorded",
    parameters=(
        *_CONVERSATION,
        parameter("path", "snapshot_id", IDENTIFIER, "One of the conversation's snapshots.", required=True),
    ),
    answers={200: answer("The conversation as it was sent.", _SNAPSHOT, examples.SNAPSHOT_READ)},
    errors=ADMISSION_ERRORS | {E.SNAPSHOT_NOT_FOUND, E.ERASURE_RUNNING, E.DECRYPTION_FAILED, E.VAULT_UNAVAILABLE},
)
_LIST = describe(
    "list_snapshot_reads",
    tag="conversations",
    summary="List who read a user's stored conversations back",
    parameters=(*USER_PARAMETERS, LIMIT, CURSOR),
    answers={200: answer("A page of records, in the order of their times.", _ACCESSES, examples.ACCESSES)},
    errors=ADMISSION_ERRORS | {E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)


@router.post("/conversations/{conversation_id}/snapshots", **_STORE)
async def store(request: Request) -> Response:
    """Keep the conversation, then call a worker. The same snapshot again has an unfinished or failed replay go on;
    another conversation under its id is answered with 409.
    """
    admission = await admit(request, "store_snapshot")
    service = admission.service
    conversation = await read_body(request, SnapshotBody, max_bytes=service.settings.max_body_bytes)
    stored = await store_snapshot(
        admission.scope, request.path_params["conversation_id"], conversation, service, actor=admission.actor
    )
    result = {
        "snapshot_id": stored.snapshot_id,
        "snapshot_uri": stored.snapshot_uri,
        "replay_id": stored.replay_id,
        "queued": stored.queued,
    }
    response = json_answer.answer(json_answer.dump(result), status=202)
    response.headers["Location"] = f"/v1/{admission.scope.prefix}replays/{stored.replay_id}"
    if stored.replayed:
        response.headers["Idempotency-Replayed"] = "true"
    return response


@router.get("/conversations/{conversation_id}/snapshots/{snapshot_id}", **_READ)
async def read(request: Request) -> Response:
    """Decrypt it for somebody who may, after writing down who that was."""
    admission = await admit(request, "read_snapshot")
    snapshot = await read_snapshot(
        admission.scope,
        request.path_params["conversation_id"],
        request.path_params["snapshot_id"],
        actor=admission.actor,
        vault=admission.service.vault,
    )
    told = {
        "conversation_id": snapshot.conversation_id,
        "snapshot_id": snapshot.snapshot_id,
        "snapshot_uri": snapshot.uri,
        "replay_id": snapshot.replay_id,
        "profile_id": snapshot.profile_id,
        "profile_version": snapshot.profile_version,
        "profile_sha256": snapshot.profile_sha256,
        "service_id": snapshot.service_id,
        "messages": [message.model_dump() for message in snapshot.messages],
    }
    return json_answer.answer(json_answer.dump(told))


@router.get("/accesses", **_LIST)
async def list_(request: Request) -> Response:
    """List the records: who, when, and which snapshot, and nothing of what it says."""
    admission = await admit(request, "list_snapshot_reads")
    page = await list_snapshot_reads(
        admission.scope,
        limit=query.limit(request),
        cursor=query.cursor(request),
        records=admission.service.records,
    )
    parts = {
        "accesses": json_answer.elements(list(page.items)),
        "next_cursor": json_answer.dump(page.next_cursor),
    }
    return json_answer.answer(json_answer.members(parts))
