"""The route of retention."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.bodies import RetentionBody
from api.json_response import json_response
from api.openapi import Returned, parameter
from api.parameters import FLAG, TIME
from api.responses.governance import RetentionApplied
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.timestamps import from_text
from memnet.operations.governance.retention import apply_retention

router = APIRouter()


def _query(call: UserCall) -> tuple[bool, str | None]:
    return query.boolean(call.request, "dry_run"), query.text(call.request, "as_of")


@user_routes(router, "governance")(
    "POST",
    "/retention:apply",
    "apply_retention",
    body=RetentionBody,
    optional=True,
    head=_query,
    summary="Apply retention to a user",
    parameters=(
        parameter("query", "as_of", TIME, "As in the body, which takes precedence."),
        parameter("query", "dry_run", FLAG, "As in the body; true in either place means true."),
    ),
    returns={200: Returned("The deleted items or, in a dry run, the expired ones.", RetentionApplied)},
    errors={E.HISTORY_CORRUPT, E.ERASURE_RUNNING, E.VAULT_UNAVAILABLE},
)
async def apply(call: UserCall, body: RetentionBody, given: tuple[bool, str | None]) -> Response:
    """Delete data past its retention period, within the organisation's limits. A timer does this for every user
    every night.
    """
    dry_run, as_of = given
    by_query, by_body = (None if text is None else from_text(text) for text in (as_of, body.as_of))
    applied = await apply_retention(
        call.scope, call.service, as_of=by_body or by_query, dry_run=body.dry_run or dry_run
    )
    return json_response(applied.to_json())
