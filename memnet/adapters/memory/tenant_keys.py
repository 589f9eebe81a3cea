"""TenantKeys in a dict. Every call yields to the event loop first, so that races show."""

import asyncio

from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.sealing.sealing import KEY_BYTES
from memnet.ports import IdGenerator, TenantKey


class MemoryTenantKeys:
    """The TenantKeys port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, ids: IdGenerator) -> None:
        """Start empty; secrets come from `ids`."""
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
