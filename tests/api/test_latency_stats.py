"""What this process measures of its own answers: a ring of minutes, percentiles, no names."""

from datetime import timedelta
from typing import Any

import pytest

from api.latency_stats import ABANDONED, MINUTES, OTHER, LatencyStats
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.access import ROLES


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def measured(clock: FrozenClock) -> LatencyStats:
    return LatencyStats(clock)


def operation(report: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [row for row in report["operations"] if row["operation"] == name]
    return dict(found)


def test_without_requests_there_are_no_percentiles(measured: LatencyStats) -> None:
    report = measured.report(3)
    assert report["operations"] == []
    assert [point["requests"] for point in report["by_minute"]] == [0, 0, 0]
    assert {point["p95_ms"] for point in report["by_minute"]} == {None}


def test_percentiles_are_at_most_a_tenth_too_high(measured: LatencyStats) -> None:
    times = [0.00004, *(number / 1000 for number in range(1, 100))]
    for seconds in times:
        measured.record("get_document", 200, seconds)
    result = operation(measured.report(1), "get_document")
    ordered = sorted(seconds * 1000 for seconds in times)
    for name, true in (("p50_ms", ordered[49]), ("p95_ms", ordered[94]), ("p99_ms", ordered[98])):
        assert true <= result[name] <= true * 1.1 + 0.001
    assert (result["requests"], result["longest_ms"]) == (100, 99)


def test_responses_are_counted_by_status_and_abandoned_ones_too(measured: LatencyStats) -> None:
    for status in (200, 200, 412, None):
        measured.record("patch_document", status, 0.01)
    assert operation(measured.report(1), "patch_document")["statuses"] == {"200": 2, "412": 1, ABANDONED: 1}


def test_each_minute_counts_writes_and_those_that_came_too_late(measured: LatencyStats) -> None:
    for name, status in (
        *(("patch_document", 200), ("patch_document", 412), ("delete_document", 412), ("get_document", 200)),
        *(("replace_document", 503), ("search_events", None)),
    ):
        measured.record(name, status, 0.01)
    (point,) = measured.report(1)["by_minute"]
    assert (point["requests"], point["writes"], point["stale_writes"], point["failures"]) == (6, 4, 2, 1)


@pytest.mark.parametrize("name", [None, "health_live", "an id of somebody's making"])
def test_what_is_no_operation_has_one_name_and_no_part_in_the_minutes(measured: LatencyStats, name: str | None) -> None:
    measured.record(name, 404, 5)
    report = measured.report(1)
    assert operation(report, OTHER)["requests"] == 1
    assert report["by_minute"][0]["requests"] == 0


def test_minutes_are_kept_apart_and_asked_for_back_to_a_time(measured: LatencyStats, clock: FrozenClock) -> None:
    measured.record("get_document", 200, 0.01)
    clock.advance(timedelta(minutes=2, seconds=5))
    measured.record("get_document", 200, 0.02)
    report = measured.report(3)
    assert [(point["minute"][11:19], point["requests"]) for point in report["by_minute"]] == [
        ("00:00:00", 1),
        ("00:01:00", 0),
        ("00:02:00", 1),
    ]
    assert operation(report, "get_document")["requests"] == 2
    assert operation(measured.report(2), "get_document")["requests"] == 1
    assert (report["since"], report["until"]) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:02:05.000000Z")


def test_an_hour_later_it_is_forgotten(measured: LatencyStats, clock: FrozenClock) -> None:
    measured.record("get_document", 200, 0.01)
    clock.advance(timedelta(minutes=MINUTES))
    assert measured.report(MINUTES)["operations"] == []
    assert measured.report(MINUTES)["since"] == "2026-01-01T00:01:00.000000Z"


def test_its_size_is_bounded_whatever_is_asked(measured: LatencyStats, clock: FrozenClock) -> None:
    for _ in range(3 * MINUTES):
        for name in (*ROLES, *(f"nonsense-{number}" for number in range(50))):
            for seconds in (0.001, 0.5, 3600):
                measured.record(name, 200, seconds)
        clock.advance(timedelta(minutes=1))
    ring = measured._ring
    assert len(ring) == MINUTES
    assert max(len(tallies) for _, tallies in ring) == len(ROLES) + 1
    assert max(len(tally.buckets) for _, tallies in ring for tally in tallies.values()) <= 3
