"""`python -m api.main` as a process: what it says when it cannot start, and how it stops."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.main import main
from local.stack.azurite_server import ACCOUNT_KEY, container_client
from memnet.domain.catalog.catalog import texts_of
from tests.domain.samples import CATALOG
from tests.sample_settings import NOWHERE, REQUIRED

ROOT = Path(__file__).parents[2]
# The process must live without everything it depends on.
WORKING = {**NOWHERE, "MEMNET_PORT": "0", "MEMNET_DRAIN_SECONDS": "0"}


def start(**variables: str) -> "subprocess.Popen[str]":
    others = {name: value for name, value in os.environ.items() if not name.startswith("MEMNET_")}
    command = [sys.executable, "-m", "api.main"]
    return subprocess.Popen(command, cwd=ROOT, env={**others, **variables}, stderr=subprocess.PIPE, text=True)


Failure = Callable[..., list[str]]


@pytest.fixture
def failure(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], restored_logging: None
) -> Iterator[Failure]:
    """The lines of a start that must fail, in this process: nothing is served before the settings are read."""

    def failed(**variables: str) -> list[str]:
        for name in os.environ:
            if name.startswith("MEMNET_"):
                monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        capfd.readouterr()
        assert main() == 1
        errors = capfd.readouterr().err
        assert "Traceback" not in errors
        return errors.splitlines()

    handlers, level = logging.root.handlers[:], logging.root.level
    yield failed
    logging.root.handlers[:], logging.root.level = handlers, level


def test_a_process_that_cannot_start_says_why_and_ends() -> None:
    with start(**WORKING, MEMNET_QUOTA_PER_USER="many") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "MEMNET_QUOTA_PER_USER" in errors
    assert "Traceback" not in errors


def test_every_missing_setting_is_named_on_its_own_line(failure: Failure) -> None:
    required = [f"MEMNET_{name.upper()} is required" for name in REQUIRED]
    *missing, port = failure(MEMNET_PORT="http")
    assert missing == required
    assert port.startswith("MEMNET_PORT: ")


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        (
            {"MEMNET_ISSUER_URL": "http://issuer.example/t1"},
            "MEMNET_ISSUER_URL: must be https, or http to this machine",
        ),
        ({"MEMNET_QUOTA_URL": "ftp://h"}, "MEMNET_QUOTA_URL.*must be memory:// or redis"),
        ({"MEMNET_QUOTA_PER_USER": "many"}, "MEMNET_QUOTA_PER_USER"),
        ({"MEMNET_STORAGE_KEY": "not base64!"}, "MEMNET_STORAGE_KEY"),
        ({"MEMNET_PORT": "70000"}, "MEMNET_PORT: must be"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(failure: Failure, variables: dict[str, str], line: str) -> None:
    lines = failure(**WORKING | variables)
    assert len(lines) == 1
    assert re.search(line, lines[0])
    assert "not base64!" not in lines[0]


@pytest.mark.parametrize(
    ("serving", "told"),
    [
        ({"name": "events-1", "model": "other-model", "dimensions": 7}, "embeddings of other-model with 7 dimensions"),
        ({"name": "events-1", "model": None, "dimensions": 0}, None),
    ],
)
def test_an_index_of_other_embeddings_stops_the_start_and_says_what_to_do(
    container_url: str, failure: Failure, serving: dict[str, object], told: str | None
) -> None:
    account_url, _, name = container_url.rpartition("/")
    with container_client(account_url, name) as container:
        container.upload_blob("search/layout.json", json.dumps({"serving": serving, "building": None}))
    variables = {
        **WORKING,
        "MEMNET_STORAGE_URL": container_url,
        "MEMNET_STORAGE_KEY": ACCOUNT_KEY,
    }
    if told is not None:
        line = failure(**variables)[-1]  # behind the log of what else did not answer
        assert line.startswith(f"MEMNET_EMBEDDINGS: the index events-1 holds {told}, configured is no embeddings: ")
        assert "memnet search reindex" in line
        return
    with start(**variables) as process:
        try:
            assert Running(process).stop(signal.SIGTERM) == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    "variables",
    [{"MEMNET_SEARCH_URL": "search"}, {"MEMNET_SEARCH_URL": "https://s.test", "MEMNET_SEARCH_INDEX": "My_Events"}],
)
def test_a_search_service_that_cannot_be_one_is_named(failure: Failure, variables: dict[str, str]) -> None:
    (line,) = failure(**WORKING | variables)
    assert line.startswith("MEMNET_SEARCH_URL, MEMNET_SEARCH_INDEX, MEMNET_SEARCH_ENCRYPTION_KEY: must be")


def test_every_version_is_registered_and_another_text_under_one_stops_the_start(
    container_url: str, failure: Failure, tmp_path: Path
) -> None:
    account_url, _, name = container_url.rpartition("/")
    variables = {**WORKING, "MEMNET_STORAGE_URL": container_url, "MEMNET_STORAGE_KEY": ACCOUNT_KEY}
    with start(**variables) as process:
        try:
            assert Running(process).stop(signal.SIGTERM) == 0
        finally:
            process.kill()
    version = CATALOG.profile("support-desk-v1").version
    with container_client(account_url, name) as container:
        registered = set(container.list_blob_names(name_starts_with="catalog/"))
    assert registered == {text.blob_name for text in texts_of(CATALOG)}

    for path in (ROOT / "profiles").glob("*-v1.json"):
        changed = {**json.loads(path.read_text(encoding="utf-8")), "max_ops": 7}
        (tmp_path / path.name).write_text(json.dumps(changed), encoding="utf-8")
    line = failure(**variables, MEMNET_PROFILES_DIR=str(tmp_path))[-1]
    assert line.startswith("Used before with a different text: profile project-copilot-v1 ")
    assert line.endswith(f", profile support-desk-v1 {version}. Raise the version, or restore the text.")


def test_every_fault_of_the_catalog_is_on_its_own_line(failure: Failure, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text("{")
    lines = failure(**WORKING, MEMNET_PROFILES_DIR=str(tmp_path))
    assert len(lines) == 2
    assert "a.json" in lines[0]
    assert "b.json" in lines[1]


class Running:
    """A started process: its address, and its log, line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stderr is not None
        self.log: list[dict[str, Any]] = []
        for text in process.stderr:
            self.log.append(json.loads(text))
            if found := re.search(r"http://127\.0\.0\.1:[0-9]+", self.log[-1]["message"]):
                self.url = found.group()
                return
        raise AssertionError("it did not start")

    def stop(self, number: signal.Signals) -> int:
        """Send the signal; return the exit code once the log is read to its end."""
        assert self.process.stderr is not None
        self.process.send_signal(number)
        self.log += [json.loads(text) for text in self.process.stderr]
        return self.process.wait(timeout=60)


@pytest.fixture
def variables() -> dict[str, str]:
    return WORKING


@pytest.fixture
def running(variables: dict[str, str]) -> Iterator[Running]:
    with start(**variables) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_in_order_on_a_signal(running: Running, number: signal.Signals) -> None:
    assert httpx.get(f"{running.url}/health/live").status_code == 200
    assert running.stop(number) == 0


class TestDraining:
    """MEMNET_DRAIN_SECONDS is so long here that only what the test does can end it."""

    @pytest.fixture
    def variables(self) -> dict[str, str]:
        return {**WORKING, "MEMNET_DRAIN_SECONDS": "3600"}

    def test_sigterm_takes_it_out_of_the_choice_and_lets_it_serve_on(self, running: Running) -> None:
        with httpx.Client(base_url=running.url) as kept:
            assert "connection" not in kept.get("/health/live").headers
            running.process.send_signal(signal.SIGTERM)
            while "connection" not in (last := kept.get("/health/live")).headers:
                pass
            assert (last.status_code, last.headers["connection"]) == (200, "close")
            ready = kept.get("/health/ready")
            assert ready.status_code == 503
            assert ready.json()["error"]["message"] == "The process is stopping."
            assert kept.get("/v1/profiles").headers["connection"] == "close"
        assert running.process.poll() is None
        assert running.stop(signal.SIGTERM) == 0

    def test_a_person_does_not_wait(self, running: Running) -> None:
        assert running.stop(signal.SIGINT) == 0


def test_the_drain_ends_by_itself() -> None:
    with start(**WORKING, MEMNET_LOG_LEVEL="info") as process:
        try:
            assert Running(process).stop(signal.SIGTERM) == 0
        finally:
            process.kill()


def test_it_lives_without_its_dependencies_but_is_not_ready(running: Running) -> None:
    response = httpx.get(f"{running.url}/health/ready", timeout=30)
    assert response.status_code == 503
    assert response.json()["error"]["details"] == {
        "checks": dict.fromkeys(("storage", "issuer", "search", "vault", "queue"), "failed")
    }
    assert "server" not in response.headers


def test_each_request_is_one_json_line_that_names_no_user(running: Running) -> None:
    path = "/v1/tenants/t1/users/jane.doe/documents/user/user_dynamic.json"
    response = httpx.get(running.url + path, headers={"X-Request-Id": "r1"})
    assert response.status_code == 401
    assert running.stop(signal.SIGTERM) == 0
    (line,) = [line for line in running.log if line["logger"] == "memnet.requests"]
    assert line["request_id"] == "r1"
    assert (line["method"], line["status"], line["operation"], line["error"]) == (
        "GET",
        401,
        "get_document",
        "UNAUTHENTICATED",
    )
    assert line["route"] == "/v1/tenants/{tenant_id}/users/{user_id}/documents/{namespace}/{path:path}"
    assert line["ms"] >= 0
    assert "jane.doe" not in json.dumps(running.log)
