"""Do the work of a reindexing that was started elsewhere."""

from memnet.domain.core.timestamps import to_text
from memnet.domain.events.index_layout import Reindexing, dump_reindexing, load_reindexing, tenant_record
from memnet.operations.events.reindex_tenant import reindex_tenant
from memnet.ports import StoreConflict
from memnet.service import Service


async def resume_reindexing(tenant_id: str, reindex_id: str, service: Service) -> bool:
    """Go on where the record of the tenant's reindexing says, to its end; say whether there was anything to do.

    One that is finished, that another one has taken the place of, or that another process has taken over is left
    alone. Raises Unavailable; then the same call goes on from the last page that was noted.
    """
    name = tenant_record(tenant_id)
    stored = await service.search.register.read(name)
    record: Reindexing | None = None if stored is None else load_reindexing(stored.data)
    if stored is None or record is None or record.done or record.reindex_id != reindex_id:
        return False
    claimed = record.advanced(to_text(service.clock.now()))
    try:
        tag = await service.search.register.write(name, dump_reindexing(claimed), replaces=stored.storage_etag)
        await reindex_tenant(tenant_id, claimed, tag, service)
    except StoreConflict:
        return False
    return True
