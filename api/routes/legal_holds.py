"""Routes of legal holds on a user and on a whole tenant."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import TenantCall, UserCall
from api.bodies import HoldBody
from api.json_response import json_response
from api.openapi import Returned, parameter
from api.responses.governance import HoldView
from api.routing import tenant_routes, user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.governance.legal_hold import MAX_REASON, HoldTarget
from memnet.operations.governance.legal_holds import get_hold, place_hold, release_hold

router = APIRouter()
user = user_routes(router, "governance")
tenant = tenant_routes(router, "governance")

_PATH = "/legal-hold"
_REASON = parameter(
    "query", "reason", {"type": "string", "minLength": 1, "maxLength": MAX_REASON}, "Why it is lifted.", required=True
)
_RETURNS = {200: Returned("The legal hold and its history.", HoldView)}


@user(
    "PUT",
    _PATH,
    "place_hold",
    body=HoldBody,
    summary="Place a legal hold on a user",
    returns=_RETURNS,
    errors={E.HISTORY_CORRUPT, E.TENANT_ENDED, E.ERASURE_RUNNING},
)
async def place(call: UserCall, body: HoldBody) -> Response:
    """While on hold, nothing of the user is deleted, whatever the retention rules say.

    Repeating the reason changes nothing; another reason replaces it and is recorded. Refused during an erasure.
    """
    return await _place(call, HoldTarget(call.scope.tenant_id, call.scope.user_id), body)


@user(
    "DELETE",
    _PATH,
    "release_hold",
    summary="Lift the legal hold on a user",
    parameters=(_REASON,),
    returns=_RETURNS,
    errors={E.HISTORY_CORRUPT, E.MALFORMED_REQUEST},
)
async def release(call: UserCall) -> Response:
    """Lift the legal hold; its history remains. A hold on the tenant still covers the user."""
    return await _release(call, HoldTarget(call.scope.tenant_id, call.scope.user_id))


@user(
    "GET",
    _PATH,
    "get_hold",
    summary="Get a user's legal hold",
    returns=_RETURNS,
    errors={E.HISTORY_CORRUPT},
)
async def get(call: UserCall) -> Response:
    """Get the legal holds that cover a user, with their reasons and the history of the user's own."""
    return await _get(call, HoldTarget(call.scope.tenant_id, call.scope.user_id))


@tenant(
    "PUT",
    _PATH,
    "place_tenant_hold",
    body=HoldBody,
    summary="Place a legal hold on a tenant",
    returns=_RETURNS,
    errors={E.HISTORY_CORRUPT, E.TENANT_ENDED},
)
async def place_on_tenant(call: TenantCall, body: HoldBody) -> Response:
    """Place a legal hold on all current and future users of a tenant. A running erasure of a user continues."""
    return await _place(call, HoldTarget(call.tenant_id), body)


@tenant(
    "DELETE",
    _PATH,
    "release_tenant_hold",
    summary="Lift the legal hold on a tenant",
    parameters=(_REASON,),
    returns=_RETURNS,
    errors={E.HISTORY_CORRUPT, E.MALFORMED_REQUEST},
)
async def release_from_tenant(call: TenantCall) -> Response:
    """Lift the legal hold. Holds on single users remain."""
    return await _release(call, HoldTarget(call.tenant_id))


@tenant(
    "GET",
    _PATH,
    "get_tenant_hold",
    summary="Get a tenant's legal hold",
    returns=_RETURNS,
    errors={E.HISTORY_CORRUPT},
)
async def get_of_tenant(call: TenantCall) -> Response:
    """Get the legal hold on a tenant, without those on single users."""
    return await _get(call, HoldTarget(call.tenant_id))


async def _place(call: UserCall | TenantCall, target: HoldTarget, body: HoldBody) -> Response:
    return json_response((await place_hold(target, body.reason, call.service, actor=call.actor)).members())


async def _release(call: UserCall | TenantCall, target: HoldTarget) -> Response:
    reason = query.text(call.request, "reason", max_length=MAX_REASON)
    if not reason:
        raise MalformedRequest("The query parameter reason is missing.", parameter="reason")
    return json_response((await release_hold(target, reason, call.service, actor=call.actor)).members())


async def _get(call: UserCall | TenantCall, target: HoldTarget) -> Response:
    return json_response((await get_hold(target, call.service)).members())
