"""The receiver of telemetry in tests: an OTLP collector and the ingestion of Application Insights in one server.

It keeps the deliveries as bytes and parses them.
"""

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Delivery:
    """One request."""

    path: str
    headers: dict[str, str]
    data: bytes


@dataclass(frozen=True)
class ReceivedSpan:
    """A span of whichever process."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    failed: bool
    events: int


@dataclass(frozen=True)
class ReceivedLog:
    """A log record of whichever process."""

    body: str
    trace_id: str
    attributes: dict[str, Any]


@dataclass(frozen=True)
class ReceivedPoint:
    """A value of a metric; `value` is a histogram's sum, `count` how many values it is made of."""

    service: str
    name: str
    value: float
    count: int
    labels: dict[str, Any]


@dataclass
class TelemetryReceiver:
    """Serves while the context is open."""

    deliveries: list[Delivery] = field(default_factory=list)

    def __enter__(self) -> "TelemetryReceiver":
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                receiver.deliveries.append(Delivery(self.path, dict(self.headers), data))
                self._answer(receiver.answer(self.path, data))

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="telemetry-receiver")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base address of the collector."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def connection_string(self) -> str:
        """The connection string of a resource that ingests here."""
        return f"InstrumentationKey=00000000-0000-0000-0000-000000000001;IngestionEndpoint={self.url}/"

    @staticmethod
    def answer(path: str, data: bytes) -> bytes:
        """Return the response of Application Insights; OTLP clients ignore it."""
        if not path.endswith("/track"):
            return b""
        count = len(json.loads(data))
        return json.dumps({"itemsReceived": count, "itemsAccepted": count, "errors": []}).encode()

    @property
    def everything(self) -> bytes:
        """Everything that was received, with headers."""
        return b"\n".join(repr(each.headers).encode() + each.data for each in self.deliveries)

    def spans(self) -> list[ReceivedSpan]:
        """The spans of all OTLP deliveries."""
        return [span for data in self._of("/v1/traces") for span in _spans(data)]

    def logs(self) -> list[ReceivedLog]:
        """The log records of all OTLP deliveries."""
        return [log for data in self._of("/v1/logs") for log in _logs(data)]

    def points(self, name: str | None = None) -> list[ReceivedPoint]:
        """The points of all OTLP deliveries, of one metric or of all."""
        found = [point for data in self._of("/v1/metrics") for point in _points(data)]
        return [point for point in found if name in (None, point.name)]

    def envelopes(self) -> list[dict[str, Any]]:
        """The records that Application Insights received."""
        return [each for data in self._of("/v2.1/track") for each in json.loads(data)]

    def _of(self, path: str) -> Iterator[bytes]:
        return (each.data for each in list(self.deliveries) if each.path == path)


def _spans(data: bytes) -> Iterator[ReceivedSpan]:
    for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
        service = _members(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    service=service,
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    attributes=_members(span.attributes),
                    failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    events=len(span.events),
                )


def _logs(data: bytes) -> Iterator[ReceivedLog]:
    for resource in ExportLogsServiceRequest.FromString(data).resource_logs:
        for scope in resource.scope_logs:
            for log in scope.log_records:
                yield ReceivedLog(log.body.string_value, log.trace_id.hex(), _members(log.attributes))


def _points(data: bytes) -> Iterator[ReceivedPoint]:
    for resource in ExportMetricsServiceRequest.FromString(data).resource_metrics:
        service = _members(resource.resource.attributes)["service.name"]
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.histogram.data_points:
                    yield ReceivedPoint(service, metric.name, point.sum, point.count, _members(point.attributes))
                for number in (*metric.sum.data_points, *metric.gauge.data_points):
                    value = number.as_double or number.as_int
                    yield ReceivedPoint(service, metric.name, value, 1, _members(number.attributes))


def _members(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
