"""Whether this process lives, and whether it can serve."""

import asyncio
import logging
from collections.abc import Awaitable

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api import json_answer
from api.direct_route import DirectRoute
from api.identity import TokenValidator
from api.openapi import Schema, answer, describe
from memnet.domain.errors import ErrorCode, Unavailable
from memnet.wiring import Services

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

    Without the search service, the key vault or the broker the documents are still read and written, so their failure
    is told and no more.
    """
    services: Services = request.app.state.services
    validator: TokenValidator = request.app.state.identity
    asked = {"storage": services.documents.ping(), "issuer": validator.keys.check()}
    if services.search is not None:
        asked["search"] = services.search.index.ping()
    if services.vault is not None:
        asked["vault"] = services.vault.keys.ping()
    if services.queue is not None:
        asked["queue"] = services.queue.ping()
    answers = await asyncio.gather(*(_check(name, question) for name, question in asked.items()))
    checks = dict(zip(asked, answers, strict=True))
    if (checks["storage"], checks["issuer"]) != ("ok", "ok"):
        raise Unavailable("A dependency does not answer.", checks=checks)
    return json_answer.answer(json_answer.dump({"status": "ok", "checks": checks}))


async def _check(name: str, question: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await question
    except Exception as error:
        _log.warning("not ready: %s (%s)", name, type(error).__name__)
        return "failed"
    return "ok"
