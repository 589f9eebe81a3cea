"""The bench measures what it says, on a stack of its own."""

import json
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from local.bench import __main__ as bench
from local.bench import report
from local.bench.comparison import Samples, rows
from local.bench.figures import figures, percentile
from local.bench.plan import Plan
from local.bench.storage_log import StorageLog, per_call
from local.bench.worker import Worker, WorkerFailed

TINY = Plan(
    rounds=1,
    calls={(1, 0.0): 2, (16, 0.0): 16, (1, 0.02): 2, (16, 0.02): 16},
    growth_rounds=1,
    growth_calls=2,
    increments=2,
    history=20,
    as_of_rounds=1,
    turns=100,
    recall_rounds=1,
    recalls={1: 2, 16: 16},
    changes=1,
    sizes=(2000,),
    users=(1, 2),
    events=(1_000, 1_100),
)


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile([1.0], 0.5) == 1.0


def test_storage_calls_are_counted_by_kind_from_a_position_of_the_log(tmp_path: Path) -> None:
    file = tmp_path / "azurite.log"
    file.write_text("listens on http://127.0.0.1\n" + _line("GET", "/a/c/before"))
    log = StorageLog(file)
    log.settle()
    position = log.position()
    with file.open("a") as more:
        more.write(_line("PUT", "/a/c/x") + _line("PUT", "/a/c/x?comp=appendblock") + _line("GET", "/a/c/x"))
        more.write(_line("GET", "/a/c?restype=container&comp=list&prefix=x") + _line("GET", "/a/c/y", 404))
    counts = log.since(position)
    assert counts == {"PUT": 1, "APPEND": 1, "GET": 2, "LIST": 1}
    assert per_call(counts, 2) == {"APPEND": 0.5, "GET": 1.0, "LIST": 0.5, "PUT": 0.5}


def test_a_ratio_is_service_by_client_and_a_missed_target_is_reported() -> None:
    samples = Samples()
    for clients in (1, 16):
        for pause in (0.0, 0.02):
            for call in ("get", "patch", "assemble", "search", "write_event", "turn"):
                samples.service[call, clients, pause] = [0.002]
                samples.storage[call, clients, pause] = Counter(PUT=3)
                samples.requests[call, clients, pause] = 2
            for side, call in (("stock", "get"), ("raw", "get"), ("stock", "search"), ("service", "snapshot")):
                samples.baseline[side, (call, clients, pause)] = [0.001]
            for call in ("get_put", "put_upload"):
                samples.baseline["stock", (call, clients, pause)] = [0.004]
    summary = rows(samples)
    ratios = {(row["call"], row["baseline"], row["clients"], row["pause_ms"]): row["ratio"]["p50"] for row in summary}
    assert ratios["GET", "stock GET", 1, 0] == 2.0
    assert ratios["GET", "aiohttp GET", 16, 20] == 2.0
    assert ratios["PATCH", "stock GET + conditional PUT", 16, 0] == 0.5
    shown = _shown(summary)
    for part in ("p50 ≤ 0.65 missed", "p50 ≤ 0.75 reached, p95 ≤ 1 reached", "p50 ≤ 1.5 missed", "1.5 PUT"):
        assert part in shown


def _shown(comparisons: object) -> str:
    summary = {
        "comparisons": comparisons,
        "growth": [{"grows": "users with 4 documents", "value": 2, "ms": {"get": figures([0.001])}}],
        "increments": {
            "increments": 32,
            "clients": 16,
            "lost": 0,
            "seconds": 1.5,
            "retries": 7,
            "storage_calls": {"PUT": 1.0},
        },
        "history": {
            "changes": 5000,
            "changes_per_second": 200.0,
            "audit_blobs": {1000: {"jsonl": 4, "json": 3}},
            "ms": {"early by time": figures([0.01])},
            "growth": {"get": figures([0.001])},
            "blame_to_get": {"blame early": {"p50": 12.0, "p95": 14.0}},
            "verify": {"seconds": 1.0, "storage_calls": {"GET": 25}},
        },
    }
    output = StringIO()
    report.show(summary, Console(width=250, file=output))
    shown = output.getvalue()
    assert "0 lost" in shown
    assert "blame early : GET of the current version" in shown
    assert "Audit blobs after 1,000 changes: 7 (3 .json, 4 .jsonl)." in shown
    return shown


def _line(method: str, url: str, status: int = 200) -> str:
    return f'127.0.0.1 - - [23/Nov/2026:04:00:00 +0000] "{method} {url} HTTP/1.1" {status} -\n'


@pytest.mark.slow
def test_the_whole_bench_runs_and_writes_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "QUICK", TINY)
    file = tmp_path / "bench.json"
    assert bench.main(["--quick", "--json", str(file)]) == 0
    summary = json.loads(file.read_text("utf-8"))
    measured = {(row["call"], row["clients"], row["pause_ms"]) for row in summary["comparisons"]}
    assert measured == {("recall", 1, 0), ("recall", 16, 0)} | {
        (call, clients, pause)
        for call in ("GET", "PATCH", "assemble 4", "search", "write event", "turn")
        for clients in (1, 16)
        for pause in (0, 20)
    }
    calls = {row["call"]: row["storage_calls"] for row in summary["comparisons"] if row["clients"] == 1}
    assert calls["GET"] == {"GET": 1.0}
    assert calls["PATCH"]["PUT"] >= 1.0
    assert calls["recall"].keys() <= {"GET", "LIST"}
    assert {(row["grows"], row["value"]) for row in summary["growth"]} == {
        ("characters a document", 2000),
        ("users with 4 documents", 1),
        ("users with 4 documents", 2),
        ("events of a tenant", 1_000),
        ("events of a tenant", 1_100),
    }
    assert all(row["service_ms"]["calls"] > 0 for row in summary["comparisons"])
    assert summary["increments"]["lost"] == 0
    history = summary["history"]
    assert set(history["ms"]) == {
        *(f"{place} by {kind}" for place in ("early", "middle", "late") for kind in ("change_id", "time")),
        *("bystander", "bystander alone"),
        *(f"blame {place}" for place in ("early", "middle", "late", "slowest")),
    }
    assert history["blame_to_get"].keys() == {name for name in history["ms"] if name.startswith("blame")}
    assert history["verify"]["storage_calls"]["GET"] > 0
    assert "ratio" in capfd.readouterr().out


def test_a_worker_reports_why_it_failed() -> None:
    with (
        Worker(kind="service", loop="asyncio", url="http://127.0.0.1:1", token="x") as worker,
        pytest.raises(WorkerFailed, match="Connect"),
    ):
        worker.ask("measure", name="get", users=["u"], clients=1, count=1, pause=0)
