"""What an operator asks of the service as a whole: HTTP in, one operation, HTTP out."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import examples, json_answer, query
from api.admission import admit_anywhere
from api.direct_route import DirectRoute
from api.measurements import MINUTES, Measurements
from api.openapi import ROLE_ERRORS, Schema, answer, describe, parameter
from api.routes.documents_openapi import TEXT
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.job import JobKind
from memnet.operations.service.backlog import get_statistics

router = APIRouter(prefix="/v1", route_class=DirectRoute)

_TIME: Schema = {"type": "string", "format": "date-time"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": ["number", "null"], "minimum": 0}
_PERCENTILES = {
    name: {**_NUMBER, "description": "At most a tenth too high; null: no request."}
    for name in ("p50_ms", "p95_ms", "p99_ms")
}
_OPERATION: Schema = {
    "type": "object",
    "required": ["operation", "requests", *_PERCENTILES, "longest_ms", "statuses"],
    "properties": {
        "operation": {**TEXT, "description": "An operationId; `other`: everything that is no operation."},
        "requests": _COUNT,
        **_PERCENTILES,
        "longest_ms": {"type": "number", "minimum": 0},
        "statuses": {
            "type": "object",
            "additionalProperties": _COUNT,
            "description": "By status; `abandoned`: the client left before it was answered.",
        },
    },
}
_MINUTE: Schema = {
    "type": "object",
    "required": ["minute", "requests", *_PERCENTILES, "writes", "stale_writes", "failures"],
    "properties": {
        "minute": {**_TIME, "description": "When it began; the last one is not over."},
        "requests": {**_COUNT, "description": "Of all operations; what is none is left out."},
        **_PERCENTILES,
        "writes": {**_COUNT, "description": "PATCH, PUT and DELETE of documents."},
        "stale_writes": {**_COUNT, "description": "Of these, how many were answered with 412."},
        "failures": {**_COUNT, "description": "Answers from 500 on."},
    },
}
_WAITING: Schema = {
    "type": "object",
    "required": ["waiting", "oldest_at", "oldest_age_seconds"],
    "properties": {
        "waiting": _COUNT,
        "oldest_at": {"type": ["string", "null"], "format": "date-time"},
        "oldest_age_seconds": {"type": "number", "minimum": 0},
    },
}
_STATISTICS: Schema = {
    "type": "object",
    "required": ["scope", "requests", "backlog"],
    "properties": {
        "scope": {
            "type": "string",
            "const": "process",
            "description": "`requests` are those that this process has answered; others count their own.",
        },
        "requests": {
            "type": "object",
            "required": ["since", "until", "operations", "by_minute"],
            "properties": {
                "since": {**_TIME, "description": "Not before this process has started."},
                "until": _TIME,
                "operations": {"type": "array", "items": _OPERATION},
                "by_minute": {"type": "array", "items": _MINUTE, "description": "The oldest minute first."},
            },
        },
        "backlog": {
            "type": "object",
            "required": ["jobs", "events_to_index", "complete"],
            "description": "Of the whole service: read from the storage.",
            "properties": {
                "jobs": {
                    "type": "object",
                    "required": [kind.value for kind in JobKind],
                    "properties": {kind.value: _WAITING for kind in JobKind},
                },
                "events_to_index": {**_WAITING, "description": "Events that the index has not confirmed yet."},
                "complete": {"type": "boolean", "description": "False: there is more than was counted."},
            },
        },
    },
}
_DOCS = describe(
    "get_statistics",
    tag="operations",
    summary="Tell how this process has answered, and which work of the service waits",
    parameters=(
        parameter(
            "query",
            "minutes",
            {"type": "integer", "minimum": 1, "maximum": MINUTES, "default": MINUTES},
            "How far back, the current minute included.",
        ),
    ),
    answers={200: answer("Counts and times; no tenant is named.", _STATISTICS, examples.STATISTICS)},
    errors=ROLE_ERRORS | {E.MALFORMED_REQUEST},
)


@router.get("/statistics", **_DOCS)
async def get(request: Request) -> Response:
    """Tell what this process has measured at its edge, and how old the service's unfinished work is.

    A process forgets with its end; what is kept for longer belongs into the telemetry.
    """
    service = (await admit_anywhere(request, "get_statistics")).service
    minutes = query.whole_number(request, "minutes", least=1, most=MINUTES, default=MINUTES)
    measurements: Measurements = request.app.state.measurements
    backlog = await get_statistics(service)
    told = {"scope": "process", "requests": measurements.report(minutes), "backlog": backlog.members()}
    return json_answer.answer(json_answer.dump(told))
