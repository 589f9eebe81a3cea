"""Close and open the sources of a user, and find out whether one is closed: one small record a user."""

from collections.abc import Callable
from functools import partial

from memnet.domain.core.errors import SourceRetracted
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.withdrawn import ClosedSources, Withdrawal, load_closed, register_key
from memnet.paging import retry_conflicts
from memnet.service import Service
from memnet.stores import ItemStore


async def read_closed(scope: UserScope, records: ItemStore) -> ClosedSources:
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

    await retry_conflicts(partial(step))


def check_open(closed: ClosedSources, conversation_id: str, messages: dict[str, list[str]]) -> None:
    """Raise SourceRetracted if a closed source names the conversation, a snapshot of it, or one of its messages.

    `messages` has the ids of the messages by the id of the snapshot or turn.
    """
    for one in closed:
        if _names(one.source, conversation_id, messages):
            raise SourceRetracted(retraction_id=one.retraction_id)


def _names(source: Source, conversation_id: str, messages: dict[str, list[str]]) -> bool:
    if source.conversation_id != conversation_id:
        return False
    if source.kind is SourceKind.SNAPSHOT:
        return source.snapshot_id in messages
    ids = {one for listed in messages.values() for one in listed}
    return source.message_ids is None or not ids.isdisjoint(source.message_ids)
