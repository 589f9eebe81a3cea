"""The route of consolidation."""

from fastapi import APIRouter
from starlette.responses import Response

from api.authorization import UserCall
from api.bodies import ConsolidateBody
from api.json_response import json_response
from api.openapi import Returned
from api.responses.consolidation import Consolidated
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.scope import Json
from memnet.operations.consolidation import ConsolidatedDocument, consolidate_documents

router = APIRouter()


@user_routes(router, "documents")(
    "POST",
    "/documents:consolidate",
    "consolidate_documents",
    body=ConsolidateBody,
    optional=True,
    summary="Consolidate a user's documents",
    returns={200: Returned("The result for each document.", Consolidated)},
    errors={E.HISTORY_CORRUPT, E.ERASURE_RUNNING, E.VAULT_UNAVAILABLE},
)
async def consolidate(call: UserCall, body: ConsolidateBody) -> Response:
    """Let open statements that say the same become one, by the rules of the profiles. A timer does this each hour for
    the users that changed. A version of a document is consolidated once, so the request can be repeated.
    """
    found = await consolidate_documents(call.scope, call.service, actor=call.actor, dry_run=body.dry_run)
    return json_response({"dry_run": body.dry_run, "documents": [_row(one) for one in found]})


def _row(one: ConsolidatedDocument) -> Json:
    result = one.result
    return {
        "namespace": one.key.namespace,
        "path": one.key.path,
        "profile_id": result.profile_id,
        "binding_id": result.binding_id,
        "outcome": result.outcome.value,
        "problem": result.problem,
        "statements": [
            {"section": step.section, "action": step.action.value, "entry_id": entry_id, "into": into}
            for step, entry_id, into in one.steps()
        ],
        "groups": len(result.joints),
    }
