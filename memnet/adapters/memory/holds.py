"""HoldStore in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping

from memnet.domain import cursor as cursors
from memnet.domain.hold import HoldKey, HoldPlace, tenant_prefix
from memnet.ports import Page, StoreConflict


class MemoryHoldStore:
    """The HoldStore port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self) -> None:
        """Start empty."""
        self._changes: dict[HoldKey, bytes] = {}

    async def create(self, key: HoldKey, data: bytes) -> None:
        """Create a change. Raises StoreConflict."""
        await asyncio.sleep(0)
        if key in self._changes:
            raise StoreConflict
        self._changes[key] = data

    async def read(self, key: HoldKey) -> bytes | None:
        """Read one change."""
        await asyncio.sleep(0)
        return self._changes.get(key)

    async def list(self, place: HoldPlace, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of one place. Raises InvalidCursor."""
        return await self._page(place.prefix, limit, cursor)

    async def list_of_tenant(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of a tenant. Raises InvalidIdentifier, InvalidCursor."""
        return await self._page(tenant_prefix(tenant_id), limit, cursor)

    def holdings(self) -> Mapping[str, object]:
        """All changes, by name."""
        return {key.blob_name: data for key, data in self._changes.items()}

    def drop(self, name: str) -> None:
        """Take the change of this name out; a missing one is fine."""
        for key in [key for key in self._changes if key.blob_name == name]:
            del self._changes[key]

    async def _page(self, prefix: str, limit: int, cursor: str | None) -> Page[HoldKey]:
        after = "" if cursor is None else cursors.decode(prefix, cursor)
        await asyncio.sleep(0)
        names = {key.blob_name: key for key in self._changes}
        found = sorted(name for name in names if name.startswith(prefix) and name > after)
        following = cursors.encode(prefix, found[limit - 1]) if len(found) > limit else None
        return Page([names[name] for name in found[:limit]], following)
