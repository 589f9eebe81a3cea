"""Telemetry for operators: metrics, traces, and their logs."""

from contextlib import AbstractContextManager
from typing import Literal, Protocol

from memnet.domain.core.metric import Metric

SpanKind = Literal["server", "consumer", "internal"]
"""A request, a message, or internal work."""
SpanAttribute = Literal["method", "status", "outcome", "error", "place", "request_id", "attempt"]
"""The attributes of a span: never a tenant, a user, content, or the text of an exception."""


class Span(Protocol):
    """A span of a trace that has not ended."""

    def rename(self, name: str) -> None:
        """Set the name, when the operation becomes known."""

    def set_attribute(self, fact: SpanAttribute, value: str | int) -> None:
        """Set an attribute."""

    def fail(self) -> None:
        """Mark it as a failure of the service."""


class Telemetry(Protocol):
    """Metrics and traces. No call waits, and none raises because telemetry cannot be delivered."""

    @property
    def enabled(self) -> bool:
        """Whether telemetry is exported; if not, callers can skip expensive measurements."""

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """Record one value. Raises ValueError for other labels than the metric's."""

    def span(self, name: str, kind: SpanKind, parent: str | None = None) -> AbstractContextManager[Span]:
        """Begin a span that ends with the context; `parent` is a W3C traceparent from another process.

        An unreadable parent is ignored. Exceptions pass through and are not recorded.
        """

    def traceparent(self) -> str | None:
        """Return the current span as a W3C traceparent, to continue the trace elsewhere; None without one."""

    def trace_id(self) -> str | None:
        """Return the current trace id for log lines, or None."""
