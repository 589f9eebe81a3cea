"""Retention: HTTP in, one operation, HTTP out."""

from datetime import datetime

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import admit
from api.bodies import RetentionBody
from api.direct_route import DirectRoute
from api.openapi import (
    ADMISSION_ERRORS,
    BODY_ERRORS,
    USER_PARAMETERS,
    USER_PREFIX,
    Schema,
    answer,
    body,
    describe,
    parameter,
)
from api.request_body import read_body
from api.routes.documents_openapi import FLAG, TEXT
from memnet.domain.catalog.retention_policy import COUNTED
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.timestamps import from_text
from memnet.operations.governance.retention import apply_retention

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

_TIME: Schema = {"type": "string", "format": "date-time"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_TALLY: Schema = {
    "type": "object",
    "required": ["removed", "on_hold", "blocked", "deferred", "retained"],
    "properties": {
        "removed": {**_COUNT, "description": "In a dry run: what would be removed."},
        "on_hold": {**_COUNT, "description": "Expired, but under a legal hold."},
        "blocked": {**_COUNT, "description": "Expired, but still needed by an item that is not."},
        "deferred": {**_COUNT, "description": "Expired, but changed meanwhile; the next run retries it."},
        "retained": {**_COUNT, "description": "Not expired."},
    },
}
HELD: Schema = {
    "type": "array",
    "description": "The legal holds in force.",
    "items": {
        "type": "object",
        "required": ["covers", "reason", "actor", "since"],
        "properties": {
            "covers": {"type": "string", "enum": ["user", "tenant"]},
            "reason": TEXT,
            "actor": TEXT,
            "since": _TIME,
        },
    },
}
_APPLIED: Schema = {
    "type": "object",
    "required": ["as_of", "dry_run", "on_hold", "holds", "counts", "baselines", "unreadable"],
    "properties": {
        "as_of": _TIME,
        "dry_run": {"type": "boolean"},
        "on_hold": {
            "type": "boolean",
            "description": "Whether a legal hold covers the user, so that nothing is deleted.",
        },
        "holds": HELD,
        "counts": {"type": "object", "required": list(COUNTED), "properties": dict.fromkeys(COUNTED, _TALLY)},
        "baselines": {**_COUNT, "description": "Documents whose history was shortened."},
        "unreadable": {**_COUNT, "description": "Items that cannot be read or are corrupt; they are left unchanged."},
    },
}
_DOCS = describe(
    "apply_retention",
    tag="governance",
    summary="Remove what is stored of a user for longer than the rules say",
    parameters=(
        *USER_PARAMETERS,
        parameter("query", "as_of", _TIME, "As in the body, which counts if both are sent."),
        parameter("query", "dry_run", FLAG, "As in the body; sent as true in either place it is true."),
    ),
    body={**body(RetentionBody, preview={"dry_run": True}), "required": False},
    answers={200: answer("What was done, or would be.", _APPLIED, examples.RETENTION)},
    errors=ADMISSION_ERRORS | BODY_ERRORS | {E.HISTORY_CORRUPT, E.ERASURE_RUNNING, E.VAULT_UNAVAILABLE},
)


@router.post("/retention:apply", **_DOCS)
async def apply(request: Request) -> Response:
    """Apply the profiles' rules within the organisation's limits; a timer does the same for everybody every night."""
    admission = await admit(request, "apply_retention")
    service = admission.service
    is_dry_run, as_of = query.flag(request, "dry_run"), query.text(request, "as_of")
    asked = await _asked(request, service.settings.max_body_bytes)
    applied = await apply_retention(
        admission.scope, service, as_of=_as_of(as_of, asked), dry_run=asked.dry_run or is_dry_run
    )
    return json_answer.answer(json_answer.dump(applied.members()))


async def _asked(request: Request, max_bytes: int) -> RetentionBody:
    """The body; an empty one if none was sent (RFC 9112, 6.3: neither header, no body)."""
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return RetentionBody()
    return await read_body(request, RetentionBody, max_bytes=max_bytes)


def _as_of(given: str | None, asked: RetentionBody) -> datetime | None:
    """Both are checked; that of the body counts. Raises MalformedRequest."""
    by_query, by_body = (None if text is None else from_text(text) for text in (given, asked.as_of))
    return by_body or by_query
