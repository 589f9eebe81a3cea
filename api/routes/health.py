"""Whether this process lives, and whether it can serve."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import json_answer
from api.direct_route import DirectRoute
from api.identity import TokenValidator
from api.openapi import Schema, answer, describe
from api.shared_look import SharedLook
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import Unavailable
from memnet.service import Service

router = APIRouter(prefix="/health", route_class=DirectRoute)

CHECK_SECONDS = 3.0
"""Less than what asks here is likely to wait."""
_STATUS: Schema = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}
_log = logging.getLogger("memnet.health")


@router.get(
    "/live",
    **describe(
        "health_live",
        tag="health",
        summary="Whether the process serves requests at all",
        answers={200: answer("It does.", _STATUS, {"status": "ok"})},
        errors={ErrorCode.INTERNAL},
    ),
)
async def live(request: Request) -> Response:
    """Answer: restart the process if it does not."""
    return json_answer.answer(b'{"status":"ok"}')


@router.get(
    "/ready",
    **describe(
        "health_ready",
        tag="health",
        summary="Whether everything this service depends on answers",
        answers={200: answer("It does.", _STATUS, {"status": "ok", "checks": {"storage": "ok", "issuer": "ok"}})},
        errors={ErrorCode.INTERNAL, ErrorCode.UNAVAILABLE},
    ),
)
async def ready(request: Request) -> Response:
    """Ask what this service depends on; 503 names what failed. Send no traffic here until it answers 200.

    Anybody may ask, at any rate: all share one look, whose answer is given for a moment.

    Without the search service and the broker the documents are still read and written, and without the key vault by
    the keys that are known; no other process could do better, so their failure is told and no more. A process that was
    told to stop still serves, but wants no new traffic.
    """
    if request.app.state.in_flight.draining:
        raise Unavailable("The process is stopping.")
    looked: SharedLook[Mapping[str, str]] = request.app.state.readiness
    checks = await looked.ask()
    if (checks["storage"], checks["issuer"]) != ("ok", "ok"):
        raise Unavailable("A dependency does not answer.", checks=checks)
    return json_answer.answer(json_answer.dump({"status": "ok", "checks": checks}))


async def look(service: Service, validator: TokenValidator) -> Mapping[str, str]:
    """Ask each dependency; return by its name whether it answered."""
    asked = {
        "storage": service.documents.ping(),
        "issuer": validator.keys.check(),
        "search": service.search.index.ping(),
        "vault": service.vault.keys.ping(),
        "queue": service.queue.ping(),
    }
    answers = await asyncio.gather(*(_check(name, question) for name, question in asked.items()))
    return dict(zip(asked, answers, strict=True))


async def _check(name: str, question: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await question
    except Exception as error:
        _log.warning("not ready: %s (%s)", name, type(error).__name__)
        return "failed"
    return "ok"
