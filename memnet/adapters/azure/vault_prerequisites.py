"""The key vault, and the rights to read and to make secrets in it."""

import asyncio

from azure.core.exceptions import AzureError

from memnet.adapters.azure.access import refusal
from memnet.adapters.azure.key_vault import UNREADABLE, KeyVaultSecrets
from memnet.adapters.azure.key_vault_keys import PING
from memnet.domain.core.prerequisite import Finding, PrerequisiteStatus

NO_VERSION = "0" * 32
"""A version that no secret has."""


class SecretReading:
    """The vault answers, and lets the identity read secrets."""

    def __init__(self, secrets: KeyVaultSecrets, timeout_seconds: float) -> None:
        """Nothing is asked yet."""
        self._secrets = secrets
        self._timeout = timeout_seconds

    async def check(self) -> Finding:
        """Read a secret that need not be there."""
        subject = "vault: reading secrets"
        try:
            async with asyncio.timeout(self._timeout):
                await self._secrets.get(PING)
        except (AzureError, TimeoutError, *UNREADABLE) as error:
            return refusal(subject, error, "Key Vault Secrets User")
        return Finding(subject, PrerequisiteStatus.READY)


class SecretWriting:
    """The identity may make secrets: the keys of new tenants, and the key that signs."""

    def __init__(self, secrets: KeyVaultSecrets, timeout_seconds: float) -> None:
        """Nothing is asked yet."""
        self._secrets = secrets
        self._timeout = timeout_seconds

    async def check(self) -> Finding:
        """Change nothing about a version that is not there, which takes the right to write all the same."""
        subject = "vault: making secrets"
        try:
            async with asyncio.timeout(self._timeout):
                await self._secrets.leave_as_it_is(PING, NO_VERSION)
        except (AzureError, TimeoutError, *UNREADABLE) as error:
            return refusal(subject, error, "Key Vault Secrets Officer")
        return Finding(subject, PrerequisiteStatus.READY)
