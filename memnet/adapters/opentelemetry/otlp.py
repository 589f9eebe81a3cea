"""Telemetry to a collector: OTLP over HTTP, with protocol buffers."""

from typing import Any
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from memnet.adapters.opentelemetry.exports import TIMEOUT_SECONDS, Exports


def otlp_exports(url: str, *, trace_ratio: float) -> Exports:
    """Send to the collector at the base address `url`, with the paths v1/traces, v1/metrics and v1/logs.

    Nothing is sent yet. Raises ValueError for an invalid URL.
    """
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname or address.query or address.fragment:
        raise ValueError("must be an http(s) URL without a query")
    base = url.rstrip("/")
    options: dict[str, Any] = {"timeout": TIMEOUT_SECONDS, "compression": Compression.Gzip}
    return Exports(
        spans=OTLPSpanExporter(f"{base}/v1/traces", **options, session=_session()),
        metrics=OTLPMetricExporter(f"{base}/v1/metrics", **options, session=_session()),
        logs=OTLPLogExporter(f"{base}/v1/logs", **options, session=_session()),
        # By the trace id alone, whatever the caller sampled: so the API and the workers sample the same traces.
        sampler=TraceIdRatioBased(trace_ratio),
    )


def _session() -> requests.Session:
    """Return a session for one exporter, which has its own thread. The environment's proxies are ignored."""
    session = requests.Session()
    session.trust_env = False
    return session
