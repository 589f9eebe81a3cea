"""Fixtures that several kinds of test share: one Azurite for the whole run, and a token issuer."""

import importlib
import json
import logging
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from local.emulators.issuer import Issuer, running_issuer
from local.stack.azurite_server import ACCOUNT_KEY, ACCOUNT_NAME, Azurite, create_container, drop_container
from local.stack.key_vault_server import KeyVault
from local.stack.process import Child, popen
from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from tests.fork_server import Forks

# An example may take its time: a machine is slow at any moment.
settings.register_profile("memnet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", parent=settings.get_profile("memnet"), max_examples=20)
settings.load_profile("memnet")


@dataclass(frozen=True)
class AzuriteAccount:
    """The account of an Azurite that runs for the whole test run, its data in memory."""

    account_url: str
    account_name: str = ACCOUNT_NAME
    account_key: str = ACCOUNT_KEY

    @property
    def service_url(self) -> str:
        """The address without the account, where a proxy points."""
        return self.account_url.removesuffix(f"/{self.account_name}")


class AzuriteOnDemand:
    """Belongs to the process that owns the run, and starts Azurite when the first test asks for it.

    pytest-xdist's workers ask over a socket, so that all share one and it outlives each of them.
    """

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="memnet-tests-")
        self._lock = threading.Lock()
        self._azurite: Azurite | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._answer, name="azurite-on-demand", daemon=True)
        self._thread.start()

    def account_url(self) -> str:
        with self._lock:
            if self._azurite is None:
                azurite = Azurite(log=Path(self._directory.name) / "azurite.log")
                azurite.__enter__()
                self._azurite = azurite
            return self._azurite.account_url

    def _answer(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                if connection.recv(8) == b"":  # close() asks for nothing
                    return
                try:
                    answer = {"account_url": self.account_url()}
                except Exception as error:
                    answer = {"error": str(error)}
                connection.sendall(json.dumps(answer).encode())

    def close(self) -> None:
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listener.close()
        if self._azurite is not None:
            self._azurite.close()
        self._directory.cleanup()


def ask_for_azurite(port: int) -> str:
    """Ask the owner of the run for the account's URL."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"azurite?")
        answer: dict[str, str] = json.loads(b"".join(iter(lambda: connection.recv(4096), b"")))
    if "error" in answer:
        pytest.fail(answer["error"], pytrace=False)
    return answer["account_url"]


HERE = Path(__file__).parent
WAITING = ("e2e", "local", "emulators", "containers")
"""The folders whose tests mostly wait for other processes."""
CONSOLE = "tests/e2e/test_console"
SUMMARY = "summary"
ON_DEMAND = pytest.StashKey[AzuriteOnDemand]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.stash[ON_DEMAND] = AzuriteOnDemand()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import the test files, beginning with a share of them that is this worker's own.

    Every worker imports all of them. The first one to import a file rewrites its assertions and saves the result.
    In the same order, all workers would rewrite the same file at the same time.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    files = sorted({file for argument in session.config.args for file in _test_files(argument)})
    share, shares = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for turn in range(shares):
        for file in files[(share + turn) % shares :: shares]:
            # The collection imports it again and reports what is wrong with it.
            with suppress(Exception, pytest.skip.Exception):
                importlib.import_module(".".join(file.relative_to(HERE.parent).with_suffix("").parts))


def _test_files(argument: str) -> list[Path]:
    """The test files of packages in a path that pytest was given."""
    path = Path(argument.partition("::")[0]).resolve()
    files = path.rglob("test_*.py") if path.is_dir() else [path]
    return [file for file in files if file.is_relative_to(HERE) and (file.parent / "__init__.py").exists()]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that wait for other processes, so that the short ones fill the end of the run."""
    items.sort(key=lambda item: item.path.relative_to(HERE).parts[0] not in WAITING)


class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Run the tests of a file in one worker, so that its service starts once; the console's files share a stack."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return CONSOLE if file.startswith(CONSOLE) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling:
    return FileScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """`-n auto`: two workers more than processors, as many tests wait for other processes; `-n logical`: as many."""
    processors = len(os.sched_getaffinity(0))
    return processors if config.option.numprocesses == "logical" else processors + 2


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["azurite_port"] = node.config.stash[ON_DEMAND].port


def pytest_unconfigure(config: pytest.Config) -> None:
    with suppress(KeyError):
        config.stash[ON_DEMAND].close()


@pytest.fixture
def record_summary(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Take a line that is printed at the end of the run: a measurement that says more than that its floor held."""
    return lambda line: record_property(SUMMARY, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    lines = {value for report in reports for name, value in report.user_properties if name == SUMMARY}
    if lines:
        terminalreporter.section("measured")
    for line in sorted(lines):
        terminalreporter.line(line)


@pytest.fixture(scope="session", autouse=True)
def _forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The API and the workers are forked from a process that has them loaded, once a test starts one."""
    forks = Forks(popen, tmp_path_factory.mktemp("forks"))
    Child.launch = staticmethod(forks)
    yield
    Child.launch = staticmethod(popen)
    forks.close()


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """Afterwards logging is what it was: a process of the service sets it permanently."""
    names = (None, "memnet", "uvicorn", "azure.servicebus")
    levels = {name: logging.getLogger(name).level for name in names}
    factory = logging.getLogRecordFactory()
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    yield
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    logging.captureWarnings(False)
    logging.raiseExceptions = True
    logging.setLogRecordFactory(factory)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture(scope="session")
def azurite(pytestconfig: pytest.Config) -> AzuriteAccount:
    """The run's Azurite. Tests share it: use a container of your own, which `container_url` gives."""
    workerinput = getattr(pytestconfig, "workerinput", None)
    if workerinput is None:
        return AzuriteAccount(pytestconfig.stash[ON_DEMAND].account_url())
    return AzuriteAccount(ask_for_azurite(workerinput["azurite_port"]))


@pytest.fixture
def container_url(azurite: AzuriteAccount) -> Iterator[str]:
    """The URL of a fresh, empty container that goes away with the test."""
    name = f"test-{uuid4().hex}"
    yield create_container(azurite.account_url, name)
    drop_container(azurite.account_url, name)


@pytest.fixture(scope="session")
def issuer() -> Iterator[Issuer]:
    """A token issuer on a free port: `issuer.url` is its `iss`, `issuer.mint(…)` makes a token."""
    with running_issuer() as running:
        yield running


@pytest.fixture(scope="session")
def search_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchEmulator]:
    """A search emulator with its data in memory. Tests share it: give your indexes a prefix of their own."""
    with SearchEmulator(log=tmp_path_factory.mktemp("search") / "search.log") as running:
        yield running


@pytest.fixture(scope="session")
def key_vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyVault]:
    """A key vault. Tests share it: give your secrets, or your tenants, names of their own."""
    directory = tmp_path_factory.mktemp("key-vault")
    with KeyVault(log=directory / "key-vault.log", directory=directory / "data") as running:
        yield running


@pytest.fixture(scope="session")
def service_bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceBus]:
    """A broker with its messages in memory. Tests share it: send for tenants of your own."""
    with ServiceBus(log=tmp_path_factory.mktemp("service-bus") / "service-bus.log") as running:
        yield running
