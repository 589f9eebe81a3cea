"""The HTTP application, from services that are already built."""

from importlib.metadata import version

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from api import docs_page, front_page, mcp_endpoint, openapi, resource_metadata, static_page
from api.compat import services as compat
from api.concurrency_limit import ConcurrencyLimit, Slots
from api.dispatch import Dispatcher
from api.identity import TokenValidator
from api.latency_stats import LatencyStats
from api.middleware import RequestMiddleware
from api.routes import (
    audit,
    blame,
    catalog,
    conflicts,
    context,
    conversations,
    documents,
    entries,
    erasures,
    events,
    export,
    health,
    legal_holds,
    me,
    pending,
    recall,
    reindexing,
    replays,
    retention,
    retractions,
    statistics,
    turn_search,
    turns,
    users,
)
from api.single_flight import SingleFlight
from memnet.operations.history.verify_audit import list_keys
from memnet.service import Service

DESCRIPTION = (
    "Governed memory documents for AI products: every change is validated, conditional, idempotent and audited. "
    "Writes require an ETag in If-Match and an Idempotency-Key; errors have one shape and a stable code."
)

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI's own telemetry would record exception messages, and read environment variables that are not settings."""


def create_app(service: Service, identity: TokenValidator) -> FastAPI:
    """Build the application; it owns no resources."""
    app = FastAPI(
        title="memnet",
        version=version("memnet"),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.state.service = service
    app.state.identity = identity
    app.state.latency_stats = LatencyStats(service.clock)
    app.state.concurrency_limit = ConcurrencyLimit(service.settings.max_in_flight)
    app.state.readiness = SingleFlight(lambda: health.probe(app.state.service, app.state.identity), service.clock)
    app.state.public_keys = SingleFlight(lambda: list_keys(app.state.service), service.clock)
    app.state.exports = Slots(export.MAX_EXPORTS)
    # Not include_router: that puts a wrapper around every route, which costs 6 µs a request and hides the methods.
    for module in (
        *(
            documents,
            entries,
            pending,
            context,
            recall,
            conversations,
            turns,
            replays,
            conflicts,
            turn_search,
            events,
            audit,
            blame,
        ),
        *(retention, retractions, legal_holds, export, erasures, reindexing, users, catalog, me, statistics, health),
    ):
        app.router.routes.extend(module.router.routes)
    front_page.install(app)
    docs_page.install(app)
    static_page.install(app, "console")
    static_page.install(app, "me")
    resource_metadata.install(app)
    mcp_endpoint.install(app)
    compat.install(app)
    openapi.install(app)
    # Not add_middleware: FastAPI would put six layers of its own around every request.
    app.middleware_stack = RequestMiddleware(
        Dispatcher(app.router),
        ids=service.ids,
        latency_stats=app.state.latency_stats,
        concurrency_limit=app.state.concurrency_limit,
        telemetry=service.telemetry,
        request_seconds=service.settings.request_seconds,
    )
    return app
