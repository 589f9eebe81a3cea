"""`memnet doctor` and `bootstrap` on the local emulators; tests/contracts tests each prerequisite."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from cli import bootstrap as command
from local.stack.azurite_server import ACCOUNT_KEY, container_client
from local.stack.key_vault_server import KeyVault
from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from memnet.domain.core.prerequisite import BootstrapReport, Finding, PrerequisiteStatus
from memnet.service import Service
from tests.cli.conftest import Memnet, in_environment, on
from tests.conftest import AzuriteAccount

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture
def nothing_yet(
    azurite: AzuriteAccount,
    search_emulator: SearchEmulator,
    key_vault: KeyVault,
    service_bus: ServiceBus,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[str]:
    """The settings of empty services; return the name of the missing container."""
    name, account_url = f"b{uuid4().hex}", azurite.account_url
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
    async def read(services: Service) -> str | None:
        layout = await services.search.register.recent()
        return None if layout is None else layout.serving.name

    return on(in_environment(), read)


def test_bootstrap_creates_what_doctor_reports_missing(memnet: Memnet, nothing_yet: str) -> None:
    container, index = f"storage: container {nothing_yet}", "search: index of events"
    checked = memnet("doctor", "--identity", "api")
    assert checked.exit_code == 1
    lines = checked.stdout.splitlines()
    assert f"missing      {container}" in lines
    assert "unknown      storage: reading and writing: the container has to be there first" in lines
    assert [line for line in lines if line.startswith("to create")] == [f"to create    {container}"]

    applied = memnet("bootstrap")
    assert applied.exit_code == 0, applied.output
    lines = applied.stdout.splitlines()
    assert lines.index(f"to create    {container}") < lines.index(f"created      {container}")
    assert f"created      {index}" in lines
    assert lines[-1] == "ok: everything is ready"
    made = index_name()
    assert made is not None

    again = memnet("bootstrap", "--identity", "api")
    assert (again.exit_code, "created  " in again.stdout) == (0, False)
    ready = {line.split(None, 1)[1].partition(": ")[0] for line in again.stdout.splitlines()[:-1]}
    assert ready == {"storage", "search", "queue", "vault", "catalog"}
    assert index_name() == made


def test_missing_parts_of_a_deployment_are_named(
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


class Scripted:
    """A check that returns prepared reports, and counts what it creates."""

    def __init__(self, *statuses: PrerequisiteStatus) -> None:
        self._statuses = list(statuses)
        self.created = 0

    async def __call__(self, creates: bool) -> BootstrapReport:
        self.created += creates
        status = self._statuses.pop(0)
        return BootstrapReport((Finding("queue", status, creatable=status is PrerequisiteStatus.MISSING),))


def test_it_waits_until_everything_is_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "PAUSE_SECONDS", 0)
    unreachable, missing, ready = (
        PrerequisiteStatus.UNREACHABLE,
        PrerequisiteStatus.MISSING,
        PrerequisiteStatus.READY,
    )

    async def wait(seconds: float, *statuses: PrerequisiteStatus) -> tuple[BootstrapReport, int]:
        check = Scripted(*statuses)
        first = await check(False)
        return await command._until_ready(check, first, apply=True, seconds=seconds), check.created

    report, created = asyncio.run(wait(300, unreachable, unreachable, missing, unreachable, ready))
    assert (report.ready, created) == (True, 1)
    assert capsys.readouterr().out == "ready        queue\n"
    report, created = asyncio.run(wait(0, unreachable))
    assert (report.ready, created) == (False, 0)


@pytest.mark.parametrize("arguments", [["--check"], ["--identity", "other"]])
def test_invalid_options_are_a_usage_error(memnet: Memnet, arguments: list[str]) -> None:
    assert memnet("bootstrap", *arguments).exit_code == 2


def test_an_unusable_setting_is_named(memnet: Memnet, nothing_yet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMNET_QUEUE_URL", "https://nowhere.test")
    result = memnet("doctor")
    assert result.exit_code == 1
    assert "MEMNET_QUEUE_URL" in result.output
