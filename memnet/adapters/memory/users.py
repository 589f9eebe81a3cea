"""UserDirectory over the memory stores: their names are the directory."""

import asyncio
from collections.abc import Callable, Iterable

from memnet.domain import cursor as cursors
from memnet.domain.document import UserScope
from memnet.domain.identifiers import check_identifier
from memnet.ports import Page

Names = Callable[[], Iterable[str]]
"""The names of all that a store holds, as blobs of one container would have them."""


class MemoryUserDirectory:
    """The UserDirectory port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, *stores: Names) -> None:
        """Look into these stores."""
        self._stores = stores

    async def list_tenants(self, *, limit: int, cursor: str | None) -> Page[str]:
        """List the tenants in name order. Raises InvalidCursor."""
        return await self._page("tenants/", {tenant_id for tenant_id, _ in self._owners()}, limit, cursor)

    async def list_users(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[UserScope]:
        """List the users of a tenant in name order. Raises InvalidIdentifier, InvalidCursor."""
        check_identifier("tenant_id", tenant_id)
        users = {user_id for owner, user_id in self._owners() if owner == tenant_id}
        page = await self._page(f"tenants/{tenant_id}/users/", users, limit, cursor)
        return Page([UserScope(tenant_id, user_id) for user_id in page.items], page.next_cursor)

    def _owners(self) -> Iterable[tuple[str, str]]:
        for names in self._stores:
            for name in names():
                _, tenant_id, _, user_id, *_ = name.split("/")
                yield tenant_id, user_id

    async def _page(self, prefix: str, found: set[str], limit: int, cursor: str | None) -> Page[str]:
        after = "" if cursor is None else cursors.decode(prefix, cursor)
        await asyncio.sleep(0)
        # As names of folders sort, which end in a slash.
        rest = sorted((name for name in found if f"{name}/" > after), key=lambda name: f"{name}/")
        following = cursors.encode(prefix, f"{rest[limit - 1]}/") if len(rest) > limit else None
        return Page(rest[:limit], following)
