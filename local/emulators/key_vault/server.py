"""The vault as a program: one port of 127.0.0.1, one directory."""

import argparse
import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from local.emulators.key_vault import TOKEN
from local.emulators.key_vault.app import create_app
from local.emulators.key_vault.certificate import ensure_certificate
from local.emulators.key_vault.store import SecretStore
from local.emulators.serving import serve


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the vault until SIGTERM or SIGINT."""
    options = _options(arguments)
    directory: Path = options.directory
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    with contextlib.closing(SecretStore(directory / "secrets.sqlite", time.time)) as store:
        app = create_app(store, options.token)
        serve(app, port=options.port, name="key vault", certificate=ensure_certificate(directory))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m local.emulators.key_vault", description="An emulator of Azure Key Vault for secrets."
    )
    parser.add_argument("--port", type=int, required=True, help="0 picks a free one")
    parser.add_argument("--directory", type=Path, required=True, help="where secrets and certificates are kept")
    parser.add_argument("--token", default=TOKEN, help="the bearer token to ask for (default: %(default)s)")
    return parser.parse_args(arguments)
