"""What operators are told: metrics, traces, and the logs that go with them."""

from contextlib import AbstractContextManager
from typing import Literal, Protocol

from memnet.domain.core.metric import Metric

SpanKind = Literal["server", "consumer", "internal"]
"""A request that is answered, a message that is worked off, or work that nobody sent."""
SpanAttribute = Literal["method", "status", "outcome", "error", "place", "request_id", "attempt"]
"""What may be told of a step: never whose memory it is about, nor what is in it, nor an exception's text."""


class Span(Protocol):
    """A step of a trace, under way."""

    def rename(self, name: str) -> None:
        """Give it the name of its operation, where that is known only now."""
        ...

    def tell(self, fact: SpanAttribute, value: str | int) -> None:
        """Say something about it."""
        ...

    def fail(self) -> None:
        """Mark it as a failure of the service."""
        ...


class Telemetry(Protocol):
    """Where measurements go. Nothing here waits, and nothing raises because telemetry cannot be delivered."""

    @property
    def enabled(self) -> bool:
        """Whether anybody listens; if not, what costs something to find out need not be."""
        ...

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """Record one value. Raises ValueError for other labels than the metric's."""
        ...

    def span(self, name: str, kind: SpanKind, parent: str | None = None) -> AbstractContextManager[Span]:
        """Begin a step, which ends with the context; `parent` is a W3C traceparent that came from elsewhere.

        A parent that cannot be read is none. What the context raises goes through, and leaves no trace here.
        """
        ...

    def traceparent(self) -> str | None:
        """The step under way, as W3C Trace Context writes it, for whoever goes on with it; None: there is none."""
        ...

    def trace_id(self) -> str | None:
        """The trace that is under way, for log lines; None: there is none."""
        ...
