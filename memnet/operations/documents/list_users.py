"""List the users of whom anything is stored: those of a tenant, or all."""

from collections.abc import AsyncIterator, Sequence

from memnet.domain.core.scope import UserScope
from memnet.stores import UserDirectory

PAGE = 1000


async def list_users(tenant_id: str | None, *, users: UserDirectory) -> AsyncIterator[Sequence[UserScope]]:
    """Yield the users of the tenant, or of all tenants, in name order, a page at a time.

    A page may be empty. Raises InvalidIdentifier, Unavailable.
    """
    if tenant_id is None:
        async for tenant in _tenants(users):
            async for page in list_users(tenant, users=users):
                yield page
        return
    cursor: str | None = None
    while True:
        found = await users.list_users(tenant_id, limit=PAGE, cursor=cursor)
        yield found.items
        cursor = found.next_cursor
        if cursor is None:
            return


async def _tenants(users: UserDirectory) -> AsyncIterator[str]:
    cursor: str | None = None
    while True:
        page = await users.list_tenants(limit=PAGE, cursor=cursor)
        for tenant_id in page.items:
            yield tenant_id
        cursor = page.next_cursor
        if cursor is None:
            return
