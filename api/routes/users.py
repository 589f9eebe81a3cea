"""Routes of a tenant's users: all of them, those for whom something waits, and what the tenant decides."""

from dataclasses import asdict

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import TenantCall
from api.json_response import page_response
from api.openapi import Returned, parameter
from api.parameters import CURSOR, LIMIT
from api.responses.documents import TenantPendingPage
from api.responses.service import UserPage, WaitingPage
from api.routing import tenant_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import MAX_SEGMENT, Json
from memnet.domain.governance.waiting import TENANT, WaitingKind
from memnet.operations.service.tenant_pending import TenantQuestion, list_tenant_pending
from memnet.operations.service.users import list_users
from memnet.operations.service.waiting import list_waiting

router = APIRouter()
route = tenant_routes(router, "operations")

_PREFIX = parameter(
    "query", "prefix", {"type": "string", "maxLength": MAX_SEGMENT}, "Only users whose ids start with this text."
)

_KINDS = [kind.value for kind in WaitingKind]
_KIND = parameter("query", "kind", {"type": "string", "enum": _KINDS}, "Only what waits in this way.")

_DECIDES = parameter("query", "decides", {"type": "string", "enum": [TENANT]}, "Whose questions: the tenant's.")


@route(
    "GET",
    "/users",
    "list_users",
    summary="List users",
    parameters=(LIMIT, CURSOR, _PREFIX),
    returns={200: Returned("A page of users by id; it may be shorter than its limit.", UserPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
async def list_(call: TenantCall) -> Response:
    """List the users of a tenant about whom anything is stored. A page costs one call to the storage."""
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    prefix = query.text(call.request, "prefix", max_length=MAX_SEGMENT) or ""
    users = call.service.users
    page = await list_users(call.tenant_id, prefix=prefix, limit=limit, cursor=cursor, users=users)
    return page_response("users", [{"user_id": scope.user_id} for scope in page.items], page.next_cursor)


@route(
    "GET",
    "/waiting",
    "list_waiting",
    summary="List what waits for a person",
    parameters=(LIMIT, CURSOR, _KIND),
    returns={200: Returned("A page with one row for each user and kind; it may be short or empty.", WaitingPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
async def list_waiting_(call: TenantCall) -> Response:
    """List the users of a tenant for whom something waits, without its content. The cost depends on what waits, not on
    the number of users; a page looks at 25 users at most.
    """
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    kind = _kind(call)
    page = await list_waiting(call.tenant_id, call.service, kind=kind, limit=limit, cursor=cursor)
    return page_response("waiting", page.items, page.next_cursor)


@route(
    "GET",
    "/pending",
    "list_tenant_pending",
    summary="List the questions that the tenant decides",
    parameters=(LIMIT, CURSOR, _DECIDES),
    returns={200: Returned("A page of questions; it may be short or empty.", TenantPendingPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
async def list_tenant_pending_(call: TenantCall) -> Response:
    """List the pending items of all users that the tenant decides, each with the entry that it contradicts, so that
    both sides and their evidence can be compared. The cost depends on what waits, not on the number of users; a page
    looks at 25 users at most. `:confirm` of the item's user answers.
    """
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    if query.text(call.request, "decides") not in (None, TENANT):
        raise MalformedRequest(f"The query parameter decides must be {TENANT}.", parameter="decides")
    page = await list_tenant_pending(call.tenant_id, call.service, limit=limit, cursor=cursor)
    return page_response("pending", [_question(listed) for listed in page.items], page.next_cursor)


def _question(listed: TenantQuestion) -> Json:
    return {
        "user_id": listed.key.scope.user_id,
        "namespace": listed.key.namespace,
        "path": listed.key.path,
        "pointer": listed.waiting.pointer,
        "etag": listed.etag,
        "item": listed.waiting.item,
        "existing": None if listed.existing is None else asdict(listed.existing),
    }


def _kind(call: TenantCall) -> WaitingKind | None:
    """Raises MalformedRequest."""
    given = query.text(call.request, "kind")
    if given not in (None, *_KINDS):
        raise MalformedRequest(f"The query parameter kind must be one of {', '.join(_KINDS)}.", parameter="kind")
    return None if given is None else WaitingKind(given)
