"""The keys that sign checkpoints, so that others can verify them."""

from collections.abc import Sequence
from typing import Protocol

from memnet.domain.core.signature import PublicKey, SigningKey


class SigningKeys(Protocol):
    """The service's signing key in the vault, in versions; the public halves only verify."""

    async def newest(self) -> SigningKey:
        """Return the newest version, perhaps some minutes old; the first call creates one.

        Raises VaultUnavailable, and DecryptionFailed if the stored secret is not a key.
        """

    async def public_keys(self) -> Sequence[PublicKey]:
        """Return the public halves of all versions that are not disabled, oldest first; empty before the first use.

        Raises VaultUnavailable, and DecryptionFailed if the stored secret is not a key.
        """

    async def rotate(self) -> SigningKey:
        """Create a version and return it; older signatures remain valid. Raises VaultUnavailable."""
