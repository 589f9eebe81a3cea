"""The keys that wrap what users' records are encrypted with."""

from dataclasses import dataclass, field
from typing import Protocol

from memnet.ports.storage import RecordStore
from memnet.ports.surroundings import Clock, IdGenerator


@dataclass(frozen=True, slots=True)
class TenantKey:
    """A version of the key that wraps a tenant's data keys: 32 bytes, kept by the vault."""

    version: str
    secret: bytes = field(repr=False)


class TenantKeys(Protocol):
    """The keys in the vault; what they wrap is worthless without it."""

    async def newest(self, tenant_id: str) -> TenantKey:
        """Return the newest version, perhaps some minutes old; the first call makes one. Raises VaultUnavailable."""
        ...

    async def version(self, tenant_id: str, version: str) -> TenantKey:
        """Return one version. Raises SealBroken if there is none, VaultUnavailable."""
        ...

    async def rotate(self, tenant_id: str) -> TenantKey:
        """Make a new version and return it; the older ones stay. Raises VaultUnavailable."""
        ...

    async def ping(self) -> None:
        """Ask the vault whether it can serve (one round trip). Raises VaultUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class Vault:
    """The ports that sealing takes: where the wrapped data keys lie, what unwraps them, and fresh bytes."""

    records: RecordStore
    keys: TenantKeys
    ids: IdGenerator
    clock: Clock
