"""Metrics for Prometheus to fetch, on a separate address that needs no token: restrict access to it."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics.export import MetricReader
from prometheus_client import CollectorRegistry, start_http_server


@contextmanager
def prometheus_reader(address: str) -> Iterator[MetricReader]:
    """Serve /metrics at `address`, <host>:<port>, while the context is open, in a separate thread.

    Raises ValueError for an invalid address, OSError for one that cannot be bound.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= 65535:
        raise ValueError("must be <host>:<port>")
    registry = CollectorRegistry()
    reader = PrometheusMetricReader(scope_info_enabled=False, registry=registry)
    server, thread = start_http_server(int(port), host.strip("[]"), registry)
    try:
        yield reader
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
