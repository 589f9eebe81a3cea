"""The TenantKeys port on Azure Key Vault: a tenant's key is a secret there, a version of it a version of the secret.

Two processes that use a tenant for the first time may each make a version. Both stay readable, so nothing is lost by
it. A secret that was deleted in the vault is not made again: its name stays taken until it is recovered or purged.
"""

import asyncio
import base64
import logging
import re
import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.core.pipeline.transport import AioHttpTransport
from azure.identity.aio import DefaultAzureCredential
from azure.keyvault.secrets import KeyVaultSecret
from azure.keyvault.secrets.aio import SecretClient

from memnet.domain.errors import SealBroken, VaultUnavailable
from memnet.domain.sealing import KEY_BYTES
from memnet.ports import Clock, IdGenerator, TenantKey

FRESH = timedelta(minutes=5)
"""How long a process goes by the newest version it knows."""
MAX_TENANTS = 1_024
MAX_VERSIONS = 4_096
OPERATION_TRIES = 2
"""An operation may take as long as this many tries that hang; its quick failures are retried more often."""
PING = "memnet-ping"
"""A secret that need not exist: to be told so takes the right that reading keys takes."""
FAR_SECONDS = 2**33
"""Seconds since 1970 at which a fixed token ends: never."""
UNREADABLE = (ValueError, TypeError, AttributeError)
"""What comes of an answer that is none, and of a challenge for another service."""

_VERSION = re.compile(r"[0-9a-fA-F]{32}")
_TOKEN = re.compile(r"[\x21-\x7e]+")

_log = logging.getLogger("memnet.vault")

K = TypeVar("K")
V = TypeVar("V")


def secret_name(tenant_id: str) -> str:
    """Name a tenant's secret: Key Vault takes letters, digits and dashes only, and does not tell case apart."""
    return f"memnet-tenant-{sha256(tenant_id.encode()).hexdigest()[:40]}"


class KeyVaultTenantKeys:
    """The TenantKeys port; the newest version is remembered for FRESH, a version for good. Errors as the port says.

    Beyond the port a secret in the vault that is no key of memnet's making raises SealBroken.
    """

    def __init__(self, client: SecretClient, timeout_seconds: float, clock: Clock, ids: IdGenerator) -> None:
        """Use `open_tenant_keys`."""
        self._client = client
        self._timeout = timeout_seconds
        self._clock = clock
        self._ids = ids
        self._making = asyncio.Lock()
        self._newest: OrderedDict[str, tuple[TenantKey, datetime]] = OrderedDict()
        self._versions: OrderedDict[tuple[str, str], TenantKey] = OrderedDict()

    async def newest(self, tenant_id: str) -> TenantKey:
        """Return the newest version; the first call makes one. Raises VaultUnavailable, SealBroken."""
        asked = self._clock.now()
        held = self._newest.get(tenant_id)
        if held is not None and asked - held[1] < FRESH:
            return held[0]
        async with self._bounded():
            found = await self._get(secret_name(tenant_id))
            if found is None:
                # One at a time, so that this process makes one version.
                async with self._making:
                    found = await self._get(secret_name(tenant_id)) or await self._make(tenant_id)
        return self._remember_newest(tenant_id, found, asked)

    async def version(self, tenant_id: str, version: str) -> TenantKey:
        """Return one version. Raises SealBroken if there is none, VaultUnavailable."""
        held = self._versions.get((tenant_id, version))
        if held is not None:
            return held
        # It comes from a stored record; as a part of a URL it could mean something else.
        if not _VERSION.fullmatch(version):
            raise SealBroken()
        async with self._bounded():
            found = await self._get(secret_name(tenant_id), version)
        if found is None:
            raise SealBroken()
        return self._remember(tenant_id, found)

    async def rotate(self, tenant_id: str) -> TenantKey:
        """Make a new version and return it. Raises VaultUnavailable, after which there may be one all the same."""
        asked = self._clock.now()
        async with self._bounded():
            made = await self._make(tenant_id)
        return self._remember_newest(tenant_id, made, asked)

    async def ping(self) -> None:
        """Ask for a secret that may be missing. Raises VaultUnavailable."""
        async with self._bounded():
            await self._get(PING)

    async def _get(self, name: str, version: str | None = None) -> KeyVaultSecret | None:
        try:
            return await self._client.get_secret(name, version)
        except ResourceNotFoundError as error:
            if getattr(error.error, "code", None) == "SecretNotFound":
                return None
            raise  # something else answers at this address

    async def _make(self, tenant_id: str) -> KeyVaultSecret:
        value = base64.b64encode(self._ids.secret(KEY_BYTES)).decode("ascii")
        return await self._client.set_secret(secret_name(tenant_id), value, tags={"tenant": tenant_id})

    def _remember_newest(self, tenant_id: str, found: KeyVaultSecret, asked: datetime) -> TenantKey:
        key = self._remember(tenant_id, found)
        _keep(self._newest, tenant_id, (key, asked), MAX_TENANTS)
        return key

    def _remember(self, tenant_id: str, found: KeyVaultSecret) -> TenantKey:
        key = _tenant_key(found)
        _keep(self._versions, (tenant_id, key.version), key, MAX_VERSIONS)
        return key

    @asynccontextmanager
    async def _bounded(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout * OPERATION_TRIES):
                yield
        except (AzureError, TimeoutError, *UNREADABLE) as error:
            response = getattr(error, "response", None)
            status = getattr(response, "status_code", None)
            request_id = response.headers.get("x-ms-request-id") if response is not None else None
            _log.warning("vault: %s status=%s request=%s", type(error).__name__, status, request_id)
            # Without the cause: it may quote an answer, and with it a key.
            raise VaultUnavailable() from None


class FixedToken:
    """A credential that is always the same word; for the local vault."""

    def __init__(self, token: str) -> None:
        """`token` goes into the Authorization header as it is."""
        self._token = token

    async def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:
        """Return it."""
        return AccessToken(self._token, FAR_SECONDS)

    async def close(self) -> None:
        """Nothing is open."""

    async def __aenter__(self) -> "FixedToken":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


@asynccontextmanager
async def open_tenant_keys(
    url: str,
    *,
    token: str | None,
    ca: Path | None,
    timeout_seconds: float,
    clock: Clock,
    ids: IdGenerator,
    backoff_seconds: float = 0.2,
) -> AsyncIterator[KeyVaultTenantKeys]:
    """Connect to the vault at `url` with an Entra identity or, for the local vault, with `token` and its issuer `ca`.

    `timeout_seconds` bounds one try. Nothing is sent before the first call. Raises ValueError for what is no https
    address of a vault, and for a token or a certificate that cannot be used; the text names neither.
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
        yield KeyVaultTenantKeys(client, timeout_seconds, clock, ids)


def _check(url: str, token: str | None, ca: Path | None) -> ssl.SSLContext | None:
    """Raise ValueError for what cannot be connected to; return how to trust the local vault, None for the system's."""
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


def _tenant_key(found: KeyVaultSecret) -> TenantKey:
    """Read a version of the secret. Raises SealBroken if it is none that `_make` made."""
    version = found.properties.version
    try:
        secret = base64.b64decode(found.value or "", validate=True)
    except (ValueError, TypeError):
        raise SealBroken() from None
    if version is None or not _VERSION.fullmatch(version) or len(secret) != KEY_BYTES:
        raise SealBroken()
    return TenantKey(version, secret)


def _keep(held: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Put it in, and the oldest out when there are more than `most`."""
    held[key] = value
    held.move_to_end(key)
    if len(held) > most:
        held.popitem(last=False)
