"""Routes of the liveness and readiness checks."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from api.identity import TokenValidator
from api.json_response import json_response
from api.openapi import Returned, describe
from api.responses.service import HealthStatus
from api.routing import DirectRoute
from api.single_flight import SingleFlight
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import Unavailable
from memnet.service import Service

router = APIRouter(prefix="/health", route_class=DirectRoute)

CHECK_SECONDS = 3.0
"""Less than the usual timeout of a readiness probe."""
_OK = {200: Returned("It does.", HealthStatus)}
_LIVE = describe("health_live", tag="health", summary="Check liveness", returns=_OK, errors={ErrorCode.INTERNAL})
_READY = describe(
    "health_ready",
    tag="health",
    summary="Check readiness",
    returns=_OK,
    errors={ErrorCode.INTERNAL, ErrorCode.UNAVAILABLE},
)
_log = logging.getLogger("memnet.health")


@router.get("/live", **_LIVE)
async def live(request: Request) -> Response:
    """Check whether the process serves requests. Restart it if there is no answer."""
    return json_response({"status": "ok"})


@router.get("/ready", **_READY)
async def ready(request: Request) -> Response:
    """Check the dependencies; 503 names those that failed. Send no traffic until this answers 200.

    No token is needed, and concurrent requests share one check. A failure of the search service, the queue or the key
    vault is reported but does not make the process unready: documents remain readable and writable with cached keys,
    and no other process could serve better. A process that is stopping answers 503.
    """
    if request.app.state.concurrency_limit.draining:
        raise Unavailable("The process is stopping.")
    readiness: SingleFlight[Mapping[str, str]] = request.app.state.readiness
    checks = await readiness.get()
    if (checks["storage"], checks["issuer"]) != ("ok", "ok"):
        raise Unavailable("A dependency does not answer.", checks=checks)
    return json_response({"status": "ok", "checks": checks})


async def probe(service: Service, validator: TokenValidator) -> Mapping[str, str]:
    """Ping each dependency; return `ok` or `failed` by its name."""
    pings = {
        "storage": service.documents.ping(),
        "issuer": validator.keys.check(),
        "search": service.search.index.ping(),
        "vault": service.vault.keys.ping(),
        "queue": service.queue.ping(),
    }
    results = await asyncio.gather(*(_check(name, ping) for name, ping in pings.items()))
    return dict(zip(pings, results, strict=True))


async def _check(name: str, ping: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await ping
    except Exception as error:
        _log.warning("not ready: %s (%s)", name, type(error).__name__)
        return "failed"
    return "ok"
