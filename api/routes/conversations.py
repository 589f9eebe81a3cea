"""Routes of conversations and their snapshots."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.bodies import SnapshotBody
from api.json_response import json_response, page_response, raw_page_response
from api.openapi import IDENTIFIER, Returned, parameter
from api.parameters import CURSOR, FLAG, KEY, LIMIT
from api.preconditions import idempotency_key
from api.responses.replays import ConversationPage, SnapshotReadPage, SnapshotStored, SnapshotView
from api.responses.retractions import RetractionView
from api.routes.retractions import view_response
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import MAX_SEGMENT
from memnet.domain.governance.retraction import MAX_REASON
from memnet.operations.governance.retract_conversation import retract_conversation
from memnet.operations.replay.conversations import list_conversations, list_snapshots
from memnet.operations.replay.snapshots import list_snapshot_reads, read_snapshot, store_snapshot

router = APIRouter()
route = user_routes(router, "conversations")

_REASON = {"type": "string", "minLength": 1, "maxLength": MAX_REASON}
_OF_CONVERSATION = parameter(
    "query", "conversation_id", IDENTIFIER, "List the snapshots and turns of this conversation."
)
_CONVERSATION = parameter("path", "conversation_id", IDENTIFIER, "The client's id of the conversation.", required=True)


@route(
    "POST",
    "/conversations/{conversation_id}/snapshots",
    "store_snapshot",
    body=SnapshotBody,
    summary="Submit a conversation snapshot",
    parameters=(_CONVERSATION,),
    returns={202: Returned("Stored; Location is the URL of the replay.", SnapshotStored)},
    errors={
        *(E.PROFILE_FORBIDDEN, E.PROFILE_NOT_FOUND, E.SNAPSHOT_EXISTS, E.DECRYPTION_FAILED, E.HISTORY_CORRUPT),
        *(E.SOURCE_RETRACTED, E.ERASURE_RUNNING, E.VAULT_UNAVAILABLE),
    },
)
async def store(call: UserCall, body: SnapshotBody) -> Response:
    """Store a conversation encrypted, and have a worker extract memory from it. Submitting the same snapshot again
    retries an unfinished or failed replay; another conversation with its id is refused with 409.
    """
    stored = await store_snapshot(call.scope, call.path("conversation_id"), body, call.service, actor=call.actor)
    result = {
        "snapshot_id": stored.snapshot_id,
        "snapshot_uri": stored.snapshot_uri,
        "replay_id": stored.replay_id,
        "queued": stored.queued,
    }
    response = json_response(result, status=202, replayed=stored.replayed)
    response.headers["Location"] = f"/v1/{call.scope.prefix}replays/{stored.replay_id}"
    return response


@route(
    "GET",
    "/conversations/{conversation_id}/snapshots/{snapshot_id}",
    "read_snapshot",
    summary="Read a conversation snapshot",
    parameters=(
        _CONVERSATION,
        parameter("path", "snapshot_id", IDENTIFIER, "The id of the snapshot.", required=True),
    ),
    returns={200: Returned("The conversation as submitted.", SnapshotView)},
    errors={E.SNAPSHOT_NOT_FOUND, E.ERASURE_RUNNING, E.DECRYPTION_FAILED, E.VAULT_UNAVAILABLE},
)
async def read(call: UserCall) -> Response:
    """Record the reader, then decrypt and return the conversation."""
    snapshot = await read_snapshot(
        call.scope,
        call.path("conversation_id"),
        call.path("snapshot_id"),
        actor=call.actor,
        vault=call.service.vault,
    )
    body = {
        "conversation_id": snapshot.conversation_id,
        "snapshot_id": snapshot.snapshot_id,
        "snapshot_uri": snapshot.uri,
        "replay_id": snapshot.replay_id,
        "profile_id": snapshot.profile_id,
        "profile_version": snapshot.profile_version,
        "profile_sha256": snapshot.profile_sha256,
        "service_id": snapshot.service_id,
        "is_turn": snapshot.is_turn,
        "topic": snapshot.topic,
        "metadata": snapshot.metadata,
        "messages": [message.members() for message in snapshot.messages],
    }
    return json_response(body)


@route(
    "GET",
    "/conversations",
    "list_conversations",
    summary="List conversations",
    parameters=(LIMIT, CURSOR, _OF_CONVERSATION),
    returns={200: Returned("A page of at most 100 rows, the one submitted last first.", ConversationPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT},
)
async def list_stored(call: UserCall) -> Response:
    """List the stored conversations of a user with their newest snapshot, without content. With conversation_id, list
    the snapshots and turns of that conversation. No read of a conversation is recorded.
    """
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    conversation_id = query.text(call.request, "conversation_id", max_length=MAX_SEGMENT)
    records = call.service.records
    if conversation_id is None:
        page = await list_conversations(call.scope, limit=limit, cursor=cursor, records=records)
    else:
        page = await list_snapshots(call.scope, conversation_id, limit=limit, cursor=cursor, records=records)
    return page_response("conversations", page.items, page.next_cursor)


@route(
    "DELETE",
    "/conversations/{conversation_id}",
    "retract_conversation",
    summary="Take a conversation back",
    parameters=(
        _CONVERSATION,
        parameter("query", "reason", _REASON, "Why it is taken back; kept with the retraction.", required=True),
        parameter("query", "dry_run", FLAG, "Only plan it. The plan can be applied later."),
        KEY,
    ),
    returns={
        202: Returned(
            "applying: a worker takes it back. planned: a dry run, or another principal has to apply it.",
            RetractionView,
            etag=True,
        )
    },
    errors={
        *(E.MALFORMED_REQUEST, E.IDEMPOTENCY_KEY_REQUIRED, E.IDEMPOTENCY_KEY_REUSED, E.FIELD_DENIED, E.USER_HELD),
        *(E.RETRACTION_CLOSED, E.ERASURE_RUNNING, E.HISTORY_CORRUPT, E.DECRYPTION_FAILED, E.VAULT_UNAVAILABLE),
        E.USER_NOT_FOUND,
    },
)
async def retract(call: UserCall) -> Response:
    """Remove a conversation and what was learnt from it alone: the short form of a retraction, which can be undone.

    The answer has the plan; GET .../retractions/{retraction_id} returns the progress. From now on no turn of the
    conversation is accepted.
    """
    key = idempotency_key(call.request.headers)
    reason = query.text(call.request, "reason", max_length=MAX_REASON)
    if not reason:
        raise MalformedRequest("The query parameter reason is required.", param="reason")
    found = await retract_conversation(
        call.scope,
        call.path("conversation_id"),
        reason,
        call.service,
        actor=call.actor,
        idempotency_key=key,
        dry_run=query.boolean(call.request, "dry_run"),
    )
    response = view_response(found, status=202)
    response.headers["Location"] = f"/v1/{call.scope.prefix}retractions/{found.retraction.retraction_id}"
    return response


@route(
    "GET",
    "/accesses",
    "list_snapshot_reads",
    summary="List reads of conversations and exports",
    parameters=(LIMIT, CURSOR),
    returns={200: Returned("A page of records, oldest first.", SnapshotReadPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
async def list_(call: UserCall) -> Response:
    """List who read which snapshot, and who exported the user, and when. The records hold no content."""
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    page = await list_snapshot_reads(call.scope, limit=limit, cursor=cursor, records=call.service.records)
    return raw_page_response("accesses", page.items, page.next_cursor)
