"""The scale tool measures what it says, and projects it by the prices in one table."""

import json
from collections import Counter
from pathlib import Path

import pytest

from local.bench.scale import __main__ as scale
from local.bench.scale.calls import CHANGE
from local.bench.scale.prices import function_cost, queue_cost, storage_cost
from local.bench.scale.projection import Timer, Usage, project
from local.bench.scale.world import Measured
from memnet.domain.upkeep.marks import Work


def measured(users: int, **calls: int) -> Measured:
    return Measured("work", users, seconds=users * 0.1, processor_seconds=0.0, calls=Counter(calls))


def test_storage_costs_what_the_table_says_and_deletes_are_free() -> None:
    assert storage_cost({"PUT": 10_000, "APPEND": 10_000}, "LRS") == pytest.approx(0.10)
    assert storage_cost({"GET": 10_000, "LIST": 10_000, "DELETE": 10_000}, "ZRS") == pytest.approx(0.0665)
    assert storage_cost(CHANGE) * 10_000 == pytest.approx(0.125)


def test_an_execution_costs_a_second_at_least_and_a_message_three_operations() -> None:
    assert function_cost(0.5, 1) == pytest.approx(2 * 0.000026 + 0.0000004)
    assert function_cost(10, 1) > function_cost(0.5, 1)
    assert queue_cost(1_000_000) == pytest.approx(2.4)


def test_a_timer_costs_its_runs_and_each_user_with_work() -> None:
    timer = Timer(runs=100, idle=measured(0, LIST=2), busy=measured(10, LIST=12, GET=30))
    assert timer.per_user() == {"LIST": 1.0, "GET": 3.0}
    calls, dollars = timer.month(1_000, shards=64)
    assert calls == {"LIST": 100 * 2 + 1_000, "GET": 3_000}
    assert dollars == pytest.approx(function_cost(100.0, 100 + 1_000) + queue_cost(1_000))


def test_the_projection_adds_requests_timers_and_data() -> None:
    idle = Timer(runs=1, idle=measured(0), busy=measured(1, GET=2))
    usage = Usage(requests={"change a document": 10}, active_hours=3, due_days=1, gigabytes=0.001)
    month = project(1_000, {Work.CHANGED: idle, Work.DUE: idle}, 64, usage)
    parts = month["parts"]
    assert parts["change a document"]["calls"] == 2 * 10 * 1_000
    assert parts["changed marks"]["calls"] == 3 * 1_000
    assert parts["timer: changed users"]["calls"] == 2 * 3 * 1_000
    assert parts["timer: due users"]["calls"] == 2 * 1_000
    assert parts["stored data"]["dollars"] == pytest.approx(0.026)
    assert month["dollars"] == pytest.approx(sum(row["dollars"] for row in parts.values()))


@pytest.mark.slow
def test_five_hundred_users_are_seeded_and_served(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scale.json"
    assert scale.main(["--users", "500", "--json", str(file)]) == 0
    summary = json.loads(file.read_text("utf-8"))
    assert (summary["users"], summary["documents"]) == (500, 750)
    rows = {row["work"]: row for row in summary["measured"]}
    assert list(rows) == [f"{work} users: {what}" for work in ("changed", "due") for what in ("none", "1 in 100")]
    for work in ("changed", "due"):
        # With nothing to do a timer lists shards and days, however many users there are.
        assert sum(rows[f"{work} users: none"]["calls"].values()) <= 10
        busy = rows[f"{work} users: 1 in 100"]
        assert busy["users"] == 5
        assert busy["calls"]["DELETE"] >= 5
        assert sum(busy["calls"].values()) <= 60 * 5
    resumed = summary["resumed"]
    assert resumed["left"] == 0
    assert resumed["calls_after"] > 0
    shown = capfd.readouterr().out
    assert "A month of 100,000,000 users" in shown
    assert "US dollars a month" in shown
