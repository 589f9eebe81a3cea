"""The tenants' keys in the vault, and the cache of the users' data keys that they wrap."""

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
    """The tenants' keys in the vault. Without them no data key can be unwrapped."""

    async def newest(self, tenant_id: str) -> TenantKey:
        """Return the newest version, at most some minutes old; the first call creates one.

        Raises DecryptionFailed if the stored secret is not a key, VaultUnavailable.
        """

    async def find_newest(self, tenant_id: str) -> TenantKey | None:
        """Return the newest version, or None; none is created. Raises as `newest`."""

    async def version(self, tenant_id: str, version: str) -> TenantKey:
        """Return one version. Raises DecryptionFailed if there is none, VaultUnavailable."""

    async def rotate(self, tenant_id: str) -> TenantKey:
        """Create a version and return it; older ones remain. Raises VaultUnavailable."""

    async def ping(self) -> None:
        """Check that the vault can be used, in one round trip. Raises VaultUnavailable."""


class DataKeyCache(Protocol):
    """Unwrapped data keys of this process, in memory and for a short time; any may be dropped at any time."""

    def current(self, scope: UserScope) -> DataKey | None:
        """Return the key that seals the user's new items; None if it is not cached."""

    def find(self, scope: UserScope, key_id: str) -> DataKey | None:
        """Return one of the user's keys; None if it is not cached."""

    def remember(self, scope: UserScope, key: DataKey, *, is_current: bool) -> None:
        """Cache a key that is known to be stored."""

    def forget(self, scope: UserScope) -> None:
        """Drop all keys of a user."""
