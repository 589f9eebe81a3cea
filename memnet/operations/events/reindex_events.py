"""Start the reindexing of a tenant's events."""

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import check_identifier
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.events.index_layout import (
    Phase,
    Reindexing,
    ReindexState,
    dump_reindexing,
    load_reindexing,
    tenant_record,
)
from memnet.operations.events.reindex_tenant import reindex_tenant
from memnet.ports import (
    MessageQueue,
    StoreConflict,
)
from memnet.service import Service


async def reindex_events(tenant_id: str, service: Service) -> Reindexing:
    """Hand it to the workers and return its record; one that is under way is left to go on, a stalled one resumed.

    If the queue does not take it, this process does the work after the answer. Raises
    InvalidIdentifier, SearchUnavailable, Unavailable.
    """
    name, now = tenant_record(check_identifier("tenant_id", tenant_id)), service.clock.now()
    stored = await service.search.register.read(name)
    last = None if stored is None else load_reindexing(stored.data)
    if last is not None and last.state(now) is ReindexState.RUNNING:
        return last
    if last is None or last.done or last.cursor is None:
        last = Reindexing(service.ids.new(), Phase.COPYING, to_text(now), to_text(now))
    record = last.advanced(to_text(now))
    try:
        tag = await service.search.register.write(
            name, dump_reindexing(record), replaces=None if stored is None else stored.storage_etag
        )
    except StoreConflict:
        winner = await service.search.register.read(name)
        if winner is None:
            raise Unavailable(dependency="blob_storage") from None
        return load_reindexing(winner.data)
    if await _is_handed_over(tenant_id, record, service.queue):
        return record
    work = reindex_tenant(tenant_id, record, tag, service)
    service.background.start("reindex", work)
    return record


async def _is_handed_over(tenant_id: str, record: Reindexing, queue: MessageQueue) -> bool:
    """Every start of one reindexing is a message of its own: the queue drops one that it has seen before."""
    job = Job(JobKind.REINDEX, tenant_id, None, record.reindex_id)
    started, updated = from_text(record.started_at), from_text(record.updated_at)
    try:
        await queue.send(job, attempt=int((updated - started).total_seconds()))
    except Unavailable:
        return False
    return True
