"""The whole service on this machine with one command: Azurite, the search emulator, the issuer and the API.

`python -m local.stack` runs it in the foreground; `running_stack` is the same for tests and the demo.
"""

import argparse
import asyncio
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from local.azurite_server import ACCOUNT_KEY, Azurite, create_container
from local.child import Child, ReservedPort, StackError, status_of
from local.issuer import AUDIENCE, DIRECTORY
from local.search_server import SearchEmulator

DEFAULT_PORT = 8080
CONTAINER = "memnet"
SECONDS_TO_START = 60
SECONDS_TO_DIE = 2.0
"""What the processes of a stack that was killed may need to notice; until then their ports are taken."""


class Api:
    """One process of the API on a port of its own."""

    def __init__(self, port: ReservedPort, *, environment: Mapping[str, str], log: Path) -> None:
        """`environment` holds the settings; host and port are added."""
        self._port = port
        self.url = f"http://127.0.0.1:{port.number}"
        own = {"MEMNET_HOST": environment.get("MEMNET_HOST", "127.0.0.1"), "MEMNET_PORT": str(port.number)}
        self.child = Child.python("api", "api.main", environment={**environment, **own}, log=log)

    def start(self) -> None:
        """Start it and wait until it reports ready. Raises StackError. Again after `kill` or `stop` is fine."""
        self.child.start()
        self.child.wait_until(lambda: status_of(f"{self.url}/health/ready") == 200, seconds=SECONDS_TO_START)

    def stop(self) -> None:
        """SIGTERM, and wait: requests under way may take their time to end."""
        self.child.stop(seconds=25)

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self.child.kill()

    def close(self) -> None:
        """Stop, and give the port back."""
        self.stop()
        self._port.release()


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
    ) -> None:
        """Describe a stack; nothing runs yet. `running_stack` explains the arguments."""
        self._given_directory = directory
        self._in_memory = in_memory
        self._wanted_port = port
        self._settings = dict(environment or {})
        self._shared = account_url is not None
        self.account_url = account_url or ""
        self.azurite: Azurite | None = None
        self._container = container
        self._through = through or (lambda url: url)
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
        self._start_what_the_api_needs()
        self.storage_url = self._through(create_container(self.account_url, self._container))
        self.environment = {
            "MEMNET_STORAGE_URL": self.storage_url,
            "MEMNET_STORAGE_KEY": ACCOUNT_KEY,
            "MEMNET_SEARCH_URL": self.search.url,
            "MEMNET_SEARCH_KEY": self.search.api_key,
            "MEMNET_ISSUER_URL": self.issuer_url,
            "MEMNET_AUDIENCE": AUDIENCE,
            **self._embeddings(),
        }
        self.api = self._start_api("api", api_port)

    def _start_what_the_api_needs(self) -> None:
        """All at once: each takes its time."""
        if not self._shared:
            data = None if self._in_memory else (self.directory / "azurite").resolve()
            self.azurite = Azurite(log=self._log("azurite"), directory=data)
            self._parts.callback(self.azurite.close)
            self.azurite.launch()
            self._children.append(self.azurite.child)
            self.account_url = self.azurite.account_url
        self.search = SearchEmulator(
            log=self._log("search"), directory=None if self._in_memory else self.directory / "search"
        )
        self._parts.callback(self.search.close)
        self.search.launch()
        self._children.append(self.search.child)
        issuer, ready_url = self._launch_issuer()
        if self.azurite is not None:
            self.azurite.wait_until_ready()
        self.search.wait_until_ready()
        issuer.wait_until(lambda: status_of(ready_url) == 200, seconds=SECONDS_TO_START)

    def _embeddings(self) -> dict[str, str]:
        """What everyone who works on the index must agree on; a key is nobody's to write down."""
        given = {**os.environ, **self._settings}
        return {n: value for n, value in given.items() if n.startswith("MEMNET_EMBEDDINGS") and not n.endswith("_KEY")}

    def _launch_issuer(self) -> tuple[Child, str]:
        directory = self.directory / "issuer"
        port = _remembered_port(directory / "port")
        self._parts.callback(port.release)
        base = f"http://127.0.0.1:{port.number}/{DIRECTORY}"
        self.issuer_url, self.token_url = f"{base}/v2.0", f"{base}/oauth2/v2.0/token"
        arguments = ["--port", str(port.number), "--directory", str(directory.resolve())]
        issuer = Child.python("issuer", "local.issuer", *arguments, environment={}, log=self._log("issuer"))
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

    def start_another_api(self) -> Api:
        """Start one more process of the API on the same storage and issuer; it stops with the stack."""
        return self._start_api(f"api-{len(self._children)}", ReservedPort())

    def stop(self) -> None:
        """Stop everything in the reverse order of its start, and wait. Stopping twice is fine."""
        self._parts.close()
        self._children.clear()

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


def running_stack(
    *,
    directory: Path | None = None,
    in_memory: bool = True,
    port: int = 0,
    environment: Mapping[str, str] | None = None,
    account_url: str | None = None,
    container: str = CONTAINER,
    through: Callable[[str], str] | None = None,
) -> Stack:
    """Return a stack to be used in a `with` or an `async with`, inside which it runs.

    `directory` keeps keys, logs and (unless `in_memory`) data; None: a temporary one, removed afterwards.
    `port` is the API's; 0: a free one. `environment` holds more MEMNET_* settings for the API.
    `account_url` is that of a running Azurite to use instead of an own one; take a fresh `container`.
    `through` turns the container's URL into the one the API gets, such as `FaultProxy.through`.
    """
    return Stack(
        directory=directory,
        in_memory=in_memory,
        port=port,
        environment=environment,
        account_url=account_url,
        container=container,
        through=through,
    )


class _Stop(BaseException):
    """SIGTERM, SIGINT or SIGHUP has arrived."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stack until a signal (exit code 0) or until one of its processes ends (1)."""
    parser = argparse.ArgumentParser(prog="python -m local.stack", description="The memnet service, locally.")
    parser.add_argument("--directory", type=Path, default=Path(".local"), help="data, keys, logs (default .local)")
    directory: Path = parser.parse_args(arguments).directory
    for number in STOP_SIGNALS:
        signal.signal(number, _stop)
    try:
        with _only_one(directory), _foreground(directory, port=_port_from_environment()) as stack:
            stack.wait()
    except StackError as error:
        print(f"memnet: {error}", file=sys.stderr)
        return 1
    except _Stop:
        return 0


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stop


@contextmanager
def _foreground(directory: Path, *, port: int) -> Iterator[Stack]:
    """Run the stack with its data on disk, announced in stack.json and on standard output."""
    stack = Stack(directory=directory, in_memory=False, port=port, environment=_settings_from_environment())
    announcement = directory / "stack.json"
    try:
        stack.start()
        fresh = directory / "stack.json.new"
        fresh.write_text(json.dumps(stack.description(), indent=2) + "\n", "utf-8")
        fresh.replace(announcement)
        print(f"ready {stack.url}", flush=True)
        yield stack
    finally:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        announcement.unlink(missing_ok=True)
        stack.stop()


@contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    """Hold the lock that says a stack runs on this directory. Raises StackError if another holds it."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "stack.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StackError(f"a local stack already runs on {directory}{_whereabouts(directory)}") from error
        (directory / "stack.json").unlink(missing_ok=True)  # a killed stack leaves it
        yield


def _whereabouts(directory: Path) -> str:
    try:
        running = json.loads((directory / "stack.json").read_text("utf-8"))
    except (OSError, ValueError):
        return " and is not ready yet."
    return f": {running['url']}, process {running['pids']['stack']}. Stop it with Ctrl-C or SIGTERM."


def _port_from_environment() -> int:
    text = os.environ.get("MEMNET_PORT") or str(DEFAULT_PORT)
    if not text.isdecimal() or int(text) > 65535:
        raise StackError(f"MEMNET_PORT must be a port number, not {text!r}")
    return int(text)


def _settings_from_environment() -> dict[str, str]:
    """What was set by hand holds, but for what the stack itself decides."""
    return {name: value for name, value in os.environ.items() if name.startswith("MEMNET_")}


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


if __name__ == "__main__":
    sys.exit(main())
