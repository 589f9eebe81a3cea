"""Telemetry to Application Insights, by Microsoft's exporter alone.

Its distribution is not used: it would instrument every library, and record URLs. `memnet.settings.silence_libraries`
turns off the exporter's own telemetry to Microsoft.
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

    It needs the role Monitoring Metrics Publisher. Over http, which only an emulator uses, no token is sent. Nothing is
    stored on disk: undeliverable telemetry is lost. Raises ValueError for an invalid connection string.
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
    """Return the endpoint. Raises ValueError without key or endpoint: the exporter would read the environment."""
    parts = dict(part.split("=", 1) for part in connection_string.rstrip(";").split(";") if "=" in part)
    given = {name.lower(): value for name, value in parts.items()}
    endpoint = given.get("ingestionendpoint", "")
    if "instrumentationkey" not in given or not endpoint.startswith(("https://", "http://")):
        raise ValueError("must be a connection string with InstrumentationKey and IngestionEndpoint")
    return endpoint


def _transport() -> RequestsTransport:
    """Return a transport that ignores proxies and passwords in the environment."""
    return RequestsTransport(use_env_settings=False, connection_timeout=TIMEOUT_SECONDS, read_timeout=TIMEOUT_SECONDS)
