"""`memnet doctor` and `bootstrap` on the local emulators; tests/contracts tests each prerequisite."""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest

from cli import bootstrap as command
from local.stack.azurite_server import ACCOUNT_KEY, container_client
from local.stack.key_vault_server import KeyVault
from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from memnet.domain.core.prerequisite import BootstrapReport, Finding, PrerequisiteStatus
from tests.cli.conftest import Memnet
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


def test_bootstrap_creates_what_doctor_reports_missing(memnet: Memnet, nothing_yet: str) -> None:
    container, index = f"storage: container {nothing_yet}", "search: index of events"
    checked = memnet("doctor")
    assert checked.exit_code == 1
    lines = checked.stdout.splitlines()
    assert f"missing      {container}" in lines
    assert "unknown      storage: reading and writing: the container has to be there first" in lines
    assert [line for line in lines if line.startswith("to create")] == [f"to create    {container}"]

    applied = memnet("bootstrap", "--identity", "api")
    assert applied.exit_code == 0, applied.output
    lines = applied.stdout.splitlines()
    assert lines.index(f"to create    {container}") < lines.index(f"created      {container}")
    assert f"created      {index}" in lines
    assert lines[-1] == "ok: everything is ready"
    ready = {line.split(None, 1)[1].partition(": ")[0] for line in lines if line.startswith("ready")}
    assert ready == {"storage", "search", "queue", "vault", "catalog"}


def test_findings_are_printed_with_those_to_act_on_last(capsys: pytest.CaptureFixture[str]) -> None:
    findings = (
        Finding("queue: a", PrerequisiteStatus.MISSING),
        Finding("queue: b", PrerequisiteStatus.WRONG, detail="deploy a queue with sessions"),
        Finding("container", PrerequisiteStatus.MISSING, creatable=True),
    )
    command._show(BootstrapReport(findings))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "wrong        queue: b: deploy a queue with sessions",
        "missing      container",
        "to create    container",
        "by hand      queue: a: missing",
        "by hand      queue: b: deploy a queue with sessions",
    ]


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
