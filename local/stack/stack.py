"""The whole service on this machine: emulators of its Azure services, the API and the workers.

`local.stack.dev` runs it in the foreground; `running_stack` is the same for tests and the demo.
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from local.emulators.issuer import AUDIENCE, DIRECTORY
from local.stack.api_process import Api
from local.stack.azurite_server import ACCOUNT_KEY, Azurite, create_container
from local.stack.emulator import Emulator
from local.stack.key_vault_server import KeyVault
from local.stack.process import Child, ReservedPort, StackError, status_of
from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from local.stack.worker_host import WorkerHost

CONTAINER = "memnet"
NO_UPKEEP = {f"AzureWebJobs.{name}.Disabled": "1" for name in ("apply_due", "mark_all_users")}
"""Settings for workers that are to leave the documents alone whatever the time of day."""
SETTLE_SECONDS = "3"
"""How long an erasure waits for what was begun before it. Azurite does not check how old a request is, so the quarter
of an hour that bounds it in Azure would bound nothing here; between processes of one machine nothing is on its way for
longer than a moment."""
SECONDS_TO_START = 60
SECONDS_TO_DIE = 2.0
"""What the processes of a stack that was killed may need to notice; until then their ports are taken."""


class Stack:
    """The parts of a local stack. Sync and async context manager: started at the beginning, stopped at the end."""

    def __init__(
        self,
        *,
        directory: Path | None = None,
        in_memory: bool = True,
        port: int = 0,
        environment: Mapping[str, str] | None = None,
        account_url: str | None = None,
        container: str = CONTAINER,
        through: Callable[[str], str] | None = None,
        workers: int = 1,
        storage_log: bool = False,
    ) -> None:
        """Describe a stack; nothing runs yet.

        `directory` keeps keys, logs and (unless `in_memory`) data; None: a temporary one, removed afterwards.
        `port` is the API's; 0: a free one. `environment` holds more MEMNET_* settings for the API.
        `account_url` is that of a running Azurite to use instead of an own one; take a fresh `container`.
        `through` turns the container's URL into the one the service gets, such as `FaultProxy.through`.
        `workers` is how many worker processes run; each takes several users at a time.
        `storage_log` makes the stack's own Azurite write a line for each request to log/azurite.log.
        """
        self._given_directory = directory
        self._in_memory = in_memory
        self._wanted_port = port
        self._settings = dict(environment or {})
        self._shared = account_url is not None
        self.account_url = account_url or ""
        self.azurite: Azurite | None = None
        self._container = container
        self._through = through or (lambda url: url)
        self._wanted_workers = workers
        self._storage_log = storage_log
        self.workers: list[WorkerHost] = []
        self._parts = ExitStack()
        self._children: list[Child] = []

    @property
    def url(self) -> str:
        """Where the (first) API listens."""
        return self.api.url

    def start(self) -> None:
        """Start everything and wait until it is ready. Raises StackError, with nothing left running."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        api_port = ReservedPort(self._wanted_port, patience=SECONDS_TO_DIE)
        self._parts.callback(api_port.release)
        self.directory = self._given_directory or Path(tempfile.mkdtemp(prefix="memnet-"))
        if self._given_directory is None:
            self._parts.callback(shutil.rmtree, self.directory, ignore_errors=True)
        shutil.rmtree(self.directory / "log", ignore_errors=True)
        self._start_what_the_service_needs()
        self.storage_url = self._through(create_container(self.account_url, self._container))
        self.environment = {
            "MEMNET_STORAGE_URL": self.storage_url,
            "MEMNET_STORAGE_KEY": ACCOUNT_KEY,
            **self.search.environment,
            **self.bus.environment,
            **self.vault.environment,
            "MEMNET_ISSUER_URL": self.issuer_url,
            "MEMNET_AUDIENCE": AUDIENCE,
            **self._embeddings(),
            **self._settle(),
        }
        starting = [self._launch_worker(f"worker-{number + 1}") for number in range(self._wanted_workers)]
        self.api = self._start_api("api", api_port)
        for worker in starting:
            worker.wait_until_ready()

    def _start_what_the_service_needs(self) -> None:
        """All at once: each takes its time."""
        if not self._shared:
            self.azurite = Azurite(
                log=self._log("azurite"), directory=self._data("azurite"), access_log=self._storage_log
            )
            self._launch(self.azurite)
            self.account_url = self.azurite.account_url
        self.search = SearchEmulator(log=self._log("search"), directory=self._data("search"))
        self.bus = ServiceBus(log=self._log("service-bus"), directory=self._data("service-bus"))
        # Its certificate has to lie somewhere in any case.
        self.vault = KeyVault(log=self._log("key-vault"), directory=self.directory / "key-vault")
        started: list[Emulator] = [self.search, self.bus, self.vault]
        for emulator in started:
            self._launch(emulator)
        issuer, ready_url = self._launch_issuer()
        for emulator in [*started, *([self.azurite] if self.azurite else [])]:
            emulator.wait_until_ready()
        issuer.wait_until(lambda: status_of(ready_url) == 200, seconds=SECONDS_TO_START)

    def _launch(self, emulator: Emulator) -> None:
        self._parts.callback(emulator.close)
        emulator.launch()
        self._children.append(emulator.child)

    def _data(self, name: str) -> Path | None:
        """Where a part keeps its data; None: in memory."""
        return None if self._in_memory else (self.directory / name).resolve()

    def _embeddings(self) -> dict[str, str]:
        """The settings that every process of the index must share; a key is never written to disk."""
        given = {**os.environ, **self._settings}
        return {n: value for n, value in given.items() if n.startswith("MEMNET_EMBEDDINGS") and not n.endswith("_KEY")}

    def _settle(self) -> dict[str, str]:
        """What every process that works on an erasure must agree on, those of the command line included."""
        name = "MEMNET_ERASURE_QUIESCENCE_SECONDS"
        return {name: {**os.environ, **self._settings}.get(name) or SETTLE_SECONDS}

    def _launch_issuer(self) -> tuple[Child, str]:
        directory = self.directory / "issuer"
        port = _remembered_port(directory / "port")
        self._parts.callback(port.release)
        base = f"http://127.0.0.1:{port.number}/{DIRECTORY}"
        self.issuer_url, self.token_url = f"{base}/v2.0", f"{base}/oauth2/v2.0/token"
        arguments = ["--port", str(port.number), "--directory", str(directory.resolve())]
        issuer = Child.python("issuer", "local.emulators.issuer", *arguments, environment={}, log=self._log("issuer"))
        self._parts.callback(issuer.stop)
        issuer.start()
        self._children.append(issuer)
        return issuer, f"{self.issuer_url}/.well-known/openid-configuration"

    def _start_api(self, name: str, port: ReservedPort) -> Api:
        api = Api(port, environment={**self._settings, **self.environment}, log=self._log(name))
        self._parts.callback(api.close)
        self._children.append(api.child)
        api.start()
        return api

    def _launch_worker(self, name: str) -> WorkerHost:
        environment = {
            **self._settings,
            **self.environment,
            "MEMNET_SERVICE_BUS": self.bus.connection_string,
        }
        worker = WorkerHost(name, environment=environment, log=self._log(name))
        self._parts.callback(worker.close)
        self._children.append(worker.child)
        worker.launch()
        self.workers.append(worker)
        return worker

    def start_another_api(self) -> Api:
        """Start one more process of the API on the same storage and issuer; it stops with the stack."""
        return self._start_api(f"api-{len(self._children)}", ReservedPort())

    def stop(self) -> None:
        """Stop everything in the reverse order of its start, and wait. Stopping twice is fine."""
        self._parts.close()
        self._children.clear()
        self.workers.clear()

    def wait(self) -> NoReturn:
        """Return never: raise StackError as soon as one of the processes has ended."""
        while True:
            for child in self._children:
                if (code := child.ended()) is not None:
                    raise StackError(f"{child.name} ended with exit code {code}.\n{child.last_lines()}")
            time.sleep(0.1)

    def token(self, *, tenants: str | Sequence[str], principal: str, roles: Sequence[str], lifetime: int = 3600) -> str:
        """Ask the issuer for a token. Raises urllib.error.HTTPError."""
        form = {
            "grant_type": "client_credentials",
            "scope": f"{AUDIENCE}/.default",
            "client_id": principal,
            "tenant": [tenants] if isinstance(tenants, str) else list(tenants),
            "roles": ",".join(roles),
            "lifetime": lifetime,
        }
        body = urlencode(form, doseq=True).encode("ascii")
        with build_opener(ProxyHandler({})).open(self.token_url, body, timeout=10) as answer:
            return str(json.load(answer)["access_token"])

    def description(self) -> dict[str, Any]:
        """Return what others need to find and use the stack, as stack.json holds it."""
        return {
            "url": self.url,
            "issuer_url": self.issuer_url,
            "token_url": self.token_url,
            "audience": AUDIENCE,
            "storage_url": self.storage_url,
            "environment": self.environment,
            "pids": {"stack": os.getpid(), **{child.name: child.pid for child in self._children}},
        }

    def _log(self, name: str) -> Path:
        return self.directory / "log" / f"{name}.log"

    def __enter__(self) -> "Stack":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> "Stack":
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)


running_stack = Stack
"""By this name tests, the demo and the benchmarks use a stack in a `with` or an `async with`, inside which it runs."""


def _remembered_port(file: Path) -> ReservedPort:
    """Reserve the port noted in `file`, else a free one, and note it.

    The issuer's address is part of every token: on another port the tokens given out before are void.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    noted = file.read_text("ascii") if file.exists() else ""
    try:
        port = ReservedPort(int(noted) if noted.isdecimal() else 0, patience=SECONDS_TO_DIE)
    except StackError as error:
        print(f"memnet: the issuer moves, so earlier tokens are void: {error}", file=sys.stderr)
        port = ReservedPort()
    file.write_text(str(port.number), "ascii")
    return port
