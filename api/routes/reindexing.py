"""Reindexing a tenant's events: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer
from api.admission import TenantAdmission, admit_to_tenant
from api.direct_route import DirectRoute
from api.openapi import ADMISSION_ERRORS, TENANT_PARAMETERS, TENANT_PREFIX, Schema, answer, describe
from api.routes.documents_openapi import TEXT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.events.index_layout import Reindexing
from memnet.operations.events.get_reindexing import get_reindexing
from memnet.operations.events.reindex_events import reindex_events

router = APIRouter(prefix=TENANT_PREFIX, route_class=DirectRoute)

_TIME: Schema = {"type": "string", "format": "date-time"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_REINDEXING: Schema = {
    "type": "object",
    "required": ["reindex_id", "status", "events", "waiting", "removed", "started_at", "updated_at"],
    "properties": {
        "reindex_id": TEXT,
        "status": {
            "type": "string",
            "enum": ["running", "stalled", "succeeded"],
            "description": "stalled: nobody has gone on with it for a minute; asking for it again does.",
        },
        "events": {**_COUNT, "description": "Stored events read so far."},
        "waiting": {**_COUNT, "description": "Of these, how many the index has not taken yet; they are tried again."},
        "removed": {**_COUNT, "description": "Documents taken out of the index because no event stands behind them."},
        "started_at": _TIME,
        "updated_at": _TIME,
    },
}
_START = describe(
    "reindex_events",
    tag="operations",
    summary="Refill the search index from the stored events of a tenant",
    parameters=TENANT_PARAMETERS,
    answers={202: answer("It runs; Location tells where to ask.", _REINDEXING, examples.REINDEXING)},
    errors=ADMISSION_ERRORS | {E.SEARCH_UNAVAILABLE, E.TENANT_ENDED},
)
_GET = describe(
    "get_reindexing",
    tag="operations",
    summary="Tell how far the newest reindexing of a tenant is",
    parameters=TENANT_PARAMETERS,
    answers={200: answer("Its record.", _REINDEXING, {**examples.REINDEXING, "status": "succeeded"})},
    errors=ADMISSION_ERRORS | {E.REINDEX_NOT_FOUND, E.SEARCH_UNAVAILABLE},
)


@router.post("/search:reindex", **_START)
async def start(request: Request) -> Response:
    """Start it, or resume one that has stalled; one that is under way goes on. Searches are answered throughout."""
    admission = await admit_to_tenant(request, "reindex_events")
    service = admission.service
    record = await reindex_events(admission.tenant_id, service)
    response = _answer(admission, record, status=202)
    response.headers["Location"] = request.scope["path"]
    return response


@router.get("/search:reindex", **_GET)
async def get(request: Request) -> Response:
    """Read the record, which any process of the service may have written."""
    admission = await admit_to_tenant(request, "get_reindexing")
    return _answer(admission, await get_reindexing(admission.tenant_id, search=admission.service.search))


def _answer(admission: TenantAdmission, record: Reindexing, *, status: int = 200) -> Response:
    told = {
        "reindex_id": record.reindex_id,
        "status": record.state(admission.service.clock.now()),
        "events": record.events,
        "waiting": record.waiting,
        "removed": record.removed,
        "started_at": record.started_at,
        "updated_at": record.updated_at,
    }
    return json_answer.answer(json_answer.dump(told), status=status)
