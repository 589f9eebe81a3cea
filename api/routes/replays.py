"""Routes of replays."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.json_response import json_response, page_response
from api.openapi import IDENTIFIER, Returned, parameter
from api.parameters import CURSOR, LIMIT
from api.responses.replays import ReplayPage, ReplayView
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import MAX_SEGMENT
from memnet.domain.core.user_item import ItemKey
from memnet.domain.replay.snapshot import snapshot_key
from memnet.operations.replay.jobs import get_replay, list_replays, retry_replay

router = APIRouter()
route = user_routes(router, "conversations")

_OF_SNAPSHOT = (
    parameter("query", "conversation_id", IDENTIFIER, "The conversation of the snapshot; requires snapshot_id."),
    parameter("query", "snapshot_id", IDENTIFIER, "List the replay of this snapshot; requires conversation_id."),
)
_ONE = (parameter("path", "replay_id", IDENTIFIER, "The replay_id from the snapshot's response.", required=True),)


@route(
    "GET",
    "/replays",
    "list_replays",
    summary="List replays",
    parameters=(LIMIT, CURSOR, *_OF_SNAPSHOT),
    returns={200: Returned("A page of replays by id; it may be shorter than its limit.", ReplayPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT},
)
async def list_(call: UserCall) -> Response:
    """List a user's replays, each with its patches. Ids are not ordered by time.

    With conversation_id and snapshot_id the list has the replay of that snapshot, or nothing; `limit` and `cursor` have
    no effect then.
    """
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    snapshot = _snapshot(call)
    page = await list_replays(call.scope, limit=limit, cursor=cursor, records=call.service.records, snapshot=snapshot)
    return page_response("replays", page.items, page.next_cursor)


@route(
    "GET",
    "/replays/{replay_id:id}",
    "get_replay",
    summary="Get a replay",
    parameters=_ONE,
    returns={200: Returned("The replay and the result of each patch.", ReplayView)},
    errors={E.REPLAY_NOT_FOUND, E.HISTORY_CORRUPT},
)
async def get(call: UserCall) -> Response:
    """Get the progress of a replay, with the current status of its conflicts."""
    return json_response(await get_replay(call.scope, call.path("replay_id"), records=call.service.records))


@route(
    "POST",
    "/replays/{replay_id:id}:retry",
    "retry_replay",
    summary="Retry a failed replay",
    parameters=_ONE,
    returns={202: Returned("The replay, queued; unchanged if it has not failed.", ReplayView)},
    errors={E.REPLAY_NOT_FOUND, E.SOURCE_RETRACTED, E.ERASURE_RUNNING, E.HISTORY_CORRUPT},
)
async def retry(call: UserCall) -> Response:
    """Queue the replay for a worker. Patches already planned or applied stay unchanged."""
    replay = await retry_replay(call.scope, call.path("replay_id"), call.service)
    return json_response(replay.members(), status=202)


def _snapshot(call: UserCall) -> ItemKey | None:
    """Return the key of the snapshot that the query names. Raises MalformedRequest, InvalidIdentifier."""
    conversation_id = query.text(call.request, "conversation_id", max_length=MAX_SEGMENT)
    snapshot_id = query.text(call.request, "snapshot_id", max_length=MAX_SEGMENT)
    if conversation_id is None and snapshot_id is None:
        return None
    if conversation_id is None or snapshot_id is None:
        raise MalformedRequest("Send conversation_id and snapshot_id together.", param="snapshot_id")
    return snapshot_key(call.scope, conversation_id, snapshot_id)
