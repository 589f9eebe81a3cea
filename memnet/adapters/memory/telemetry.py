"""The Telemetry port in lists, for tests."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from memnet.domain.core.metric import Metric
from memnet.ports import Span, SpanAttribute, SpanKind

_READABLE = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass
class MemorySpan:
    """A span and its attributes."""

    name: str
    kind: SpanKind
    number: int
    trace: str
    parent: str | None
    facts: dict[SpanAttribute, str | int] = field(default_factory=dict)
    failed: bool = False

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace}-{self.number:016x}-01"

    def rename(self, name: str) -> None:
        self.name = name

    def set_attribute(self, fact: SpanAttribute, value: str | int) -> None:
        self.facts[fact] = value

    def fail(self) -> None:
        self.failed = True


class MemoryTelemetry:
    """Keeps everything: `values` by metric, and `spans`, each in order."""

    enabled = True

    def __init__(self) -> None:
        self.values: dict[str, list[tuple[float, Mapping[str, str]]]] = {}
        self.spans: list[MemorySpan] = []
        self._current: ContextVar[MemorySpan | None] = ContextVar("span", default=None)

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        if labels.keys() != set(metric.labels):
            raise ValueError(f"{metric.name} takes the labels {metric.labels}")
        self.values.setdefault(metric.name, []).append((value, labels))

    @contextmanager
    def span(self, name: str, kind: SpanKind, parent: str | None = None) -> Iterator[Span]:
        number = len(self.spans) + 1
        current = self._current.get()
        above = None if current is None else current.traceparent
        if parent is not None and _READABLE.fullmatch(parent):
            above = parent
        trace = above.split("-")[1] if above else f"{number:032x}"
        span = MemorySpan(name, kind, number, trace, above)
        self.spans.append(span)
        token = self._current.set(span)
        try:
            yield span
        finally:
            self._current.reset(token)

    def traceparent(self) -> str | None:
        current = self._current.get()
        return None if current is None else current.traceparent

    def trace_id(self) -> str | None:
        current = self._current.get()
        return None if current is None else current.trace
