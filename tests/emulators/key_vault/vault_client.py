"""The unchanged SDK's clients for a vault, and a way to ask it without them."""

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials import AccessToken
from azure.keyvault.secrets import SecretClient

from local.stack.key_vault_server import KeyVault

FAR = 2**33
"""Seconds since 1970 that no test lives to see."""
NEWEST_API = "2026-04-01"


class FixedCredential:
    """A token for the client."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        return AccessToken(self._token, FAR)


def client_of(vault: KeyVault, token: str | None = None, **options: Any) -> SecretClient:
    own = {"verify_challenge_resource": False, "connection_verify": str(vault.ca_file), "retry_total": 0}
    return SecretClient(vault.url, FixedCredential(token or vault.token), **own, **options)


def ask(
    vault: KeyVault, method: str, path: str, body: object = None, *, token: str | None = None, version: str = NEWEST_API
) -> tuple[int, dict[str, str], Any]:
    """Send a request as it is; return status, headers in lower case, and the body's JSON."""
    parts = urlsplit(vault.url)
    context = ssl.create_default_context(cafile=vault.ca_file)
    connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=30, context=context)
    content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    query = f"?api-version={version}" if version else ""
    connection.request(method, path + query, content, {} if token is None else {"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, json.loads(text or b"null")
