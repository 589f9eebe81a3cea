"""Refill the index with the stored events of one tenant, and take out what no event stands behind."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from memnet.domain.core.errors import ErasureRunning
from memnet.domain.core.scope import StorageETag
from memnet.domain.core.timestamps import to_text
from memnet.domain.events.event import load
from memnet.domain.events.index_layout import Phase, Reindexing, dump_reindexing, tenant_record
from memnet.operations.events.ensure_index import ensure_index
from memnet.operations.events.index_events import index_events
from memnet.operations.events.read_events import read_events
from memnet.operations.events.rebuild_index import rebuild_index
from memnet.ports import EventHit, IndexMissing
from memnet.service import Service
from memnet.stores import EventStore

PAGE = 1000
DOCUMENTS = 500


async def reindex_tenant(tenant_id: str, record: Reindexing, tag: StorageETag, service: Service) -> None:
    """Do what `record` says is left, noting every page in it; `tag` is that of the record as it was written last.

    If the index itself is gone, it is built anew for everybody, because one with a single tenant's events would answer
    the others wrongly. Raises StoreConflict if another process has taken over, Unavailable.
    """

    async def note(**changes: Any) -> None:
        nonlocal record, tag
        record = record.advanced(to_text(service.clock.now()), **changes)
        tag = await service.search.register.write(tenant_record(tenant_id), dump_reindexing(record), replaces=tag)

    if await _is_missing(service):
        await rebuild_index(service)
    while True:
        page = await service.events.list(tenant_id, limit=PAGE, cursor=record.cursor)
        found = await read_events(page.items, events=service.events)
        stored = [event for event in found.values() if event is not None]
        complete = await index_events(stored, service) if stored else frozenset()
        waiting = [event.key for event in stored if event.key not in complete]
        for key in waiting:
            # The events of users who are being erased need no mark.
            with suppress(ErasureRunning):
                await service.events.mark(key, service.ids.new())
        await note(cursor=page.next_cursor, events=record.events + len(found), waiting=record.waiting + len(waiting))
        if page.next_cursor is None:
            break
    await note(removed=record.removed + await _remove_orphans(tenant_id, service))
    await note(phase=Phase.DONE)


async def _is_missing(service: Service) -> bool:
    layout = await ensure_index(service)
    try:
        await service.search.index.list(layout.serving.name, None, limit=1, after=None)
    except IndexMissing:
        return True
    return False


async def _remove_orphans(tenant_id: str, service: Service) -> int:
    """An event is stored before it is indexed and never changes, so a document without one is nobody's."""
    removed, after = 0, None
    name = (await ensure_index(service)).serving.name
    while True:
        hits = await service.search.index.list(name, tenant_id, limit=DOCUMENTS, after=after)
        orphans = await _orphans(hits, service.events)
        removed += len(orphans) - len(await service.search.index.delete(name, orphans)) if orphans else 0
        if len(hits) < DOCUMENTS:
            return removed
        after = hits[-1].key


async def _orphans(hits: Sequence[EventHit], events: EventStore) -> list[str]:
    keys = {hit.key: event.key for hit in hits if (event := load(hit.data)) is not None}
    found = {key.index_key for key in await read_events(list(keys.values()), events=events)}
    return [hit.key for hit in hits if hit.key not in found]
