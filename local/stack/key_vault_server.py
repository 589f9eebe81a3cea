"""The key vault emulator as a process: Azure Key Vault on 127.0.0.1 over TLS, from `local.emulators.key_vault`."""

import ssl
from http.client import HTTPException, HTTPSConnection
from pathlib import Path

from local.emulators.key_vault import TOKEN
from local.stack.emulator import Emulator
from local.stack.process import Child, ReservedPort

SECONDS_TO_START = 60


class KeyVault(Emulator):
    """A running key vault; as a context manager it stops at the end."""

    token = TOKEN

    def __init__(self, *, log: Path, directory: Path) -> None:
        """Keep the secrets and the certificates in `directory`; a secret is on disk before it is answered."""
        port = ReservedPort()
        self.url = f"https://127.0.0.1:{port.number}"
        self.ca_file = directory.resolve() / "ca.pem"
        self.environment = {
            "MEMNET_VAULT_URL": self.url,
            "MEMNET_VAULT_TOKEN": TOKEN,
            "MEMNET_VAULT_CA": str(self.ca_file),
        }
        arguments = ["--port", str(port.number), "--directory", str(directory.resolve()), "--token", TOKEN]
        super().__init__(
            Child.python("key-vault", "local.emulators.key_vault", *arguments, environment={}, log=log), port
        )

    def wait_until_ready(self) -> None:
        """Wait until it answers. Raises StackError."""
        self.child.wait_until(self._answers, seconds=SECONDS_TO_START)

    def _answers(self) -> bool:
        """Ask with the certificate that clients will go by."""
        if not self.ca_file.exists():
            return False
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.ca_file)
        connection = HTTPSConnection("127.0.0.1", self._port.number, timeout=5, context=context)
        try:
            connection.request("GET", "/_emulator/health")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()
