"""Build a new index from the stored events of all tenants and put it in the place of the serving one.

    announced   every writer is told, and from then on writes into both indexes
    copying     what is stored goes into the new one, page by page in name order
    switched    the new one serves; readers that have not noticed still find the old one
    done        the old one is gone

The record of it is written after every step, conditionally: a process that takes over goes on where the last one
was, and that one, if it still lives, stops at its next step. Searches are answered from a whole index throughout.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from memnet.domain.core.errors import ErasureRunning, Unavailable
from memnet.domain.core.scope import StorageETag
from memnet.domain.core.timestamps import to_text
from memnet.domain.events.index_layout import (
    LAYOUT,
    REBUILD,
    IndexVersion,
    Layout,
    Phase,
    Reindexing,
    dump_layout,
    dump_reindexing,
    load_layout,
    load_reindexing,
)
from memnet.operations.events.ensure_index import ensure_index
from memnet.operations.events.read_events import read_events
from memnet.operations.events.upload_events import upload_events
from memnet.service import Service
from memnet.stores import EventStore, Search

PAGE = 1000
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Journal:
    """The record of this rebuild as it was written last."""

    service: Service
    record: Reindexing
    tag: StorageETag

    @property
    def target(self) -> IndexVersion:
        assert self.record.target is not None
        return self.record.target

    async def note(self, **changes: Any) -> None:
        """Write the record. Raises StoreConflict if another process has, Unavailable."""
        self.record = self.record.advanced(to_text(self.service.clock.now()), **changes)
        self.tag = await self.service.search.register.write(REBUILD, dump_reindexing(self.record), replaces=self.tag)


async def rebuild_index(service: Service) -> Reindexing:
    """Run a rebuild, or finish one that was begun with the same embeddings; return its record.

    Events that the new index does not take are marked for the reconciliation. Raises Unavailable, after which it can
    be run again, and StoreConflict if another process has taken it over.
    """
    # Twice as long as anyone works by a layout that is out of date: then everybody has seen the newest.
    settle = 2 * service.search.register.fresh_seconds
    journal = await _begin(service)
    if journal.record.phase is Phase.ANNOUNCED:
        await service.search.index.create(journal.target)
        await _announce(journal)
        await asyncio.sleep(settle)
        await journal.note(phase=Phase.COPYING)
    while journal.record.phase is Phase.COPYING:
        await _copy_page(journal, service.events)
    if journal.record.phase is Phase.SWITCHED:
        await asyncio.sleep(settle)
        for name in journal.record.superseded:
            await service.search.index.drop(name)
        await journal.note(phase=Phase.DONE)
    return journal.record


async def _begin(service: Service) -> _Journal:
    """Take over what is unfinished, or begin anew."""
    layout = await ensure_index(service)
    stored = await service.search.register.read(REBUILD)
    last = None if stored is None else load_reindexing(stored.data)
    now = to_text(service.clock.now())
    if (
        last is None
        or last.done
        or last.target is None
        or not last.target.takes(service.search.model, service.search.dimensions)
    ):
        target = IndexVersion(
            service.search.index.new_name(service.ids.new().rpartition("-")[2]),
            service.search.model,
            service.search.dimensions,
        )
        # What an abandoned rebuild has left goes with the index that serves now.
        left = {version.name for version in layout.versions} | set(last.names if last and not last.done else ())
        last = Reindexing(service.ids.new(), Phase.ANNOUNCED, now, now, target, tuple(sorted(left)))
    record = last.advanced(now)
    tag = await service.search.register.write(
        REBUILD, dump_reindexing(record), replaces=None if stored is None else stored.storage_etag
    )
    return _Journal(service, record, tag)


async def _announce(journal: _Journal) -> None:
    layout, tag = await _layout(journal.service.search)
    await journal.service.search.register.write(
        LAYOUT, dump_layout(Layout(layout.serving, journal.target)), replaces=tag
    )


async def _switch(journal: _Journal) -> None:
    layout, tag = await _layout(journal.service.search)
    if layout.serving != journal.target:
        await journal.service.search.register.write(LAYOUT, dump_layout(Layout(journal.target)), replaces=tag)


async def _layout(search: Search) -> tuple[Layout, StorageETag]:
    stored = await search.register.read(LAYOUT)
    if stored is None:
        raise Unavailable(dependency="blob_storage")
    return load_layout(stored.data), stored.storage_etag


async def _copy_page(journal: _Journal, events: EventStore) -> None:
    record = journal.record
    page = await events.list(None, limit=PAGE, cursor=record.cursor)
    found = await read_events(page.items, events=events)
    stored = [event for event in found.values() if event is not None]
    complete = await upload_events(stored, [journal.target], search=journal.service.search) if stored else frozenset()
    waiting = [event.key for event in stored if event.key not in complete]
    for key in waiting:
        # The events of users who are being erased need no mark.
        with suppress(ErasureRunning):
            await events.mark(key, journal.service.ids.new())
    for key in (key for key, event in found.items() if event is None):
        log.error("stored bytes are not what was written", extra={"event": key.blob_name})
    if page.next_cursor is None:
        await _switch(journal)
    await journal.note(
        phase=Phase.SWITCHED if page.next_cursor is None else Phase.COPYING,
        cursor=page.next_cursor,
        events=record.events + len(found),
        waiting=record.waiting + len(waiting),
    )
