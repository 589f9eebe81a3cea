"""The bench measures what it says, on a stack of its own."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from local.bench import __main__ as bench
from local.bench import report
from local.bench.plan import Samples, Scale, percentile
from local.bench.worker import Worker, WorkerFailed

TINY = Scale(
    rounds=1,
    calls={1: 2, 16: 16},
    write_rounds=1,
    growth_rounds=1,
    growth_calls=2,
    changes=1,
    sizes=(2000,),
    histories=(2,),
    users=(1, 2),
    events=(1_000, 1_100),
)


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile([1.0], 0.5) == 1.0


def test_a_ratio_is_service_by_client_and_a_missed_target_is_reported() -> None:
    samples = Samples()
    for clients in (1, 16):
        for name in ("GET", "PATCH", "assemble 4", "search", "write event"):
            samples.service[name, clients] = [0.002]
        for call in ("get", "get_put", "search", "put_upload"):
            samples.storage["stock client", call, clients] = [0.001 if call in ("get", "search") else 0.004]
    summary = report.summarise(samples)
    ratios = {(row["call"], row["clients"]): row["ratio"]["p50"] for row in summary["comparisons"]}
    assert ratios["GET", 1] == 2.0
    assert ratios["PATCH", 16] == 0.5
    output = StringIO()
    report.show(summary, Console(width=200, file=output))
    shown = output.getvalue()
    assert "≤ 0.8 missed" in shown
    assert "≤ 1.0 reached" in shown
    assert "≤ 1.5 missed" in shown


@pytest.mark.slow
def test_the_whole_bench_runs_and_writes_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "QUICK", TINY)
    file = tmp_path / "bench.json"
    assert bench.main(["--quick", "--json", str(file)]) == 0
    summary = json.loads(file.read_text("utf-8"))
    assert {(row["call"], row["clients"]) for row in summary["comparisons"]} == {
        (call, clients) for call in ("GET", "PATCH", "assemble 4", "search", "write event") for clients in (1, 16)
    }
    assert {(row["grows"], row["value"]) for row in summary["growth"]} == {
        ("size", 2000),
        ("history", 2),
        ("users", 1),
        ("users", 2),
        ("events", 1_000),
        ("events", 1_100),
    }
    (grown,) = [row for row in summary["growth"] if (row["grows"], row["value"]) == ("events", 1_100)]
    assert list(grown["service_ms"]) == ["search", "stock search", "write_event", "stock put_upload"]
    assert all(row["service_ms"]["calls"] > 0 for row in summary["comparisons"])
    assert "ratio p50" in capfd.readouterr().out


def test_a_worker_reports_why_it_failed() -> None:
    with (
        Worker(kind="service", loop="asyncio", url="http://127.0.0.1:1", token="x") as worker,
        pytest.raises(WorkerFailed, match="Connect"),
    ):
        worker.ask("measure", name="get", users=["u"], clients=1, count=1)
