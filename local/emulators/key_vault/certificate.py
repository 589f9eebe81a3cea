"""The vault's certificate, from an authority that signs this one and is forgotten."""

import os
from pathlib import Path
from typing import Final

import trustme

AUTHORITY: Final = "ca.pem"
SERVER: Final = "server.pem"


def ensure_certificate(directory: Path) -> Path:
    """Make the server's key and certificate for localhost and 127.0.0.1 unless they are there; return their file.

    Clients trust `ca.pem` in the same directory. Both outlive the process, so that a client may keep what it has read.
    """
    authority, server = directory / AUTHORITY, directory / SERVER
    if not (authority.exists() and server.exists()):
        issuer = trustme.CA(organization_name="memnet local key vault")
        issued = issuer.issue_cert("localhost", "127.0.0.1")
        # The authority's certificate last: as long as it is missing, both are created again.
        authority.unlink(missing_ok=True)
        write_private(server, issued.private_key_and_cert_chain_pem.bytes())
        write_private(authority, issuer.cert_pem.bytes())
    return server


def write_private(file: Path, content: bytes) -> None:
    """Replace the file in one step; only its owner may read it."""
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(content)
    fresh.replace(file)
