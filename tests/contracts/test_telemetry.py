"""The Telemetry port: what every adapter does, and what only OpenTelemetry's can get wrong."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from memnet import log_redaction
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.telemetry import MemoryTelemetry
from memnet.adapters.opentelemetry.open_telemetry import FRESH, open_telemetry
from memnet.adapters.opentelemetry.otlp import otlp_exports
from memnet.adapters.process.no_telemetry import NoTelemetry
from memnet.domain.core.metric import METRICS, REPLAY_OLDEST_AGE, REPLAYS, MetricKind
from memnet.ports import Telemetry
from tests.telemetry_receiver import TelemetryReceiver

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
"""Its caller did not choose it to be kept; we choose ourselves."""
TRACE, STEP = PARENT.split("-")[1:3]
UNREADABLE = ("", "x", "00-xyz-1-01", f"{PARENT}-more", "00-" + "0" * 32 + "-b7ad6b7169203331-01")
RESOURCE = {"service.name": "memnet-test"}


@pytest.fixture
def receiver() -> Iterator[TelemetryReceiver]:
    with TelemetryReceiver() as running:
        yield running


@asynccontextmanager
async def otlp(receiver: TelemetryReceiver, **options: Any) -> AsyncIterator[Telemetry]:
    exports = otlp_exports(receiver.url, trace_ratio=options.pop("trace_ratio", 1.0))
    given = {"resource": RESOURCE, "every_seconds": 60.0, "clock": FrozenClock(), **options}
    async with open_telemetry(exports, **given) as telemetry:
        yield telemetry


@pytest.fixture(params=["opentelemetry", "memory"])
async def telemetry(request: pytest.FixtureRequest, receiver: TelemetryReceiver) -> AsyncIterator[Telemetry]:
    if request.param == "memory":
        yield MemoryTelemetry()
    else:
        async with otlp(receiver) as opened:
            yield opened


async def test_a_span_continues_the_trace_of_its_message(telemetry: Telemetry) -> None:
    with telemetry.span("first", "consumer", PARENT):
        assert telemetry.trace_id() == TRACE
        sent = telemetry.traceparent()
        assert sent is not None
        assert sent.startswith(f"00-{TRACE}-")
        assert STEP not in sent
        with telemetry.span("second", "internal"):
            assert telemetry.trace_id() == TRACE
            assert telemetry.traceparent() != sent
        assert telemetry.traceparent() == sent


@pytest.mark.parametrize("parent", UNREADABLE)
async def test_a_step_of_a_caller_who_names_no_trace_begins_one(telemetry: Telemetry, parent: str) -> None:
    traces = []
    for given in (parent, None):
        with telemetry.span("step", "server", given):
            traces.append(telemetry.trace_id())
    assert None not in traces
    assert len({*traces, TRACE}) == 3


async def test_spans_of_concurrent_tasks_are_separate(telemetry: Telemetry) -> None:
    async def step() -> tuple[str | None, str | None]:
        with telemetry.span("step", "server"):
            before = telemetry.trace_id()
            await asyncio.sleep(0)
            return before, telemetry.trace_id()

    found = await asyncio.gather(step(), step(), step())
    assert all(before == after for before, after in found)
    assert len({before for before, _ in found}) == 3


@pytest.mark.parametrize("labels", [{}, {"outcome": "succeeded", "tenant": "t1"}, {"tenant": "t1"}])
async def test_a_value_has_exactly_the_labels_of_its_metric(telemetry: Telemetry, labels: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"memnet\.replays"):
        telemetry.record(REPLAYS, 1, **labels)


async def test_an_exception_goes_through_a_step(telemetry: Telemetry) -> None:
    with pytest.raises(KeyError, match="memory"), telemetry.span("step", "server"):
        raise KeyError("memory")
    assert telemetry.trace_id() is None


def test_without_an_exporter_nothing_is_kept() -> None:
    telemetry = NoTelemetry()
    telemetry.record(REPLAYS, 1, outcome="succeeded")
    with telemetry.span("step", "server", PARENT) as span:
        span.rename("other")
        span.set_attribute("status", 200)
        span.fail()
        assert (telemetry.enabled, telemetry.trace_id(), telemetry.traceparent()) == (False, None, None)


async def test_every_metric_arrives_with_its_labels(receiver: TelemetryReceiver) -> None:
    async with otlp(receiver) as telemetry:
        for metric in METRICS:
            telemetry.record(metric, 0.5, **dict.fromkeys(metric.labels, "x"))
            telemetry.record(metric, 0.25, **dict.fromkeys(metric.labels, "x"))
    points = {point.name: point for point in receiver.points()}
    values = {MetricKind.COUNTER: (0.75, 1), MetricKind.HISTOGRAM: (0.75, 2), MetricKind.GAUGE: (0.25, 1)}
    assert {name: (point.value, point.count) for name, point in points.items()} == {
        metric.name: values[metric.kind] for metric in METRICS
    }
    assert {name: tuple(point.labels) for name, point in points.items()} == {m.name: m.labels for m in METRICS}


async def test_a_span_has_its_attributes_and_nothing_of_an_exception(receiver: TelemetryReceiver) -> None:
    async with otlp(receiver) as telemetry:
        with suppress(ValueError), telemetry.span("x", "server", PARENT) as span:
            span.rename("patch_document")
            span.set_attribute("method", "PATCH")
            span.set_attribute("status", 412)
            span.set_attribute("error", "ETAG_MISMATCH")
            span.fail()
            raise ValueError("Jane prefers tea")
    [span_received] = receiver.spans()
    assert (span_received.name, span_received.trace_id, span_received.parent_id) == ("patch_document", TRACE, STEP)
    assert (span_received.failed, span_received.events) == (True, 0)
    assert span_received.attributes == {
        "http.request.method": "PATCH",
        "http.response.status_code": 412,
        "error.type": "ETAG_MISMATCH",
    }
    assert b"Jane" not in receiver.everything


async def test_which_traces_are_kept_follows_from_their_ids_alone(receiver: TelemetryReceiver) -> None:
    flags = {"00": [], "01": []}  # type: dict[str, list[str]]
    for flag, kept in flags.items():
        receiver.deliveries.clear()
        async with otlp(receiver, trace_ratio=0.5) as telemetry:
            for number in range(64):
                with telemetry.span("step", "server", f"00-{number + 1:016x}{number << 58:016x}-{STEP}-{flag}"):
                    pass
        kept += [span.trace_id for span in receiver.spans()]
    assert flags["00"] == flags["01"]
    assert 0 < len(flags["00"]) < 64


async def test_a_gauge_is_reported_while_it_is_fresh(receiver: TelemetryReceiver) -> None:
    for age, told in ((FRESH, [7.0]), (FRESH + timedelta(seconds=1), [])):
        receiver.deliveries.clear()
        clock = FrozenClock()
        async with otlp(receiver, clock=clock) as telemetry:
            telemetry.record(REPLAY_OLDEST_AGE, 7.0)
            clock.advance(age)
        assert [point.value for point in receiver.points(REPLAY_OLDEST_AGE.name)] == told


async def test_log_records_go_along_with_less_than_the_lines_say(
    receiver: TelemetryReceiver, restored_logging: None
) -> None:
    log_redaction.install("info")
    fields = {"operation": "get_document", "status": 200, "tenant": "t-secret", "principal": "p-secret", "error": None}
    async with otlp(receiver) as telemetry:
        with telemetry.span("step", "server", PARENT):
            logging.getLogger("memnet.requests").info("request", extra={"fields": fields})
        logging.getLogger("memnet.workers").error("buried queue=%s n=%d", "q-secret", 3)
        logging.getLogger("memnet.workers").error("%s: %s", log_redaction.LogSafe("sweep"), "r-secret")
        logging.getLogger("some.library").warning("sent %s", "l-secret")
        logging.getLogger("opentelemetry.sdk").warning("about a delivery")
        try:
            raise ValueError("e-secret")
        except ValueError:
            logging.getLogger("memnet.x").exception("failed", extra={"document": "d-secret"})
    request, buried, sweep, library, failed = receiver.logs()
    assert request.trace_id == TRACE
    assert request.attributes == {"operation": "get_document", "status": 200, "logger": "memnet.requests"}
    assert (buried.body, sweep.body) == ("buried queue=… n=3", "sweep: …")
    assert library.body.endswith("sent %s")
    assert (failed.attributes["exception"], failed.body) == ("ValueError", "failed")
    assert "test_telemetry.py" in failed.attributes["where"]
    assert b"secret" not in receiver.everything


async def test_after_the_end_records_go_nowhere(receiver: TelemetryReceiver) -> None:
    before = list(logging.getLogger().handlers)
    threads = set(threading.enumerate())
    async with otlp(receiver):
        assert logging.getLogger().handlers != before
    assert logging.getLogger().handlers == before
    assert {thread for thread in threading.enumerate() if thread.name.startswith("Otel")} <= threads


class Stuck(SpanExporter):
    """Delivers to somebody who does not answer, until that ends."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.over.wait()
        return SpanExportResult.SUCCESS


async def test_a_collector_that_does_not_answer_does_not_delay_the_end(receiver: TelemetryReceiver) -> None:
    stuck = Stuck()
    exports = replace(otlp_exports(receiver.url, trace_ratio=1.0), spans=stuck)
    async with open_telemetry(exports, resource=RESOURCE, every_seconds=60, clock=FrozenClock()) as telemetry:
        with telemetry.span("step", "server"):
            telemetry.record(REPLAYS, 1, outcome="succeeded")
    left = [thread for thread in threading.enumerate() if thread.name == "telemetry-end"]
    stuck.over.set()
    for thread in left:
        await asyncio.to_thread(thread.join)
    assert left, "the end has waited for the collector"


async def test_libraries_find_no_provider(receiver: TelemetryReceiver) -> None:
    """Providers are not registered for the process, so libraries record nothing: no URLs of storage, no texts."""
    async with otlp(receiver):
        with trace.get_tracer("azure-core").start_as_current_span("GET https://storage/users/jane") as span:
            assert not span.is_recording()
        metrics.get_meter("a-library").create_counter("calls").add(1, {"user": "jane"})
    assert b"jane" not in receiver.everything
