"""The keys that wrap what users' records are encrypted with."""

from dataclasses import dataclass, field
from typing import Protocol

from memnet.domain.core.scope import UserScope
from memnet.domain.sealing.sealing import DataKey


@dataclass(frozen=True, slots=True)
class TenantKey:
    """A version of the key that wraps a tenant's data keys: 32 bytes, kept by the vault."""

    version: str
    secret: bytes = field(repr=False)


class TenantKeys(Protocol):
    """The keys in the vault; what they wrap is worthless without it."""

    async def newest(self, tenant_id: str) -> TenantKey:
        """Return the newest version, perhaps some minutes old; the first call makes one.

        Raises DecryptionFailed if what the vault holds is no key, VaultUnavailable.
        """
        ...

    async def find_newest(self, tenant_id: str) -> TenantKey | None:
        """Return what `newest` would return, and make none: None if there is none. Raises as `newest`."""
        ...

    async def version(self, tenant_id: str, version: str) -> TenantKey:
        """Return one version. Raises DecryptionFailed if there is none, VaultUnavailable."""
        ...

    async def rotate(self, tenant_id: str) -> TenantKey:
        """Make a new version and return it; the older ones stay. Raises VaultUnavailable."""
        ...

    async def ping(self) -> None:
        """Ask the vault whether it can serve (one round trip). Raises VaultUnavailable."""
        ...


class DataKeyCache(Protocol):
    """Data keys that this process has opened, in memory alone and for a short time: it may forget any, at any time."""

    def current(self, scope: UserScope) -> DataKey | None:
        """Return the key that the user's records were last sealed with; None if it is not known."""
        ...

    def find(self, scope: UserScope, key_id: str) -> DataKey | None:
        """Return one of the user's keys; None if it is not known."""
        ...

    def remember(self, scope: UserScope, key: DataKey, *, is_current: bool) -> None:
        """Keep a key that is known to be stored."""
        ...

    def forget(self, scope: UserScope) -> None:
        """Drop all keys of a user."""
        ...
