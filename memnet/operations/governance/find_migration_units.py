"""Find the users, and the members of families, whose documents a migration is about."""

from collections.abc import AsyncIterator, Sequence

from memnet.domain.catalog.migration_model import Migration, Unit, unit_of
from memnet.domain.core.scope import UserScope
from memnet.stores import DocumentStore, ListedDocument

PAGE = 1000


async def find_migration_units(
    migration: Migration, *, tenant_id: str | None, user_id: str | None, documents: DocumentStore
) -> Sequence[Unit]:
    """Return the units of one user, of one tenant, or of all, in the order of their documents' names.

    A deleted document counts: it may be what a decommission deleted. Raises InvalidIdentifier, Unavailable.
    """
    units: dict[Unit, None] = {}
    async for row in _rows(migration, tenant_id, user_id, documents):
        unit = unit_of(migration, row.key)
        if unit is not None and tenant_id in (None, unit.scope.tenant_id):
            units[unit] = None
    return list(units)


async def _rows(
    migration: Migration, tenant_id: str | None, user_id: str | None, documents: DocumentStore
) -> AsyncIterator[ListedDocument]:
    scope = None if tenant_id is None or user_id is None else UserScope(tenant_id, user_id)
    namespaces = sorted({family.namespace for family in migration.families}) if scope else [""]
    for namespace in namespaces:
        cursor: str | None = None
        while True:
            if scope is None:
                page = await documents.list_all(limit=PAGE, cursor=cursor)
            else:
                page = await documents.list(scope, f"{namespace}/", limit=PAGE, cursor=cursor)
            for row in page.items:
                yield row
            cursor = page.next_cursor
            if cursor is None:
                break
