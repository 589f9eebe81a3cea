"""Telemetry to Application Insights, by Microsoft's exporter alone.

Not by its distribution, which would instrument every library it finds, URLs and all. What the exporter tells Microsoft
about itself is turned off by the environment that `memnet.settings.silence_libraries` leaves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from azure.core.pipeline.transport import RequestsTransport
from azure.identity import DefaultAzureCredential
from azure.monitor.opentelemetry.exporter import (
    ApplicationInsightsSampler,
    AzureMonitorLogExporter,
    AzureMonitorMetricExporter,
    AzureMonitorTraceExporter,
)

from memnet.adapters.opentelemetry.exports import TIMEOUT_SECONDS, Exports


@contextmanager
def azure_monitor_exports(connection_string: str, *, trace_ratio: float) -> Iterator[Exports]:
    """Send to the resource of the connection string, as this process's Entra identity.

    It needs the role Monitoring Metrics Publisher. Over http, so to a stand-in, goes no token. Nothing is kept on
    disk: what cannot be delivered is lost. Raises ValueError for what is no connection string.
    """
    endpoint = _endpoint(connection_string)
    credential = DefaultAzureCredential() if endpoint.startswith("https://") else None
    try:
        options: dict[str, Any] = {
            "connection_string": connection_string,
            "credential": credential,
            "disable_offline_storage": True,
            "timeout": TIMEOUT_SECONDS,
            "retry_total": 2,
            "retry_backoff_max": 2,
        }
        yield Exports(
            spans=AzureMonitorTraceExporter(**options, transport=_transport()),
            metrics=AzureMonitorMetricExporter(**options, transport=_transport()),
            logs=AzureMonitorLogExporter(**options, transport=_transport()),
            sampler=ApplicationInsightsSampler(trace_ratio),
        )
    finally:
        if credential is not None:
            credential.close()


def _endpoint(connection_string: str) -> str:
    """Raise ValueError unless key and address are told: the exporter would look for them in the environment."""
    parts = dict(part.split("=", 1) for part in connection_string.rstrip(";").split(";") if "=" in part)
    told = {name.lower(): value for name, value in parts.items()}
    endpoint = told.get("ingestionendpoint", "")
    if "instrumentationkey" not in told or not endpoint.startswith(("https://", "http://")):
        raise ValueError("must be a connection string with InstrumentationKey and IngestionEndpoint")
    return endpoint


def _transport() -> RequestsTransport:
    """Proxies and passwords of the environment are not ours."""
    return RequestsTransport(use_env_settings=False, connection_timeout=TIMEOUT_SECONDS, read_timeout=TIMEOUT_SECONDS)
