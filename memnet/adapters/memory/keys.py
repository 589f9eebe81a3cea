"""TenantKeys and SigningKeys in memory. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Sequence

from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.signature import SECRET_BYTES, PublicKey, SigningKey
from memnet.domain.sealing.sealing import KEY_BYTES
from memnet.ports import IdGenerator, TenantKey


class MemoryTenantKeys:
    """The TenantKeys port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, ids: IdGenerator) -> None:
        self._ids = ids
        self._versions: dict[str, list[TenantKey]] = {}

    async def newest(self, tenant_id: str) -> TenantKey:
        return await self.find_newest(tenant_id) or self._add(tenant_id)

    async def find_newest(self, tenant_id: str) -> TenantKey | None:
        await asyncio.sleep(0)
        return self._versions[tenant_id][-1] if tenant_id in self._versions else None

    async def version(self, tenant_id: str, version: str) -> TenantKey:
        await asyncio.sleep(0)
        for key in self._versions.get(tenant_id, ()):
            if key.version == version:
                return key
        raise DecryptionFailed()

    async def rotate(self, tenant_id: str) -> TenantKey:
        await asyncio.sleep(0)
        return self._add(tenant_id)

    async def ping(self) -> None:
        await asyncio.sleep(0)

    def _add(self, tenant_id: str) -> TenantKey:
        versions = self._versions.setdefault(tenant_id, [])
        versions.append(TenantKey(f"v{len(versions) + 1}", self._ids.secret(KEY_BYTES)))
        return versions[-1]


class MemorySigningKeys:
    """The SigningKeys port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, ids: IdGenerator) -> None:
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
