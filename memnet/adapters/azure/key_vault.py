"""Secrets in Azure Key Vault, and the connection to it that all keys share."""

import asyncio
import base64
import logging
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.core.pipeline.transport import AioHttpTransport
from azure.identity.aio import DefaultAzureCredential
from azure.keyvault.secrets import KeyVaultSecret, SecretProperties
from azure.keyvault.secrets.aio import SecretClient

from memnet.domain.core.errors import DecryptionFailed, VaultUnavailable

OPERATION_TRIES = 2
"""An operation may take as long as this many tries that hang; its quick failures are retried more often."""
FAR_SECONDS = 2**33
"""Seconds since 1970 at which a fixed token ends: never."""
UNREADABLE = (ValueError, TypeError, AttributeError)
"""The exceptions for an unreadable response, and for a challenge for another service."""

_VERSION = re.compile(r"[0-9a-fA-F]{32}")
_TOKEN = re.compile(r"[\x21-\x7e]+")

_log = logging.getLogger("memnet.vault")


def key_of(found: KeyVaultSecret, size: int) -> tuple[str, bytes]:
    """Return the version and the bytes of a base64 key. Raises DecryptionFailed if it is not a key of this size."""
    version = found.properties.version
    try:
        secret = base64.b64decode(found.value or "", validate=True)
    except (ValueError, TypeError):
        raise DecryptionFailed() from None
    if version is None or not is_version(version) or len(secret) != size:
        raise DecryptionFailed()
    return version, secret


def is_version(text: str | None) -> bool:
    """Return whether this can be the version of a secret; in a URL, other text could have another meaning."""
    return text is not None and _VERSION.fullmatch(text) is not None


class KeyVaultSecrets:
    """The secrets of one vault. Callers make every call within `bounded`."""

    def __init__(self, client: SecretClient, timeout_seconds: float) -> None:
        """Use `open_vault`."""
        self._client = client
        self._timeout = timeout_seconds

    async def get(self, name: str, version: str | None = None) -> KeyVaultSecret | None:
        """Return one version, or the newest; None if there is none."""
        try:
            return await self._client.get_secret(name, version)
        except ResourceNotFoundError as error:
            _check_absent(error)
            return None

    async def set(self, name: str, value: str, tags: dict[str, str]) -> KeyVaultSecret:
        """Create a version."""
        return await self._client.set_secret(name, value, tags=tags)

    async def update_nothing(self, name: str, version: str) -> None:
        """Update no property of a version, which requires the right to write; it may be missing."""
        try:
            await self._client.update_secret_properties(name, version)
        except ResourceNotFoundError as error:
            _check_absent(error)

    async def versions(self, name: str) -> Sequence[SecretProperties]:
        """List the versions without their values, in any order; empty if the secret does not exist."""
        try:
            return [found async for found in self._client.list_properties_of_secret_versions(name)]
        except ResourceNotFoundError as error:
            _check_absent(error)
            return ()

    @asynccontextmanager
    async def bounded(self) -> AsyncIterator[None]:
        """Bound the time of the calls in the context. Raises VaultUnavailable for every failure in it."""
        try:
            async with asyncio.timeout(self._timeout * OPERATION_TRIES):
                yield
        except (AzureError, TimeoutError, *UNREADABLE) as error:
            response = getattr(error, "response", None)
            status = getattr(response, "status_code", None)
            request_id = response.headers.get("x-ms-request-id") if response is not None else None
            _log.warning("vault: %s status=%s request=%s", type(error).__name__, status, request_id)
            # Without the cause: it may quote a response, and so a key.
            raise VaultUnavailable() from None


def _check_absent(error: ResourceNotFoundError) -> None:
    """Raise the error unless the vault says that there is no such secret: something else may answer at its address."""
    if getattr(error.error, "code", None) != "SecretNotFound":
        raise error


class FixedToken:
    """A credential with a fixed token, for the local vault."""

    def __init__(self, token: str) -> None:
        """`token` is sent unchanged in the Authorization header."""
        self._token = token

    async def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        """Return the token."""
        return AccessToken(self._token, FAR_SECONDS)

    async def close(self) -> None:
        """Nothing is open."""

    async def __aenter__(self) -> "FixedToken":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


@asynccontextmanager
async def open_vault(
    url: str,
    *,
    token: str | None,
    ca: Path | None,
    timeout_seconds: float,
    backoff_seconds: float = 0.2,
) -> AsyncIterator[KeyVaultSecrets]:
    """Connect to the vault at `url` with an Entra identity or, for the local vault, with `token` and its issuer `ca`.

    `timeout_seconds` bounds one try. Nothing is sent before the first call. Raises ValueError: the URL is not an https
    URL of a vault, or the token or the certificate is unusable; the text quotes neither.
    """
    context = _check(url, token, ca)
    async with AsyncExitStack() as stack:
        credential = FixedToken(token) if token is not None else DefaultAzureCredential()
        await stack.enter_async_context(credential)
        # A session of our own: the transport would read the certificate again for every request.
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=context or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
        await stack.enter_async_context(session)
        transport = AioHttpTransport(
            session=session,
            session_owner=False,
            use_env_settings=False,
            connection_timeout=timeout_seconds,
            read_timeout=timeout_seconds,
        )
        client = SecretClient(
            url,
            credential,
            transport=transport,
            # Azure's vaults send their own domain in the challenge, and no other may have an Entra token.
            verify_challenge_resource=token is None,
            retry_total=3,
            retry_backoff_factor=backoff_seconds,
            retry_backoff_max=2,
        )
        await stack.enter_async_context(client)
        yield KeyVaultSecrets(client, timeout_seconds)


def _check(url: str, token: str | None, ca: Path | None) -> ssl.SSLContext | None:
    """Check the arguments of `open_vault`; return the context that trusts `ca`, None to trust the system's issuers."""
    if not _is_vault(url):
        raise ValueError("must be the https URL of a key vault, without a path")
    if token is None:
        if ca is not None:
            raise ValueError("a certificate is for the local vault only, which takes a token")
        return None
    if not _TOKEN.fullmatch(token):
        raise ValueError("the token must be printable ASCII without blanks")
    if ca is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(ca)
    except OSError as error:  # ssl.SSLError is one
        raise ValueError("the certificate cannot be read as PEM") from error
    return context


def _is_vault(url: str) -> bool:
    try:
        parts = urlsplit(url)
        authority = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False
    return parts.scheme == "https" and authority and url.lower().rstrip("/") == f"https://{parts.netloc.lower()}"
