"""The queries of the alerts and of the workbook, asked of telemetry that the service has really sent."""

import json
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import create_app
from api.identity import TokenValidator
from api.latency_stats import OTHER
from api.request_telemetry import HEALTH
from memnet.catalog import Catalog
from memnet.domain.core.metric import (
    DEAD_LETTERS,
    ERASURE_OLDEST_AGE,
    INDEX_LAG,
    METRICS,
    REPLAY_DURATION,
    REPLAY_OLDEST_AGE,
    REQUEST_DURATION,
    UPKEEP_OLDEST_RUN_AGE,
    UPKEEP_OVERDUE,
    WRITES,
)
from memnet.domain.core.metric import Metric as M
from memnet.wiring import in_memory
from tests.api.conftest import AUDIENCE, DYNAMIC, ISSUER, USER, Token, changing, creating, patch_body
from tests.infra.kql import metrics_of, properties_of, run
from tests.infra.recorded_telemetry import Recording
from tests.sample_settings import sample_settings

INFRA = Path(__file__).resolve().parents[2] / "infra"
QUERIES = {path.stem: path.read_text("utf-8") for path in sorted((INFRA / "queries").glob("*.kql"))}
ALERTS: Mapping[str, Mapping[str, Any]] = json.loads((INFRA / "alerts.json").read_text("utf-8"))
OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThan": operator.gt,
    "LessThan": operator.lt,
    "GreaterThanOrEqual": operator.ge,
    "LessThanOrEqual": operator.le,
}
AGGREGATIONS: Mapping[str, Callable[[list[float]], float]] = {
    "Maximum": max,
    "Minimum": min,
    "Total": sum,
    "Average": lambda values: sum(values) / len(values),
    "Count": len,
}


def workbook_queries() -> list[str]:
    """With the grain that a reader would choose."""

    def queries(part: object) -> list[str]:
        if isinstance(part, dict):
            own = [part["query"]] if isinstance(part.get("query"), str) else []
            return own + [query for value in part.values() for query in queries(value)]
        return [query for value in part for query in queries(value)] if isinstance(part, list) else []

    found = queries(json.loads((INFRA / "workbook.json").read_text("utf-8")))
    return [query.replace("{Range:grain}", "5m") for query in found]


WORKBOOK = workbook_queries()


def fires(name: str, recording: Recording) -> bool:
    """Whether an evaluation of the alert is above its threshold, as Azure Monitor sees it (scheduled query rules)."""
    alert = ALERTS[name]
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in run(QUERIES[name], recording.tables):
        if row["Value"] is not None:
            groups[tuple(row[column] for column in alert["by"])].append(row["Value"])
    is_beyond, put_together = OPERATORS[alert["operator"]], AGGREGATIONS[alert["aggregation"]]
    return any(is_beyond(put_together(values), alert["threshold"]) for values in groups.values())


Sent = tuple[M, float, dict[str, str]]
"""A metric, its value and its labels."""


def write(outcome: str, times: int, binding_id: str = "user_dynamic") -> list[Sent]:
    labels = {"operation": "patch_document", "profile_id": "project-copilot-v1", "binding_id": binding_id}
    return [(WRITES, times, {"outcome": outcome, **labels})]


def request(status: str, times: int, operation: str = "get_document") -> list[Sent]:
    return [(REQUEST_DURATION, 0.01, {"operation": operation, "status": status})] * times


def replays(in_time: int, late: int, failed: int) -> list[Sent]:
    outcomes = {"in_time": in_time, "late": late, "failed": failed}
    return [(REPLAY_DURATION, 10, {"outcome": outcome}) for outcome, times in outcomes.items() for _ in range(times)]


FIRING: Mapping[str, list[Sent]] = {
    "dead-letters": [(DEAD_LETTERS, 1, {"operation": "replay_snapshot", "outcome": "DECRYPTION_FAILED"})],
    "index-lag": [(INDEX_LAG, 301, {})],
    "late-replays": replays(in_time=150, late=1, failed=1),
    "late-upkeep": [(UPKEEP_OVERDUE, 0, {}), (UPKEEP_OLDEST_RUN_AGE, 86401, {})],
    "open-erasures": [(ERASURE_OLDEST_AGE, 14401, {})],
    "replay-backlog": [(REPLAY_OLDEST_AGE, 301, {})],
    "schema-violations": write("applied", 30) + write("SCHEMA_VIOLATION", 10),
    "server-errors": request("200", 90) + request("503", 10),
    "silent-api": [],
    "silent-workers": [],
    "stale-writes": [
        *write("applied", 900, binding_id="user_static"),
        *write("applied", 60),
        *write("ETAG_MISMATCH", 20),
        *write("DOCUMENT_EXISTS", 20),
    ],
}
QUIET: Mapping[str, list[Sent]] = {
    "dead-letters": [(REPLAY_OLDEST_AGE, 9999, {})],
    "index-lag": [(INDEX_LAG, 299, {})],
    "late-replays": replays(in_time=150, late=1, failed=0),
    "late-upkeep": [(UPKEEP_OVERDUE, 86399, {}), (UPKEEP_OLDEST_RUN_AGE, 86399, {})],
    "open-erasures": [(ERASURE_OLDEST_AGE, 14399, {})],
    "replay-backlog": [(REPLAY_OLDEST_AGE, 299, {})],
    "schema-violations": [
        *write("applied", 90),
        *write("SCHEMA_VIOLATION", 10),
        *write("SCHEMA_VIOLATION", 9, binding_id="user_static"),
    ],
    "server-errors": [sent for status in ("200", "404", "412", "429", "abandoned") for sent in request(status, 30)],
    "silent-api": request("200", 1, HEALTH),
    "silent-workers": [(REPLAY_OLDEST_AGE, 0, {})],
    "stale-writes": [
        *write("applied", 80),
        *write("ETAG_MISMATCH", 20),
        *write("ETAG_MISMATCH", 15, binding_id="user_static"),
    ],
}
FAILING = request("200", 97) + request("500", 4)


async def recorded(happening: list[Sent], part: str = "worker") -> Recording:
    recording = Recording()
    async with recording.of(part) as telemetry:
        for metric, value, labels in happening:
            telemetry.record(metric, value, **labels)
    return recording


def test_every_alert_has_its_query_and_samples() -> None:
    assert set(QUERIES) == set(ALERTS) == set(FIRING) == set(QUIET)


@pytest.mark.parametrize("name", FIRING)
async def test_it_fires(name: str) -> None:
    assert fires(name, await recorded(FIRING[name]))


@pytest.mark.parametrize("name", QUIET)
async def test_it_stays_quiet(name: str) -> None:
    assert not fires(name, await recorded(QUIET[name], part="api" if name == "silent-api" else "worker"))


@pytest.mark.parametrize(
    ("happening", "expected"),
    [
        (request("200", 360, HEALTH) + FAILING, True),
        (request("404", 1000, OTHER) + FAILING, True),
        (request("200", 90) + request("503", 10, OTHER), True),
        (request("200", 60, HEALTH) + request("500", 1), False),
        (request("503", 100, HEALTH) + request("200", 100), False),
    ],
    ids=["amid-probes", "amid-attempts", "overloaded", "quiet-but-for-probes", "not-ready"],
)
async def test_other_requests_do_not_hide_failures_and_health_checks_do_not_count(
    happening: list[Sent], expected: bool
) -> None:
    assert fires("server-errors", await recorded(happening, part="api")) is expected


async def test_a_few_late_replays_do_not_fire() -> None:
    assert not fires("late-replays", await recorded(replays(in_time=16, late=2, failed=1)))


@pytest.mark.parametrize("name", sorted(FIRING.keys() - {"silent-api", "silent-workers"}))
async def test_without_telemetry_it_stays_quiet(name: str) -> None:
    assert not fires(name, Recording())


async def test_telemetry_of_workers_does_not_hide_a_silent_api() -> None:
    assert fires("silent-api", await recorded(QUIET["silent-workers"]))


ON_METRICS = [query for query in WORKBOOK if query.startswith("AppMetrics")]


@pytest.mark.parametrize("query", [*QUERIES.values(), *ON_METRICS], ids=[*QUERIES, *map(str, range(len(ON_METRICS)))])
async def test_a_query_reads_only_recorded_metrics_and_labels(query: str) -> None:
    recording = Recording()
    async with recording.of("worker") as telemetry:
        for metric in METRICS:
            telemetry.record(metric, 1, **dict.fromkeys(metric.labels, "x"))
    assert metrics_of(query)
    assert metrics_of(query) <= recording.names()
    assert all(properties_of(query) <= recording.properties(name) for name in metrics_of(query))
    run(query, recording.tables)


async def test_the_app_records_what_the_queries_read(validator: TokenValidator, token: Token, catalog: Catalog) -> None:
    """No sample of ours: requests to the real application, and what of them arrives."""
    recording = Recording()
    async with recording.of("api") as telemetry:
        settings = sample_settings(issuer_url=ISSUER, audience=AUDIENCE)
        services = in_memory(settings, catalog, telemetry=telemetry)
        transport = httpx.ASGITransport(create_app(services, validator))
        headers = {"Authorization": f"Bearer {token()}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://memnet.test", headers=headers) as client:
            await client.patch(DYNAMIC, json=patch_body(), headers=creating())
            for number in range(24):
                await client.patch(DYNAMIC, json=patch_body(), headers=changing('"stale"', f"k{number}"))
            await client.post(f"{USER}/events:search", json={"query": "x"})
    assert fires("stale-writes", recording)
    [row] = run(QUERIES["stale-writes"], recording.tables)
    assert (row["Profile"], row["Binding"], row["Value"]) == ("project-copilot-v1", "user_dynamic", 96.0)
    assert not fires("server-errors", recording)
    for query in WORKBOOK:
        run(query, recording.tables)
    [percentiles] = [query for query in WORKBOOK if query not in ON_METRICS]
    found = {row["Name"]: row for row in run(percentiles, recording.tables)}
    assert {name: row["Requests"] for name, row in found.items()} == {"patch_document": 25, "search_events": 1}
    for row in found.values():
        assert (
            0 <= row["percentile_DurationMs_50"] <= row["percentile_DurationMs_95"] <= row["percentile_DurationMs_99"]
        )


async def test_the_percentiles_are_of_the_api_s_requests() -> None:
    recording = Recording()
    for part in ("api", "worker"):
        async with recording.of(part) as telemetry:
            with telemetry.span(part, "server"):
                pass
    [percentiles] = [query for query in WORKBOOK if query not in ON_METRICS]
    assert [row["Name"] for row in run(percentiles, recording.tables)] == ["api"]
