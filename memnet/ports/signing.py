"""The keys that sign what others than the service must be able to verify."""

from collections.abc import Sequence
from typing import Protocol

from memnet.domain.core.signature import PublicKey, SigningKey


class SigningKeys(Protocol):
    """The service's signing key in the vault, in versions; who has only the public halves can verify and not sign."""

    async def newest(self) -> SigningKey:
        """Return the newest version, perhaps some minutes old; the first call makes one.

        Raises VaultUnavailable, and DecryptionFailed if what lies there is no key.
        """
        ...

    async def public_keys(self) -> Sequence[PublicKey]:
        """Return the public halves of all versions that are not disabled, the oldest first; none before the first use.

        Raises VaultUnavailable, and DecryptionFailed if what lies there is no key.
        """
        ...

    async def rotate(self) -> SigningKey:
        """Make a new version and return it; what older ones signed still holds. Raises VaultUnavailable."""
        ...
