"""Ending a tenant: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import json_answer, query
from api.admission import TenantAdmission, admit_to_tenant
from api.direct_route import DirectRoute
from api.openapi import ADMISSION_ERRORS, TENANT_PARAMETERS, TENANT_PREFIX, Schema, answer, describe, parameter
from api.routes.documents_openapi import TEXT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.governance.tenant_erasure import TenantErasure, TenantStatus
from memnet.operations.governance.erase_tenant import get_tenant_erasure, request_tenant_erasure

router = APIRouter(prefix=TENANT_PREFIX, route_class=DirectRoute)

_TIME: Schema = {"type": "string", "format": "date-time"}
_STATUS: Schema = {
    "type": "object",
    "required": ["erasure_id", "status", "accepted_at", "users", "failing", "settled_at", "receipt"],
    "properties": {
        "erasure_id": TEXT,
        "status": {
            "type": "string",
            "enum": [status.value for status in TenantStatus],
            "description": "partial: it is over for now, and the receipt says what is left. A new request runs it "
            "again.",
        },
        "accepted_at": _TIME,
        "users": {"type": "integer", "minimum": 0, "description": "How many users' erasures have begun."},
        "failing": {
            "type": "object",
            "additionalProperties": TEXT,
            "description": "What keeps it from going on, each with an error code. It is tried again.",
        },
        "settled_at": {
            "type": ["string", "null"],
            "format": "date-time",
            "description": "It does not end earlier, because requests from before may arrive until then; null: it is "
            "over, or not known yet.",
        },
        "receipt": {"type": ["object", "null"], "description": "The signed receipt, once it is over."},
    },
}
_RUNNING: Schema = {
    "erasure_id": "01hq3f9z6t7m8k2n4p5r6s7v8w",
    "status": "running",
    "accepted_at": "2026-02-14T20:00:00.000000Z",
    "users": 50,
    "failing": {},
    "settled_at": "2026-02-14T20:17:00.000000Z",
    "receipt": None,
}
_PARTIAL: Schema = {
    **_RUNNING,
    "status": "partial",
    "settled_at": None,
    "receipt": {
        "receipt_version": 1,
        "erasure_id": "01hq3f9z6t7m8k2n4p5r6s7v8w",
        "tenant_id": "acme",
        "salt": "q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k=",
        "status": "partial",
        "requested_by": "svc-privacy",
        "accepted_at": "2026-02-14T20:00:00.000000Z",
        "finished_at": "2026-02-14T20:18:00.000000Z",
        "stores": ["blobs", "index", "queues"],
        "users": 49,
        "users_held": ["0c4f19a4e37c6ff4d5d4ab9f5a1bd6a4a4e5b2f7a4cfe2d9d8f0b6f5a1c3e7d9"],
        "remaining": [],
        "clean_scans": 2,
        "recoverable_until": None,
        "key_id": "f1d2d2f924e986ac86fdf7b36c94bcdf32beec15d2f4a3b1c0e9d8f7a6b5c4d3",
        "signature": "…",
    },
}
_CONFIRM = parameter("query", "confirm", TEXT, "The tenant's id again: this ends the tenant for good.", required=True)
_ENDING = answer("running: within a minute every write for the tenant is refused, for good.", _STATUS, _RUNNING)
_REQUEST = describe(
    "request_tenant_erasure",
    tag="governance",
    summary="End a tenant: erase the memory of all its users, and refuse every further write",
    parameters=(*TENANT_PARAMETERS, _CONFIRM),
    answers={202: _ENDING},
    errors=ADMISSION_ERRORS
    | {E.MALFORMED_REQUEST, E.TENANT_HELD, E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE, E.DECRYPTION_FAILED},
)
_GET = describe(
    "get_tenant_erasure",
    tag="governance",
    summary="Tell how the erasure of a tenant stands, with its receipt once it is over",
    parameters=TENANT_PARAMETERS,
    answers={200: answer("How it stands.", _STATUS, _PARTIAL)},
    errors=ADMISSION_ERRORS | {E.ERASURE_NOT_FOUND, E.HISTORY_CORRUPT},
)


@router.delete("/memory", **_REQUEST)
async def request(request: Request) -> Response:
    """Accept it; the workers' timer does the rest."""
    admission = await admit_to_tenant(request, "request_tenant_erasure")
    if query.text(request, "confirm") != admission.tenant_id:
        raise MalformedRequest("The query parameter confirm must repeat the tenant's id.", parameter="confirm")
    service = admission.service
    return _answer(await request_tenant_erasure(admission.tenant_id, service, actor=admission.actor), admission, 202)


@router.get("/erasure", **_GET)
async def get(request: Request) -> Response:
    """Read its record."""
    admission = await admit_to_tenant(request, "get_tenant_erasure")
    return _answer(await get_tenant_erasure(admission.tenant_id, admission.service), admission, 200)


def _answer(erasure: TenantErasure, admission: TenantAdmission, status: int) -> Response:
    return json_answer.answer(json_answer.dump(erasure.members(admission.service.erasure_quiescence)), status=status)
