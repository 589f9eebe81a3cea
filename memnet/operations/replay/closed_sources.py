"""Close and open the sources of a user, and find out whether one is closed: one small record a user."""

from collections.abc import Callable, Sequence
from datetime import datetime

from memnet.domain.core.errors import SourceRetracted
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance.withdrawn import ClosedSources, Withdrawal, load_closed, register_key
from memnet.domain.replay.snapshot import Snapshot
from memnet.paging import retry_conflicts
from memnet.service import Service
from memnet.stores import ItemStore


async def read_closed_sources(scope: UserScope, records: ItemStore) -> ClosedSources:
    """Return the closed sources of a user: one read. Raises HistoryCorrupt, Unavailable."""
    stored = await records.read(register_key(scope))
    return ClosedSources() if stored is None else load_closed(stored.data)


async def close_source(scope: UserScope, withdrawal: Withdrawal, service: Service) -> None:
    """Close a source: from now on no turn of its conversation is accepted, and no replay of it is started.

    Closing it again changes nothing. Raises HistoryCorrupt, ErasureRunning, Unavailable.
    """
    await _change(scope, lambda closed: closed.close(withdrawal), service)


async def open_source(scope: UserScope, retraction_id: str, service: Service) -> None:
    """Open the source that a retraction has closed. Raises HistoryCorrupt, ErasureRunning, Unavailable."""
    await _change(scope, lambda closed: closed.open(retraction_id), service)


async def _change(scope: UserScope, change: Callable[[ClosedSources], ClosedSources], service: Service) -> None:
    async def step() -> None:
        stored = await service.records.read(register_key(scope))
        before = ClosedSources() if stored is None else load_closed(stored.data)
        after = change(before)
        if after != before:
            tag = None if stored is None else stored.storage_etag
            await service.records.write(register_key(scope), after.dump(), replaces=tag)

    await retry_conflicts(step)


def check_open(closed: ClosedSources, taken: Sequence[Snapshot], now: datetime) -> None:
    """Raise SourceRetracted if a closed source names what is submitted now: snapshots of one conversation."""
    messages = {one.snapshot_id: [message.message_id for message in one.messages] for one in taken}
    first = taken[0]
    found = closed.find_said(first.conversation_id, messages, first.service_id, to_text(now))
    if found is not None:
        raise SourceRetracted(retraction_id=found.retraction_id)
