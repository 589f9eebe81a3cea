"""How this service proves to Azure Storage who it is: Entra ID, or the account key for the local emulator."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

from azure.core.credentials_async import AsyncTokenCredential
from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider

STORAGE_SCOPE = "https://storage.azure.com/.default"

Authorize = Callable[[str, str, Mapping[str, str]], Awaitable[str]]
"""Makes the Authorization header of a request of its method, its URL and its other headers."""


@asynccontextmanager
async def storage_authorization(container_url: str, account_key: str | None) -> AsyncIterator[Authorize]:
    """Authorize by the account's key (base64, as Azure shows it), or, without one, by an Entra identity.

    DefaultAzureCredential finds a managed or workload identity in Azure and `az login` on a developer's machine. Raises
    ValueError for a key that is not base64, and for an Entra identity over plain http, which would send its tokens in
    clear.
    """
    if account_key is not None:
        yield SharedKey(account_name(container_url), base64.b64decode(account_key)).authorize
        return
    if urlsplit(container_url).scheme != "https":
        raise ValueError("an Entra identity needs HTTPS")
    async with DefaultAzureCredential() as credential:
        yield entra_authorization(credential)


def entra_authorization(credential: AsyncTokenCredential) -> Authorize:
    """Authorize by tokens for storage. azure-identity keeps a token, and one task renews it before it expires."""
    token = get_bearer_token_provider(credential, STORAGE_SCOPE)

    async def authorize(method: str, url: str, headers: Mapping[str, str]) -> str:
        return f"Bearer {await token()}"

    return authorize


def account_name(container_url: str) -> str:
    """Return the account: the first label of the host, or the first of two path segments (emulators)."""
    parts = urlsplit(container_url)
    segments = parts.path.strip("/").split("/")
    return segments[0] if len(segments) > 1 else (parts.hostname or "").partition(".")[0]


class SharedKey:
    """Signs requests by "Authorize with Shared Key" of the Blob service's REST reference."""

    _SIGNED_HEADERS = (
        "content-encoding",
        "content-language",
        "content-length",
        "content-md5",
        "content-type",
        "date",
        "if-modified-since",
        "if-match",
        "if-none-match",
        "if-unmodified-since",
        "range",
    )

    def __init__(self, account: str, key: bytes) -> None:
        self._account = account
        self._key = key

    async def authorize(self, method: str, url: str, headers: Mapping[str, str]) -> str:
        """Return the Authorization header."""
        signed = {name.lower(): value for name, value in headers.items()}
        if signed.get("content-length") == "0":
            del signed["content-length"]
        standard = "\n".join(signed.get(name, "") for name in self._SIGNED_HEADERS)
        own = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed) if name.startswith("x-ms-"))
        parts = urlsplit(url)
        query = "".join(f"\n{name.lower()}:{value}" for name, value in sorted(parse_qsl(parts.query)))
        text = f"{method}\n{standard}\n{own}/{self._account}{parts.path}{query}"
        signature = base64.b64encode(hmac.digest(self._key, text.encode(), hashlib.sha256)).decode()
        return f"SharedKey {self._account}:{signature}"
