"""`memnet bootstrap` against a whole local stack, from nothing to ready; the parts are tests/contracts' business."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from local.stack.azurite_server import ACCOUNT_KEY, container_client
from local.stack.key_vault_server import KeyVault
from local.stack.process import ROOT
from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from memnet import settings
from memnet.wiring import connect
from tests.cli.conftest import Memnet

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture
def nothing_yet(
    azurite: object,
    search_emulator: SearchEmulator,
    key_vault: KeyVault,
    service_bus: ServiceBus,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """The settings of services that hold nothing of memnet's; the name of the container that is not there."""
    name, account_url = f"b{uuid4().hex}", azurite.account_url  # type: ignore[attr-defined]
    given = {
        **search_emulator.environment,
        **service_bus.environment,
        **key_vault.environment,
        "MEMNET_STORAGE_URL": f"{account_url}/{name}",
        "MEMNET_STORAGE_KEY": ACCOUNT_KEY,
        "MEMNET_SEARCH_INDEX": f"t{uuid4().hex}",
    }
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    yield name
    with container_client(account_url, name) as container:
        if container.exists():
            container.delete_container()


def index_name() -> str | None:
    async def read() -> str | None:
        found = settings.load_storage()
        assert found is not None
        async with connect(found) as services:
            layout = await services.search.register.recent()
            return layout and layout.serving.name

    return asyncio.run(read())


def test_from_nothing_to_ready_and_no_further(memnet: Memnet, nothing_yet: str) -> None:
    container, index = f"storage: container {nothing_yet}", "search: index of events"
    checked = memnet("doctor")
    assert checked.exit_code == 1
    lines = checked.stdout.splitlines()
    assert f"missing      {container}" in lines
    assert "unknown      storage: reading and writing: the container has to be there first" in lines
    assert [line for line in lines if line.startswith("to be made")] == [f"to be made   {container}"]
    assert memnet("doctor").stdout == checked.stdout

    applied = memnet("bootstrap")
    assert applied.exit_code == 0, applied.output
    lines = applied.stdout.splitlines()
    assert lines.index(f"to be made   {container}") < lines.index(f"made         {container}")
    assert f"made         {index}" in lines
    assert lines[-1] == "ok: everything is ready"
    made = index_name()
    assert made is not None

    again = memnet("bootstrap")
    assert (again.exit_code, "made  " in again.stdout) == (0, False)
    ready = {line.split(None, 1)[1].partition(": ")[0] for line in again.stdout.splitlines()[:-1]}
    assert ready == {"storage", "search", "queue", "vault", "catalog"}
    assert index_name() == made


def test_what_only_a_deployment_can_make_is_named(
    memnet: Memnet, nothing_yet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "Config.json"
    config.write_text('{"UserConfig": {"Namespaces": [{"Name": "n", "Queues": [{"Name": "memnet-replay"}]}]}}')
    with ServiceBus(log=tmp_path / "log", config=config) as bare:
        monkeypatch.setenv("MEMNET_QUEUE_URL", bare.url)
        result = memnet("bootstrap")
        as_api = memnet("doctor", "--identity", "api", "--vault-read-only")
    assert result.exit_code == 1
    by_hand = [line for line in result.stdout.splitlines() if line.startswith("by hand")]
    assert {line.split()[3].rstrip(":") for line in by_hand} == {
        "memnet-replay",
        "memnet-conflicts",
        "memnet-reindex",
        "memnet-dead-letters",
    }
    assert "wrong        queue: memnet-replay: deploy a queue with sessions" in result.stdout
    assert "ready        queue: memnet-replay\n" in as_api.stdout
    assert "vault: making secrets" in result.stdout
    assert "vault: making secrets" not in as_api.stdout


def test_it_waits_for_what_is_still_to_come(nothing_yet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = ServiceBus(log=tmp_path / "log")
    monkeypatch.setenv("MEMNET_QUEUE_URL", late.url)
    call = [sys.executable, "-m", "cli.main", "bootstrap", "--wait", "300"]
    with subprocess.Popen(call, cwd=ROOT, stdout=subprocess.PIPE, text=True) as waiting:
        try:
            assert waiting.stdout is not None
            assert any(line.startswith("by hand      queue: memnet-replay: it does not") for line in waiting.stdout)
            with late:
                rest = waiting.stdout.read()
                assert waiting.wait(timeout=300) == 0
        finally:
            waiting.kill()
    assert rest.splitlines()[-1] == "ok: everything is ready"


def test_it_does_not_wait_for_ever(memnet: Memnet, nothing_yet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMNET_QUEUE_URL", "sb://127.0.0.1:1")
    assert memnet("bootstrap", "--wait", "1").exit_code == 1


@pytest.mark.parametrize("arguments", [["--check"], ["--identity", "nobody"]])
def test_it_says_how_it_is_called(memnet: Memnet, arguments: list[str]) -> None:
    assert memnet("bootstrap", *arguments).exit_code == 2


def test_a_setting_that_cannot_be_used_is_named(
    memnet: Memnet, nothing_yet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMNET_QUEUE_URL", "https://nowhere.test")
    result = memnet("doctor")
    assert result.exit_code == 1
    assert "MEMNET_QUEUE_URL" in result.output
