"""The route of audit records."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.json_response import raw_page_response
from api.openapi import PATH, Returned, parameter
from api.parameters import CURSOR, LIMIT, NAMESPACE
from api.responses.documents import AuditPage
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.operations.history.list_audit import list_audit

router = APIRouter()


@user_routes(router, "audit")(
    "GET",
    "/audit",
    "list_audit",
    summary="List audit records",
    parameters=(
        NAMESPACE,
        parameter("query", "path", PATH, "Only the document with this path; requires namespace."),
        LIMIT,
        CURSOR,
    ),
    returns={200: Returned("A page of records.", AuditPage)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR, E.HISTORY_CORRUPT, E.VAULT_UNAVAILABLE},
)
async def list_(call: UserCall) -> Response:
    """List the records document by document, oldest first, including those of deleted documents."""
    page = await list_audit(
        call.scope,
        call.service,
        namespace=query.text(call.request, "namespace"),
        path=query.text(call.request, "path"),
        limit=query.limit(call.request),
        cursor=query.cursor(call.request),
    )
    return raw_page_response("records", page.items, page.next_cursor)
