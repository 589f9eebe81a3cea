"""The exporters of traces, metrics and logs."""

from dataclasses import dataclass

from opentelemetry.sdk._logs.export import LogRecordExporter
from opentelemetry.sdk.metrics.export import MetricExporter
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

TIMEOUT_SECONDS = 5.0
"""How long one try of one delivery may take."""


@dataclass(frozen=True, slots=True)
class Exports:
    """The exporters of one destination, and the sampler of its traces."""

    spans: SpanExporter
    metrics: MetricExporter
    logs: LogRecordExporter
    sampler: Sampler
