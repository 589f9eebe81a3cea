"""Routes of retractions: a source of memory is planned to be taken back, then applied, and can be undone."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.json_response import encode, json_response, page_response, raw_response
from api.openapi import IDENTIFIER, Returned, parameter
from api.parameters import CURSOR, KEY, LIMIT
from api.preconditions import IF_MATCH_PATTERN, idempotency_key, write_precondition
from api.responses.retractions import RetractionPage, RetractionRow, RetractionView
from api.retraction_body import RetractionBody
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import InvalidPrecondition
from memnet.domain.core.scope import Json
from memnet.domain.documents.commands import IfMatch
from memnet.operations.governance import retractions

router = APIRouter()
route = user_routes(router, "governance")

_ONE = (parameter("path", "retraction_id", IDENTIFIER, "The retraction_id from the plan or the list.", required=True),)
_IF_MATCH = parameter(
    "header",
    "If-Match",
    {"type": "string", "pattern": IF_MATCH_PATTERN},
    "The ETag of the plan. Without it the answer is 428.",
)
_READ = frozenset({E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE, E.DECRYPTION_FAILED})
_BEGIN = _READ | {E.RETRACTION_NOT_FOUND, E.RETRACTION_CLOSED, E.USER_HELD, E.ERASURE_RUNNING}


@route(
    "POST",
    "/retractions",
    "plan_retraction",
    body=RetractionBody,
    summary="Plan a retraction",
    parameters=(KEY,),
    returns={201: Returned("The plan. Nothing has changed.", RetractionView, etag=True)},
    errors=_READ
    | {E.IDEMPOTENCY_KEY_REQUIRED, E.IDEMPOTENCY_KEY_REUSED, E.USER_HELD, E.USER_NOT_FOUND}
    | {E.ERASURE_RUNNING, E.FIELD_DENIED},
)
async def plan(call: UserCall, body: RetractionBody) -> Response:
    """Find what rests on a source, in the documents of all profiles and in all other items, and store the plan.

    The plan contains the values. Apply it with the ETag of the answer.
    """
    key = idempotency_key(call.request.headers)
    view = await retractions.plan_retraction(
        call.scope, body.source.source(), body.reason, call.service, actor=call.actor, idempotency_key=key
    )
    return view_response(view, status=201)


@route(
    "GET",
    "/retractions",
    "list_retractions",
    summary="List retractions",
    parameters=(LIMIT, CURSOR),
    returns={200: Returned("A page of retractions without their plans, by id.", RetractionPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT},
)
async def list_(call: UserCall) -> Response:
    """List the retractions of a user with their states and counts."""
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    page = await retractions.list_retractions(call.scope, call.service, limit=limit, cursor=cursor)
    return page_response("retractions", [found.members() for found in page.items], page.next_cursor)


@route(
    "GET",
    "/retractions/{retraction_id}",
    "get_retraction",
    summary="Get a retraction",
    parameters=_ONE,
    returns={200: Returned("The retraction with its plan.", RetractionView, etag=True)},
    errors=_READ | {E.RETRACTION_NOT_FOUND},
)
async def get(call: UserCall) -> Response:
    """Get the state of a retraction, and what happens or has happened to each value and item."""
    return view_response(await retractions.get_retraction(call.scope, call.path("retraction_id"), call.service))


@route(
    "POST",
    "/retractions/{retraction_id}:apply",
    "apply_retraction",
    summary="Apply a retraction",
    parameters=(*_ONE, _IF_MATCH),
    returns={202: Returned("The retraction; a worker applies it.", RetractionRow)},
    errors=_BEGIN | {E.PRECONDITION_REQUIRED, E.INVALID_PRECONDITION, E.ETAG_MISMATCH, E.PLANNER_CANNOT_APPLY},
)
async def apply(call: UserCall) -> Response:
    """Apply a plan that the caller has read, or continue a failed one. A repeated request changes nothing.

    The source is closed: no turn of its conversation is accepted, and no replay of it runs. Its other items go, and
    each document is changed by one audited patch. A document that has changed since the plan is planned again.
    """
    precondition = write_precondition(call.request.headers)
    if not isinstance(precondition, IfMatch):
        raise InvalidPrecondition("Applying a retraction requires If-Match.", param="If-Match")
    begun = await retractions.apply_retraction(
        call.scope, call.path("retraction_id"), precondition.etag, call.service, actor=call.actor
    )
    return json_response(begun.members(), status=202)


@route(
    "POST",
    "/retractions/{retraction_id}:undo",
    "undo_retraction",
    summary="Undo a retraction",
    parameters=_ONE,
    returns={202: Returned("The retraction; a worker undoes it.", RetractionRow)},
    errors=_BEGIN,
)
async def undo(call: UserCall) -> Response:
    """Bring back what the retraction took, where no other write has changed it since, and open its source again."""
    begun = await retractions.undo_retraction(call.scope, call.path("retraction_id"), call.service, actor=call.actor)
    return json_response(begun.members(), status=202)


def view_response(view: retractions.RetractionView, *, status: int = 200) -> Response:
    """Return a retraction with its plan, and the ETag of the plan."""
    documents: Json = [document.members() for document in view.plan.documents]
    items: Json = [item.members() for item in view.plan.items]
    body = {**view.retraction.members(), "documents": documents, "items": items}
    return raw_response(encode(body), status=status, etag=view.retraction.etag)
