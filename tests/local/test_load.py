"""The load: what it concludes from numbers, and that the whole of it runs."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

from local.bench.connection import Connection
from local.bench.load import __main__ as load
from local.bench.load import report
from local.bench.load.driver import Driver, Tally
from local.bench.load.findings import Budget, Step, growth, is_over, knee, limit
from local.bench.load.gauges import MIB, OTHERS, Gauges
from local.bench.load.mix import WEIGHTS, Client
from tests.contracts.scripted_server import answer, scripted_server

TINY = load.Scale(minutes=0.05, users=4, step_seconds=0.5, most_clients=2)


def step(clients: int, throughput: float, p95: float) -> Step:
    return Step(clients, throughput, p95, {"api": 0.5, OTHERS: 0.1})


class TestTheKnee:
    def test_it_is_where_throughput_stops_growing(self) -> None:
        steps = [step(1, 100, 0.01), step(2, 190, 0.01), step(4, 300, 0.015), step(8, 310, 0.03), step(16, 320, 0.1)]
        assert [is_over(steps[: count + 1]) for count in range(5)] == [False, False, False, False, True]
        assert knee(steps).clients == 4

    def test_it_is_where_the_p95_jumps(self) -> None:
        steps = [step(1, 100, 0.01), step(2, 190, 0.05), step(4, 200, 0.3)]
        assert is_over(steps)
        assert knee(steps).clients == 1


class TestTheLimit:
    def test_a_process_that_fills_its_core(self) -> None:
        assert limit({"api": 0.93, "azurite": 0.4, OTHERS: 0.0}, 4, OTHERS).startswith("api: it keeps one core busy")

    def test_a_machine_without_a_core_left(self) -> None:
        told = limit({"api": 0.8, "azurite": 0.6, OTHERS: 0.5}, 2, OTHERS)
        assert told == "the machine: its 2 cores are busy (1.90), mostly with api (0.80)"


def test_the_budget_is_what_may_fail() -> None:
    assert Budget(10_000, 5).used == pytest.approx(0.5)
    assert Budget(10_000, 20).used == pytest.approx(2)
    assert Budget(0, 0).used == 0


def test_growth_leaves_the_filling_of_caches_out() -> None:
    assert growth([0, 50, 99, 100, 100, 100, 100, 101, 100]) == 0
    assert growth([0, 0, 0, 100, 100, 100, 200, 200, 200]) == 100
    assert growth([7]) == 0


def test_the_gauges_see_who_is_busy_and_how_large_it_is() -> None:
    busy = "import sys\nprint(flush=True)\nwhile True:\n    pass"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            gauges = Gauges({"busy": child.pid, "self": os.getpid()})
            while (shares := gauges.shares()).cores["busy"] == 0:
                pass
            assert shares.machine > 0
            assert gauges.memory("busy") > MIB
        finally:
            child.kill()


class TestAClient:
    def client(self, connection: Connection) -> Client:
        return Client("c", connection, ["u1"], Random(1))

    async def test_a_lost_race_is_read_again_and_repeated_under_a_new_key(self) -> None:
        script = [answer(200, ETag='"1"'), answer(412), answer(200, ETag='"2"'), answer(200, ETag='"3"')]
        async with scripted_server(*script) as server:
            client = self.client(await Connection.connect(server.url, "t"))
            await client.run("patch")
            client.connection.close()
        asked = [
            (line.partition(" ")[0], head.get("if-match"), head.get("idempotency-key"))
            for line, head, _ in server.asked
        ]
        assert asked == [("GET", None, None), ("PATCH", '"1"', "c-1-0"), ("GET", None, None), ("PATCH", '"2"', "c-1-1")]
        assert client.conflicts == 1

    @pytest.mark.parametrize(("status", "counted"), [(503, "shed"), (500, "failed"), (401, "failed")])
    async def test_what_goes_wrong_is_counted(self, status: int, counted: str) -> None:
        async with scripted_server(answer(status)) as server:
            tally = await Driver(server.url.rpartition("/account")[0], "t", ["u1"]).run(2, 0.05)
        assert getattr(tally, counted) > 0
        assert tally.answered == 0
        assert bool(tally.failures) is (counted == "failed")


def test_a_missed_target_and_a_spent_budget_are_reported() -> None:
    soak = Tally(lasted=10.0, failed=2, conflicts=3)
    soak.seconds |= {"read": [0.2] * 20, "patch": [0.1] * 80}
    soak.failures["read: 500"] = 2
    summary = report.summarise([step(1, 10, 0.01), step(2, 10, 0.01)], 1, soak, [100 * MIB] * 6 + [110 * MIB] * 3)
    output = StringIO()
    report.show(summary, Console(width=200, file=output))
    shown = output.getvalue()
    for told in ("< 150 missed", "< 300 reached", "1 ←", "+10.0 MiB", "2 times read: 500", "1961% used"):
        assert told in shown


@pytest.mark.slow
def test_the_whole_load_runs_and_writes_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "SCALE", TINY)
    file = tmp_path / "load.json"
    assert load.main(["--minutes", "0.05", "--json", str(file)]) == 0
    summary = json.loads(file.read_text("utf-8"))
    soak = summary["soak"]
    assert (soak["failed"], soak["shed"], soak["failures"]) == (0, 0, {})
    assert set(soak["calls"]) <= set(WEIGHTS)
    assert {"read", "patch"} <= set(soak["calls"])
    assert {"api", "azurite", "search", "service-bus", "the load itself", OTHERS} <= set(summary["steps"][0]["cores"])
    shown = capfd.readouterr().out
    assert "The knee is at" in shown
    assert "The limit is" in shown
