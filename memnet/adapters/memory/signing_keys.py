"""SigningKeys in a list. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Sequence

from memnet.domain.core.signature import SECRET_BYTES, PublicKey, SigningKey
from memnet.ports import IdGenerator


class MemorySigningKeys:
    """The SigningKeys port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, ids: IdGenerator) -> None:
        """Start empty; secrets come from `ids`."""
        self._ids = ids
        self._versions: list[SigningKey] = []

    async def newest(self) -> SigningKey:
        await asyncio.sleep(0)
        return self._versions[-1] if self._versions else self._add()

    async def public_keys(self) -> Sequence[PublicKey]:
        await asyncio.sleep(0)
        return [key.public for key in self._versions]

    async def rotate(self) -> SigningKey:
        await asyncio.sleep(0)
        return self._add()

    def _add(self) -> SigningKey:
        self._versions.append(SigningKey(f"v{len(self._versions) + 1}", self._ids.secret(SECRET_BYTES)))
        return self._versions[-1]
