"""Tell how far the reindexing of a tenant's events is."""

from memnet.domain.core.errors import ReindexNotFound
from memnet.domain.core.scope import check_identifier
from memnet.domain.events.index_layout import Reindexing, load_reindexing, tenant_record
from memnet.stores import Search


async def get_reindexing(tenant_id: str, *, search: Search) -> Reindexing:
    """Return the newest record. Raises InvalidIdentifier, SearchUnavailable, ReindexNotFound, Unavailable."""
    stored = await search.register.read(tenant_record(check_identifier("tenant_id", tenant_id)))
    if stored is None:
        raise ReindexNotFound()
    return load_reindexing(stored.data)
