"""The SigningKeys port on Azure Key Vault: one secret for the service, a version of the key a version of the secret.

A secret and not a key of the vault: Key Vault's own keys do not sign with Ed25519, and a call of the vault for every
signature is not wanted. Two processes that sign for the first time may each make a version; both stay, so both hold.
"""

import asyncio
import base64
from collections.abc import Sequence
from datetime import datetime, timedelta

from azure.keyvault.secrets import KeyVaultSecret, SecretProperties

from memnet.adapters.azure.key_vault import KeyVaultSecrets, is_version, key_of
from memnet.domain.core.signature import SECRET_BYTES, PublicKey, SigningKey
from memnet.ports import Clock, IdGenerator

FRESH = timedelta(minutes=5)
"""How long a process goes by the newest version it knows."""
SECRET_NAME = "memnet-signing"


class KeyVaultSigningKeys:
    """The SigningKeys port; the newest version is remembered for FRESH. Errors as the port says."""

    def __init__(self, secrets: KeyVaultSecrets, clock: Clock, ids: IdGenerator, name: str = SECRET_NAME) -> None:
        """Use the vault of `secrets`; fresh keys come from `ids`. `name` is the secret's."""
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
            listed = sorted(await self._secrets.versions(self._name), key=_age)
            enabled = [found.version for found in listed if found.enabled and is_version(found.version)]
            values = await asyncio.gather(*(self._secrets.get(self._name, version) for version in enabled))
        return [SigningKey(*key_of(found, SECRET_BYTES)).public for found in values if found is not None]

    async def rotate(self) -> SigningKey:
        """Make a new version and return it. Raises VaultUnavailable, after which there may be one all the same."""
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


def _age(found: SecretProperties) -> float:
    return found.created_on.timestamp() if found.created_on else 0.0
