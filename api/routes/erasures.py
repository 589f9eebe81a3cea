"""Erasing a user's memory: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer
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
from api.preconditions import idempotency_key
from api.routes.documents_openapi import KEY, TEXT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.governance.erasure_receipt import ErasureStatus, Status
from memnet.operations.governance.erasure_request import get_erasure, request_erasure

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

_TIME: Schema = {"type": "string", "format": "date-time"}
_COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
_STATUS: Schema = {
    "type": "object",
    "required": ["erasure_id", "status", "accepted_at", "removed", "failing", "settled_at", "receipt"],
    "properties": {
        "erasure_id": TEXT,
        "status": {
            "type": "string",
            "enum": [status.value for status in Status],
            "description": "partial: it is over, and the receipt says what remains, why, and until when if that is "
            "known.",
        },
        "accepted_at": _TIME,
        "removed": {**_COUNTS, "description": "How much of each kind was removed."},
        "failing": {
            "type": "object",
            "additionalProperties": TEXT,
            "description": "The stores that keep it from going on, each with an error code. It is tried again.",
        },
        "settled_at": {
            "type": ["string", "null"],
            "format": "date-time",
            "description": "Until then something that was begun before may arrive, so it does not end earlier; null: "
            "it is over, or not known yet.",
        },
        "receipt": {"type": ["object", "null"], "description": "Signed; docs/erasure.md says what is in it."},
    },
}
_REQUEST = describe(
    "request_erasure",
    tag="governance",
    summary="Erase all that is stored of a user",
    parameters=(*USER_PARAMETERS, KEY),
    answers={
        202: answer(
            "running: from now on nothing is written for the user. partial: a legal hold covers the user, and nothing "
            "was touched.",
            _STATUS,
            examples.ERASING,
        )
    },
    errors=ADMISSION_ERRORS
    | {E.IDEMPOTENCY_KEY_REQUIRED, E.ERASURE_RUNNING, E.HISTORY_CORRUPT}
    | {E.VAULT_UNAVAILABLE, E.DECRYPTION_FAILED},
)
_GET = describe(
    "get_erasure",
    tag="governance",
    summary="Tell how an erasure stands, with its receipt once it is over",
    parameters=(
        *USER_PARAMETERS,
        parameter("path", "erasure_id", IDENTIFIER, "As the request for it was answered.", required=True),
    ),
    answers={200: answer("How it stands.", _STATUS, examples.ERASED)},
    errors=ADMISSION_ERRORS | {E.ERASURE_NOT_FOUND, E.HISTORY_CORRUPT},
)


@router.delete("/memory", **_REQUEST)
async def request(request: Request) -> Response:
    """Accept it; the workers' timer does the rest."""
    admission = await admit(request, "request_erasure")
    status = await request_erasure(
        admission.scope, admission.service, idempotency_key=idempotency_key(request.headers), actor=admission.actor
    )
    return _answer(status, 202)


@router.get("/erasures/{erasure_id}", **_GET)
async def get(request: Request) -> Response:
    """Read its journal while it runs, then its receipt."""
    admission = await admit(request, "get_erasure")
    status = await get_erasure(admission.scope, request.path_params["erasure_id"], admission.service)
    return _answer(status, 200)


def _answer(status: ErasureStatus, code: int) -> Response:
    return json_answer.answer(json_answer.dump(status.members()), status=code)
