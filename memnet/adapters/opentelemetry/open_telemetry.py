"""The Telemetry port on OpenTelemetry's SDK.

Its providers are not registered for the process: libraries find none, so what they would record (URLs with user ids,
texts of exceptions) is dropped.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from opentelemetry import trace
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind as Kind
from opentelemetry.trace import StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memnet.adapters.opentelemetry.exports import Exports
from memnet.adapters.opentelemetry.log_export import LogExport
from memnet.domain.core.metric import METRICS, Metric, MetricKind
from memnet.ports import Clock, Span, SpanAttribute, SpanKind, Telemetry

SCOPE = "memnet"
"""The instrumentation scope."""
FRESH = timedelta(minutes=5)
"""How long the value of a gauge is reported. A process that no longer measures must not report old values."""
SECONDS_TO_END = 5.0
"""How long the last delivery may take; the rest is lost."""
QUEUE, BATCH, DELAY_SECONDS = 8192, 512, 5.0
"""The largest queue and batch of spans and log records, and the delay of a batch. More than fits is dropped."""

_TRACEPARENT = "traceparent"
_KINDS: Mapping[SpanKind, Kind] = {"server": Kind.SERVER, "consumer": Kind.CONSUMER, "internal": Kind.INTERNAL}
_ATTRIBUTES: Mapping[SpanAttribute, str] = {
    "method": "http.request.method",
    "status": "http.response.status_code",
    "error": "error.type",
    "outcome": "memnet.outcome",
    "place": "memnet.place",
    "request_id": "memnet.request_id",
    "attempt": "memnet.attempt",
}
"""By the semantic conventions, where these have a name for it."""
_PROPAGATOR = TraceContextTextMapPropagator()


class OpenTelemetrySpan:
    """The Span port."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def set_attribute(self, fact: SpanAttribute, value: str | int) -> None:
        self._span.set_attribute(_ATTRIBUTES[fact], value)

    def fail(self) -> None:
        """Set the status without a description, which could quote an exception."""
        self._span.set_status(StatusCode.ERROR)


class OpenTelemetry:
    """The Telemetry port; use `open_telemetry`."""

    enabled = True

    def __init__(self, tracer: trace.Tracer, meter: Meter, clock: Clock) -> None:
        self._tracer = tracer
        self._clock = clock
        self._gauges: dict[str, tuple[float, datetime]] = {}
        self._write = {metric.name: self._instrument(meter, metric) for metric in METRICS}

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        if len(labels) != len(metric.labels) or not all(name in labels for name in metric.labels):
            raise ValueError(f"{metric.name} takes the labels {metric.labels}")
        self._write[metric.name](value, labels)

    @contextmanager
    def span(self, name: str, kind: SpanKind, parent: str | None = None) -> Iterator[Span]:
        context = None if parent is None else _PROPAGATOR.extract({_TRACEPARENT: parent})
        with self._tracer.start_as_current_span(
            name, context, _KINDS[kind], record_exception=False, set_status_on_exception=False
        ) as span:
            yield OpenTelemetrySpan(span)

    def traceparent(self) -> str | None:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier.get(_TRACEPARENT)

    def trace_id(self) -> str | None:
        found = trace.get_current_span().get_span_context()
        return trace.format_trace_id(found.trace_id) if found.is_valid else None

    def _instrument(self, meter: Meter, metric: Metric) -> Callable[[float, Mapping[str, str]], None]:
        options: dict[str, Any] = {"name": metric.name, "unit": metric.unit, "description": metric.meaning}
        match metric.kind:
            case MetricKind.COUNTER:
                return meter.create_counter(**options).add
            case MetricKind.HISTOGRAM:
                return meter.create_histogram(**options, explicit_bucket_boundaries_advisory=metric.bounds).record
            case MetricKind.GAUGE:
                meter.create_observable_gauge(**options, callbacks=[partial(self._observe, metric.name)])
                return partial(self._keep, metric.name)

    def _keep(self, name: str, value: float, _labels: Mapping[str, str]) -> None:
        self._gauges[name] = (value, self._clock.now())

    def _observe(self, name: str, _options: CallbackOptions) -> Iterable[Observation]:
        value, at = self._gauges.get(name, (0.0, None))
        return [Observation(value)] if at is not None and self._clock.now() - at <= FRESH else []


@asynccontextmanager
async def open_telemetry(
    exports: Exports | None,
    *,
    readers: Sequence[MetricReader] = (),
    resource: Mapping[str, str],
    every_seconds: float,
    clock: Clock,
) -> AsyncIterator[Telemetry]:
    """Export everything to `exports`, if given, and metrics to `readers`, every `every_seconds`.

    `resource` identifies the process. Its log records are exported too while the context is open. Leaving the context
    delivers what is pending, within SECONDS_TO_END.
    """
    described = Resource(resource)
    delay = min(DELAY_SECONDS, every_seconds) * 1000
    periodic = [] if exports is None else [PeriodicExportingMetricReader(exports.metrics, every_seconds * 1000, 30_000)]
    meters = MeterProvider([*periodic, *readers], described, AlwaysOffExemplarFilter(), shutdown_on_exit=False)
    tracers = TracerProvider(exports.sampler if exports else ALWAYS_OFF, described, shutdown_on_exit=False)
    ends = [meters.shutdown, tracers.shutdown]
    handler: LogExport | None = None
    if exports is not None:
        tracers.add_span_processor(BatchSpanProcessor(exports.spans, QUEUE, delay, BATCH, 30_000))
        logs = LoggerProvider(described, shutdown_on_exit=False)
        logs.add_log_record_processor(BatchLogRecordProcessor(exports.logs, delay, BATCH, 30_000, QUEUE))
        ends.append(logs.shutdown)
        handler = LogExport(logs.get_logger(SCOPE))
        logging.getLogger().addHandler(handler)
    try:
        yield OpenTelemetry(tracers.get_tracer(SCOPE), meters.get_meter(SCOPE), clock)
    finally:
        if handler is not None:
            logging.getLogger().removeHandler(handler)
        await _end(ends)


async def _end(ends: Sequence[Callable[[], object]]) -> None:
    """Call all of them in parallel threads: a destination that hangs must not keep the process from ending."""
    threads = [threading.Thread(target=end, daemon=True, name="telemetry-end") for end in ends]
    for thread in threads:
        thread.start()
    async with asyncio.TaskGroup() as group:
        for thread in threads:
            group.create_task(asyncio.to_thread(thread.join, SECONDS_TO_END))
