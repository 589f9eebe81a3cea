"""The TenantKeys and SigningKeys ports on Azure Key Vault: a key is a secret, and its versions are the secret's.

The signing key is a secret and not a key of the vault, because Key Vault's own keys do not sign with Ed25519, and no
signature should need a call of the vault. Two processes that use a key for the first time may each create a version;
both remain, so what either one wrapped or signed stays valid. A secret that was deleted in the vault is not created
again: its name is taken until it is recovered or purged.
"""

import asyncio
import base64
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from azure.keyvault.secrets import KeyVaultSecret

from memnet.adapters.azure.key_vault import KeyVaultSecrets, is_version, key_of
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.signature import SECRET_BYTES, PublicKey, SigningKey
from memnet.domain.sealing.sealing import KEY_BYTES
from memnet.ports import Clock, IdGenerator, TenantKey

FRESH = timedelta(minutes=5)
"""How long a process uses the newest version that it knows."""
MAX_TENANTS = 1_024
MAX_VERSIONS = 4_096
PING = "memnet-ping"
"""A secret that need not exist: reading it requires the same permission as reading keys."""

SIGNING_SECRET = "memnet-signing"

K = TypeVar("K")
V = TypeVar("V")


def secret_name(tenant_id: str) -> str:
    """Return the name of a tenant's secret. Key Vault accepts letters, digits and dashes, and ignores case."""
    return f"memnet-tenant-{sha256(tenant_id.encode()).hexdigest()[:40]}"


class KeyVaultTenantKeys:
    """The TenantKeys port. The newest version is cached for FRESH, and each version without a limit of time.

    A secret in the vault that is not one of memnet's keys raises DecryptionFailed.
    """

    def __init__(self, secrets: KeyVaultSecrets, clock: Clock, ids: IdGenerator) -> None:
        """Use the vault of `secrets`; new keys come from `ids`."""
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
        """Create a version and return it. It may exist even if this raises VaultUnavailable."""
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


class KeyVaultSigningKeys:
    """The SigningKeys port. The newest version is cached for FRESH."""

    def __init__(self, secrets: KeyVaultSecrets, clock: Clock, ids: IdGenerator, name: str = SIGNING_SECRET) -> None:
        """Use the vault of `secrets`; new keys come from `ids`. `name` is the name of the secret."""
        self._secrets = secrets
        self._clock = clock
        self._ids = ids
        self._name = name
        self._making = asyncio.Lock()
        self._newest: tuple[SigningKey, datetime] | None = None

    async def newest(self) -> SigningKey:
        asked = self._clock.now()
        if self._newest is not None and asked - self._newest[1] < FRESH:
            return self._newest[0]
        async with self._secrets.bounded():
            found = await self._secrets.get(self._name)
            if found is None:
                # One at a time, so that this process makes one version.
                async with self._making:
                    found = await self._secrets.get(self._name) or await self._make()
        return self._remember(found, asked)

    async def public_keys(self) -> Sequence[PublicKey]:
        async with self._secrets.bounded():
            versions = await self._secrets.versions(self._name)
            listed = sorted(versions, key=lambda found: found.created_on.timestamp() if found.created_on else 0.0)
            enabled = [found.version for found in listed if found.enabled and is_version(found.version)]
            values = await asyncio.gather(*(self._secrets.get(self._name, version) for version in enabled))
        return [SigningKey(*key_of(found, SECRET_BYTES)).public for found in values if found is not None]

    async def rotate(self) -> SigningKey:
        """Create a version and return it. It may exist even if this raises VaultUnavailable."""
        asked = self._clock.now()
        async with self._secrets.bounded():
            made = await self._make()
        return self._remember(made, asked)

    async def _make(self) -> KeyVaultSecret:
        value = base64.b64encode(self._ids.secret(SECRET_BYTES)).decode("ascii")
        return await self._secrets.set(self._name, value, {"algorithm": "Ed25519"})

    def _remember(self, found: KeyVaultSecret, asked: datetime) -> SigningKey:
        key = SigningKey(*key_of(found, SECRET_BYTES))
        self._newest = (key, asked)
        return key


def _keep(held: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Add the entry, and drop the oldest one if there are more than `most`."""
    held[key] = value
    held.move_to_end(key)
    if len(held) > most:
        held.popitem(last=False)
