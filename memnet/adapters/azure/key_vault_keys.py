"""The TenantKeys port on Azure Key Vault: a tenant's key is a secret there, a version of it a version of the secret.

Two processes that use a tenant for the first time may each make a version. Both stay readable, so nothing is lost by
it. A secret that was deleted in the vault is not made again: its name stays taken until it is recovered or purged.
"""

import asyncio
import base64
from collections import OrderedDict
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from azure.keyvault.secrets import KeyVaultSecret

from memnet.adapters.azure.key_vault import KeyVaultSecrets, is_version, key_of
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.sealing.sealing import KEY_BYTES
from memnet.ports import Clock, IdGenerator, TenantKey

FRESH = timedelta(minutes=5)
"""How long a process goes by the newest version it knows."""
MAX_TENANTS = 1_024
MAX_VERSIONS = 4_096
PING = "memnet-ping"
"""A secret that need not exist: reading it requires the same permission as reading keys."""

K = TypeVar("K")
V = TypeVar("V")


def secret_name(tenant_id: str) -> str:
    """Name a tenant's secret: Key Vault takes letters, digits and dashes only, and does not tell case apart."""
    return f"memnet-tenant-{sha256(tenant_id.encode()).hexdigest()[:40]}"


class KeyVaultTenantKeys:
    """The TenantKeys port; the newest version is remembered for FRESH, a version for good. Errors as the port says.

    Beyond the port a secret in the vault that is no key of memnet's making raises DecryptionFailed.
    """

    def __init__(self, secrets: KeyVaultSecrets, clock: Clock, ids: IdGenerator) -> None:
        """Use the vault of `secrets`; fresh keys come from `ids`."""
        self._secrets = secrets
        self._clock = clock
        self._ids = ids
        self._making = asyncio.Lock()
        self._newest: OrderedDict[str, tuple[TenantKey, datetime]] = OrderedDict()
        self._versions: OrderedDict[tuple[str, str], TenantKey] = OrderedDict()

    async def newest(self, tenant_id: str) -> TenantKey:
        key = await self.find_newest(tenant_id)
        if key is not None:
            return key
        asked = self._clock.now()
        # One at a time, so that this process makes one version.
        async with self._secrets.bounded(), self._making:
            found = await self._secrets.get(secret_name(tenant_id)) or await self._make(tenant_id)
        return self._remember_newest(tenant_id, found, asked)

    async def find_newest(self, tenant_id: str) -> TenantKey | None:
        asked = self._clock.now()
        held = self._newest.get(tenant_id)
        if held is not None and asked - held[1] < FRESH:
            return held[0]
        async with self._secrets.bounded():
            found = await self._secrets.get(secret_name(tenant_id))
        return None if found is None else self._remember_newest(tenant_id, found, asked)

    async def version(self, tenant_id: str, version: str) -> TenantKey:
        held = self._versions.get((tenant_id, version))
        if held is not None:
            return held
        # It comes from a stored record; as a part of a URL it could mean something else.
        if not is_version(version):
            raise DecryptionFailed()
        async with self._secrets.bounded():
            found = await self._secrets.get(secret_name(tenant_id), version)
        if found is None:
            raise DecryptionFailed()
        return self._remember(tenant_id, found)

    async def rotate(self, tenant_id: str) -> TenantKey:
        """Make a new version and return it. Raises VaultUnavailable, after which there may be one all the same."""
        asked = self._clock.now()
        async with self._secrets.bounded():
            made = await self._make(tenant_id)
        return self._remember_newest(tenant_id, made, asked)

    async def ping(self) -> None:
        async with self._secrets.bounded():
            await self._secrets.get(PING)

    async def _make(self, tenant_id: str) -> KeyVaultSecret:
        value = base64.b64encode(self._ids.secret(KEY_BYTES)).decode("ascii")
        return await self._secrets.set(secret_name(tenant_id), value, {"tenant": tenant_id})

    def _remember_newest(self, tenant_id: str, found: KeyVaultSecret, asked: datetime) -> TenantKey:
        key = self._remember(tenant_id, found)
        _keep(self._newest, tenant_id, (key, asked), MAX_TENANTS)
        return key

    def _remember(self, tenant_id: str, found: KeyVaultSecret) -> TenantKey:
        key = TenantKey(*key_of(found, KEY_BYTES))
        _keep(self._versions, (tenant_id, key.version), key, MAX_VERSIONS)
        return key


def _keep(held: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Put it in, and the oldest out when there are more than `most`."""
    held[key] = value
    held.move_to_end(key)
    if len(held) > most:
        held.popitem(last=False)
