"""Telemetry of a request: its span, its duration, and the outcome of a write."""

from contextlib import AbstractContextManager, nullcontext
from typing import Final

from starlette.types import Scope

from api.latency_stats import ABANDONED, OTHER, WRITES
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.access import ROLES
from memnet.domain.core.metric import REQUEST_DURATION, UNKNOWN
from memnet.domain.core.metric import WRITES as WRITES_METRIC
from memnet.domain.documents.commands import WriteResult
from memnet.ports import Span, Telemetry

NONE: Final = "none"
"""The profile and binding of a write that names none, or that failed before its body was read."""
APPLIED, REPLAYED, DRY_RUN = "applied", "replayed", "dry_run"
"""Outcomes of successful writes; the outcome of a failed write is its error code."""
UNTRACED: Final = "/health/"
"""Paths of health probes."""
HEALTH: Final = "health"
"""The operation of health probes, counted separately from OTHER, which counts requests that were not routed."""

_BINDING, _OUTCOME = "memnet.binding", "memnet.outcome"
_NO_SPAN: Final[AbstractContextManager[Span | None]] = nullcontext()
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def note_binding(scope: Scope, catalog: Catalog, profile_id: str, binding_id: str) -> None:
    """Store the binding of a write for its metric; ids that are not in the catalog are replaced."""
    profile = catalog.profiles.get(profile_id)
    if profile is None:
        scope[_BINDING] = (UNKNOWN, UNKNOWN)
    else:
        scope[_BINDING] = (profile_id, UNKNOWN if profile.binding(binding_id) is None else binding_id)


def note_result(scope: Scope, result: WriteResult) -> None:
    """Store the outcome of a write for its metric."""
    scope[_OUTCOME] = REPLAYED if result.replayed else DRY_RUN if result.dry_run else APPLIED


def begin(telemetry: Telemetry, scope: Scope) -> AbstractContextManager[Span | None]:
    """Start the request's span, in the caller's trace if there is one; None if it is not traced."""
    if not telemetry.enabled or scope["path"].startswith(UNTRACED):
        return _NO_SPAN
    given = next((value for name, value in scope["headers"] if name == b"traceparent"), None)
    return telemetry.span(OTHER, "server", None if given is None else given.decode("latin-1"))


def end(telemetry: Telemetry, span: Span | None, scope: Scope, method: str, status: int | None, seconds: float) -> None:
    """Record a finished request; `status` is None if the client left before the response."""
    if not telemetry.enabled:
        return
    operation = _operation(scope)
    outcome = ABANDONED if status is None else str(status)
    telemetry.record(REQUEST_DURATION, seconds, operation=operation, status=outcome)
    if operation in WRITES:
        _record_write(telemetry, scope, operation)
    if span is not None:
        span.rename(operation)
        _describe_span(span, scope, method, status)


def _operation(scope: Scope) -> str:
    if scope["path"].startswith(UNTRACED):
        return HEALTH
    found: str | None = getattr(scope.get("route"), "operation_id", None)
    return found if found is not None and found in ROLES else OTHER


def _record_write(telemetry: Telemetry, scope: Scope, operation: str) -> None:
    error = scope.get("memnet.error")
    outcome = scope.get(_OUTCOME) if error is None else error.value
    if outcome is not None:
        profile_id, binding_id = scope.get(_BINDING, (NONE, NONE))
        telemetry.record(
            WRITES_METRIC, 1, operation=operation, outcome=outcome, profile_id=profile_id, binding_id=binding_id
        )


def _describe_span(span: Span, scope: Scope, method: str, status: int | None) -> None:
    span.set_attribute("method", method if method in _METHODS else "_OTHER")
    span.set_attribute("request_id", scope["memnet.request_id"])
    if (error := scope.get("memnet.error")) is not None:
        span.set_attribute("error", error.value)
    if (place := scope.get("memnet.place")) is not None:
        span.set_attribute("place", place)
    if status is not None:
        span.set_attribute("status", status)
        if status >= 500:
            span.fail()
