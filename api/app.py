"""The HTTP application, from services that are already built."""

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig

from api import console_page, docs_page, openapi, problems
from api.edge import Edge
from api.identity import TokenValidator
from api.in_flight import InFlight
from api.measurements import Measurements
from api.routes import (
    audit,
    catalog,
    conflicts,
    context,
    conversations,
    documents,
    erasures,
    events,
    health,
    legal_holds,
    pending,
    reindexing,
    replays,
    retention,
    statistics,
    tenant_erasures,
)
from api.shared_look import SharedLook
from memnet.service import Service

DESCRIPTION = (
    "Governed memory documents for AI products: every change is validated, conditional, idempotent and audited. "
    "Writes take an ETag in If-Match and an Idempotency-Key; refusals have one shape and a stable code."
)

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI's own telemetry would record exception messages, and obey an environment that is not in the settings."""


def create_app(service: Service, identity: TokenValidator) -> FastAPI:
    """Build the application; it holds no resources of its own."""
    app = FastAPI(
        title="memnet",
        version="1.0",
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.state.service = service
    app.state.identity = identity
    app.state.measurements = Measurements(service.clock)
    app.state.in_flight = InFlight(service.settings.max_in_flight)
    app.state.readiness = SharedLook(lambda: health.look(app.state.service, app.state.identity), service.clock)
    # Not include_router: that puts a wrapper around every route, which costs 6 µs a request and hides the methods.
    for module in (
        *(documents, pending, context, conversations, replays, conflicts, events, audit),
        *(retention, legal_holds, erasures, tenant_erasures, reindexing, catalog, statistics, health),
    ):
        app.router.routes.extend(module.router.routes)
    docs_page.install(app)
    console_page.install(app)
    openapi.install(app)
    problems.install(app)
    app.add_middleware(
        Edge,
        ids=service.ids,
        measurements=app.state.measurements,
        in_flight=app.state.in_flight,
        telemetry=service.telemetry,
    )
    return app
