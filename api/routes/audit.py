"""The audit records: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import json_answer, query
from api.admission import admit
from api.direct_route import DirectRoute
from api.openapi import ADMISSION_ERRORS, PATH, USER_PARAMETERS, USER_PREFIX, Schema, answer, describe, parameter
from api.routes.documents_openapi import CURSOR, LIMIT, NAMESPACE
from memnet.domain.core.error_code import ErrorCode as E
from memnet.operations.history.list_audit import list_audit

router = APIRouter(prefix=USER_PREFIX, route_class=DirectRoute)

_RECORDS: Schema = {
    "type": "object",
    "required": ["records", "next_cursor"],
    "properties": {
        "records": {"type": "array", "items": {"type": "object", "required": ["change_id", "sequence"]}},
        "next_cursor": {"type": ["string", "null"]},
    },
}
_DOCS = describe(
    "list_audit",
    tag="audit",
    summary="List what happened to a user's documents",
    parameters=(
        *USER_PARAMETERS,
        NAMESPACE,
        parameter("query", "path", PATH, "Only the document of this path; takes namespace, too."),
        LIMIT,
        CURSOR,
    ),
    answers={200: answer("A page of records.", _RECORDS)},
    errors=ADMISSION_ERRORS | {E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE},
)


@router.get("/audit", **_DOCS)
async def list_(request: Request) -> Response:
    """List the records, document by document, each in the order it happened; those of deleted documents, too."""
    admission = await admit(request, "list_audit")
    page = await list_audit(
        admission.scope,
        admission.service,
        namespace=query.text(request, "namespace"),
        path=query.text(request, "path"),
        limit=query.limit(request),
        cursor=query.cursor(request),
    )
    parts = {
        "records": json_answer.elements(list(page.items)),
        "next_cursor": json_answer.dump(page.next_cursor),
    }
    return json_answer.answer(json_answer.members(parts))
