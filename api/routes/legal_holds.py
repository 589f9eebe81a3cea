"""Legal holds on a user and on a whole tenant: HTTP in, one operation, HTTP out."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import Admission, TenantAdmission, admit, admit_to_tenant
from api.bodies import HoldBody
from api.direct_route import DirectRoute
from api.openapi import (
    ADMISSION_ERRORS,
    BODY_ERRORS,
    TENANT_PARAMETERS,
    TENANT_PREFIX,
    USER_PARAMETERS,
    Schema,
    answer,
    body,
    describe,
    parameter,
)
from api.request_body import read_body
from api.routes.documents_openapi import TEXT
from api.routes.retention import HELD
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.governance.legal_hold import MAX_REASON, HoldAction, HoldTarget
from memnet.operations.governance.legal_holds import HoldStatus, get_hold, place_hold, release_hold

router = APIRouter(prefix=TENANT_PREFIX, route_class=DirectRoute)
_OF_USER, _OF_TENANT = "/users/{user_id}/legal-hold", "/legal-hold"

_STATUS: Schema = {
    "type": "object",
    "required": ["held", "holds", "changes"],
    "properties": {
        "held": {"type": "boolean"},
        "holds": HELD,
        "changes": {
            "type": "array",
            "description": "All that ever happened to this hold, the oldest first.",
            "items": {
                "type": "object",
                "required": ["action", "reason", "actor", "at"],
                "properties": {
                    "action": {"type": "string", "enum": [action.value for action in HoldAction]},
                    "reason": TEXT,
                    "actor": TEXT,
                    "at": {"type": "string", "format": "date-time"},
                },
            },
        },
    },
}
_LIFTED = {**examples.HOLD, "held": False, "holds": []}
_REASON = parameter(
    "query",
    "reason",
    {"type": "string", "minLength": 1, "maxLength": MAX_REASON},
    "Why it is lifted.",
    required=True,
)
_ERRORS = ADMISSION_ERRORS | {E.HISTORY_CORRUPT}
_ERRORS_OF = {"place": BODY_ERRORS | {E.TENANT_ENDED}, "release": {E.MALFORMED_REQUEST}, "get": set[E]()}
_OPERATIONS = {
    "place": "Keep everything there is of a {}, whatever the rules of retention say",
    "release": "Lift the legal hold on a {}",
    "get": "Tell whether a {} is under a legal hold, and who said so when and why",
}


def _docs(verb: str, noun: str) -> dict[str, Any]:
    parameters = USER_PARAMETERS if noun == "user" else TENANT_PARAMETERS
    place = verb == "place"
    return describe(
        f"{verb}_hold" if noun == "user" else f"{verb}_tenant_hold",
        tag="governance",
        summary=_OPERATIONS[verb].format(noun),
        parameters=(*parameters, _REASON) if verb == "release" else parameters,
        body=body(HoldBody, placed={"reason": "Litigation 2026-17: keep everything."}) if place else None,
        answers={200: answer("What holds then.", _STATUS, _LIFTED if verb == "release" else examples.HOLD)},
        errors=_ERRORS | _ERRORS_OF[verb] | ({E.ERASURE_RUNNING} if place and noun == "user" else set()),
    )


@router.put(_OF_USER, **_docs("place", "user"))
async def place(request: Request) -> Response:
    """Place it. Again with the same reason changes nothing; with another one it is recorded and takes its place.

    While an erasure of the user runs, the hold is refused.
    """
    admission = await admit(request, "place_hold")
    return await _place(request, admission, HoldTarget(admission.scope.tenant_id, admission.scope.user_id))


@router.delete(_OF_USER, **_docs("release", "user"))
async def release(request: Request) -> Response:
    """Lift it; that it was there stays on record. A hold on the tenant continues to cover the user."""
    admission = await admit(request, "release_hold")
    return await _release(request, admission, HoldTarget(admission.scope.tenant_id, admission.scope.user_id))


@router.get(_OF_USER, **_docs("get", "user"))
async def get(request: Request) -> Response:
    """Read it."""
    admission = await admit(request, "get_hold")
    return await _get(admission, HoldTarget(admission.scope.tenant_id, admission.scope.user_id))


@router.put(_OF_TENANT, **_docs("place", "tenant"))
async def place_on_tenant(request: Request) -> Response:
    """Place it on all users of the tenant, those to come included. An erasure of a user that runs continues."""
    admission = await admit_to_tenant(request, "place_tenant_hold")
    return await _place(request, admission, HoldTarget(admission.tenant_id))


@router.delete(_OF_TENANT, **_docs("release", "tenant"))
async def release_from_tenant(request: Request) -> Response:
    """Lift it. Holds on single users stay."""
    admission = await admit_to_tenant(request, "release_tenant_hold")
    return await _release(request, admission, HoldTarget(admission.tenant_id))


@router.get(_OF_TENANT, **_docs("get", "tenant"))
async def get_of_tenant(request: Request) -> Response:
    """Read it; holds on single users are not in it."""
    admission = await admit_to_tenant(request, "get_tenant_hold")
    return await _get(admission, HoldTarget(admission.tenant_id))


def _reason(request: Request) -> str:
    given = query.text(request, "reason", max_length=MAX_REASON)
    if not given:
        raise MalformedRequest("The query parameter reason is missing.", parameter="reason")
    return given


async def _place(request: Request, admission: Admission | TenantAdmission, place: HoldTarget) -> Response:
    service = admission.service
    asked = await read_body(request, HoldBody, max_bytes=service.settings.max_body_bytes)
    status = await place_hold(place, asked.reason, service, actor=admission.actor)
    return _answer(status)


async def _release(request: Request, admission: Admission | TenantAdmission, place: HoldTarget) -> Response:
    service = admission.service
    status = await release_hold(place, _reason(request), service, actor=admission.actor)
    return _answer(status)


async def _get(admission: Admission | TenantAdmission, place: HoldTarget) -> Response:
    service = admission.service
    return _answer(await get_hold(place, service))


def _answer(status: HoldStatus) -> Response:
    return json_answer.answer(json_answer.dump(status.members()))
