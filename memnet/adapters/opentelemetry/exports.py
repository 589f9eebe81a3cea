"""Where traces, metrics and logs go: what the open_… functions of this package make, and OpenTelemetry is made from."""

from dataclasses import dataclass

from opentelemetry.sdk._logs.export import LogRecordExporter
from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

TIMEOUT_SECONDS = 5.0
"""How long one try of one delivery may take."""


@dataclass(frozen=True, slots=True)
class Exports:
    """The exporters of one place, and who chooses the traces that go there."""

    spans: SpanExporter
    metrics: MetricExporter
    logs: LogRecordExporter
    sampler: Sampler
