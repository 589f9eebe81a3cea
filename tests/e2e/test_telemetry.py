"""One trace from a request through the queue to the worker, and all else that a running stack sends to a collector."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from local.stack.stack import running_stack
from memnet.domain.core.access import ROLES as OPERATIONS
from memnet.domain.core.metric import LABELS, METRICS
from tests.e2e.client import DYNAMIC, User, prefer
from tests.e2e.replays import PROFILE, ROLES, ended
from tests.telemetry_receiver import ReceivedSpan, TelemetryReceiver

pytestmark = pytest.mark.asyncio(loop_scope="module")

TENANT, USER, PRINCIPAL, WORD = (f"{what}{uuid4().hex}" for what in ("tenant", "user", "principal", "word"))
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, STEP = CALLER.split("-")[1:3]


@dataclass(frozen=True)
class Told:
    """What arrived until everything had ended, and the lines of the API's own log."""

    receiver: TelemetryReceiver
    lines: list[dict[str, Any]]

    def span(self, name: str) -> ReceivedSpan:
        """The one of this name in the caller's trace."""
        [found] = [span for span in self.receiver.spans() if span.name == name and span.trace_id == TRACE]
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def told(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Told]:
    directory = tmp_path_factory.mktemp("stack")
    receiver = TelemetryReceiver()
    async with AsyncExitStack() as outer:
        outer.enter_context(receiver)
        environment = {"MEMNET_TELEMETRY": "otlp", "MEMNET_TELEMETRY_URL": receiver.url}
        async with (
            running_stack(directory=directory, environment=environment) as stack,
            ClientSession() as session,
        ):
            token = await asyncio.to_thread(stack.token, tenants=TENANT, principal=PRINCIPAL, roles=ROLES)
            await use(User(session, stack.url, token, USER, TENANT))
        log = (directory / "log" / "api.log").read_text("utf-8")
        yield Told(receiver, [json.loads(line) for line in log.splitlines()])


async def use(user: User) -> None:
    """Write, search and have a conversation replayed, within the trace of a caller."""
    assert (await user.patch(DYNAMIC, prefer(WORD), etag=None, key="create")).status == 201
    assert (await user.patch(DYNAMIC, prefer(WORD), etag='"stale"', key="stale")).status == 412
    event = {"event_id": WORD, "service_id": "s", "timestamp": "2026-02-14T20:00:00Z", "source_type": "chat"}
    assert (await user.send("POST", "/events", json={**event, "digest": WORD})).status == 201
    assert (await user.send("POST", "/events:search", json={"query": WORD})).status == 200
    message = {"message_id": "m1", "role": "user", "content": f"I prefer {WORD}.", "timestamp": "2026-02-14T20:00:00Z"}
    body = {"snapshot_id": "s1", "profile_id": PROFILE, "messages": [message]}
    sent = {"traceparent": CALLER, "tracestate": f"vendor={WORD}", "baggage": f"who={WORD}"}
    answer = await user.send("POST", f"/conversations/{WORD}/snapshots", json=body, headers=sent)
    assert (answer.status, answer.body["queued"]) == (202, True)
    assert (await ended(user, answer.body["replay_id"]))["status"] == "succeeded"


async def test_one_trace_leads_from_the_request_through_the_queue_to_the_worker(told: Told) -> None:
    request, replay = told.span("store_snapshot"), told.span("replay_snapshot")
    assert (request.service, request.parent_id) == ("memnet-api", STEP)
    assert (replay.service, replay.parent_id) == ("memnet-worker", request.span_id)
    assert request.attributes["http.response.status_code"] == 202
    assert (replay.attributes["memnet.outcome"], replay.failed) == ("done", False)


async def test_spans_are_those_of_operations_and_no_others(told: Told) -> None:
    timers = {"requeue_jobs", "reconcile_events", "sweep_outboxes", "compact_documents", "refresh_documents"}
    timers |= {"sign_checkpoints", "apply_retentions"}
    names = {span.name for span in told.receiver.spans()}
    assert names <= {*OPERATIONS, *timers, "replay_snapshot", "other"}
    assert names >= {"patch_document", "search_events", "write_event", "store_snapshot", "get_replay"}
    assert all(span.events == 0 for span in told.receiver.spans())


async def test_log_lines_and_log_records_name_the_trace(told: Told) -> None:
    [line] = [line for line in told.lines if line.get("operation") == "store_snapshot"]
    assert line["trace_id"] == TRACE
    [record] = [log for log in told.receiver.logs() if log.attributes.get("operation") == "store_snapshot"]
    assert record.trace_id == TRACE
    assert record.attributes["request_id"] == line["request_id"]


async def test_metrics_of_both_parts_arrive(told: Told) -> None:
    points = told.receiver.points()
    assert {point.name for point in points} >= {
        "memnet.request.duration",
        "memnet.write.count",
        "memnet.document.size_ratio",
        "memnet.replays",
        "memnet.replay.duration",
        "memnet.search.duration",
        "memnet.search.results",
    }
    assert {point.name for point in points} <= {metric.name for metric in METRICS}
    assert {label for point in points for label in point.labels} <= set(LABELS)
    written = {point.labels["outcome"] for point in points if point.name == "memnet.write.count"}
    assert written == {"applied", "ETAG_MISMATCH"}
    [replays] = told.receiver.points("memnet.replays")
    assert (replays.service, replays.labels, replays.value) == ("memnet-worker", {"outcome": "succeeded"}, 1)


@pytest.mark.parametrize("secret", [TENANT, USER, PRINCIPAL, WORD], ids=["tenant", "user", "principal", "content"])
async def test_nothing_of_it_names_anybody_or_what_is_remembered(told: Told, secret: str) -> None:
    assert len(told.receiver.everything) > 10_000
    assert secret.encode() not in told.receiver.everything
