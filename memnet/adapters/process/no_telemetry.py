"""The Telemetry port without an exporter: nothing is recorded, sent or loaded."""

from contextlib import AbstractContextManager, nullcontext

from memnet.domain.core.metric import Metric
from memnet.ports import Span, SpanAttribute, SpanKind


class NoSpan:
    """A span that is not recorded."""

    def rename(self, name: str) -> None:
        """Do nothing."""

    def set_attribute(self, fact: SpanAttribute, value: str | int) -> None:
        """Do nothing."""

    def fail(self) -> None:
        """Do nothing."""


_NOTHING: AbstractContextManager[Span] = nullcontext(NoSpan())


class NoTelemetry:
    """Records nothing."""

    enabled = False

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """Do nothing."""

    def span(self, name: str, kind: SpanKind, parent: str | None = None) -> AbstractContextManager[Span]:
        return _NOTHING

    def traceparent(self) -> str | None:
        return None

    def trace_id(self) -> str | None:
        return None
