"""Take conversations that rest on a withdrawn source out of the storage and the index, and put them back.

The mark of a deleted snapshot says so until the index cannot show it any more: searches leave its messages out at once.
"""

from contextlib import suppress
from dataclasses import replace

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.errors import DecryptionFailed, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance.withdrawn import Fate, PlannedItem, Withdrawal
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import replay_key
from memnet.domain.replay.snapshot import Snapshot, replay_id_of
from memnet.operations.events.index_turns import unindex_snapshot
from memnet.operations.events.reindex_turns import any_searchable, renew_sharing
from memnet.operations.replay.taking import unseal_snapshot
from memnet.operations.replay.withdrawn_copies import keep_copy, read_copy
from memnet.paging import retry_conflicts
from memnet.ports import StoredBlob
from memnet.service import Service
from memnet.stores import KeyRing


async def remove_snapshot(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> None:
    """Delete a snapshot and its messages in the index, or, with the fate `strip`, only the withdrawn messages."""
    key, searchable = ItemKey(scope, ItemKind.SNAPSHOTS, item.name), any_searchable(service)

    async def remove() -> None:
        stored = await service.records.read(key)
        left = await _left(key, withdrawal, service) if item.fate is Fate.STRIP else None
        if stored is not None and (item.fate is not Fate.STRIP or left is not None):
            await _copy(key, item, withdrawal, stored, service)
            if searchable:
                # A crash before the end leaves a mark, from which the index is corrected.
                await service.turn_marks.mark(key)
            if left is None:
                await service.records.delete(key, tag=stored.storage_etag)
            else:
                sealed = await KeyRing(service.vault).seal(key, left.dump())
                await service.records.write(key, sealed, replaces=stored.storage_etag)
        if searchable and item.fate is Fate.STRIP:
            await _unindex(key, service)
            await service.turn_marks.renew(key)
        elif searchable:
            await service.turn_marks.mark_deleted(key)
            await _unindex(key, service)
            await renew_sharing(key, service)

    await retry_conflicts(remove)


async def _unindex(key: ItemKey, service: Service) -> None:
    """Take a snapshot out of the index. While that is unavailable its mark has searches leave it out."""
    with suppress(Unavailable):
        await unindex_snapshot(key, service)


async def _copy(key: ItemKey, item: PlannedItem, withdrawal: Withdrawal, stored: StoredBlob, service: Service) -> None:
    found = await service.records.read(replay_key(key.scope, replay_id_of(key)))
    replay = None if found is None else replays.load(found.data)
    since = to_text(service.clock.now()) if replay is None else replay.created_at
    named, rule = None if replay is None else replay.profile_id, Kind.SNAPSHOTS
    await keep_copy(key.scope, item, withdrawal, stored.data, service, rule=rule, since=since, profile_id=named)


async def _left(key: ItemKey, withdrawal: Withdrawal, service: Service) -> Snapshot | None:
    """Return a snapshot without the withdrawn messages; None if it has none of them, or does not exist."""
    snapshot = await unseal_snapshot(key, service.vault)
    if snapshot is None:
        return None
    left = _without(snapshot, withdrawal.source.message_ids or ())
    return None if left == snapshot else left


def _without(snapshot: Snapshot, message_ids: tuple[str, ...]) -> Snapshot:
    return replace(snapshot, messages=[one for one in snapshot.messages if one.message_id not in message_ids])


async def restore_snapshot(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> bool:
    """Put a snapshot back, and have its messages indexed again.

    One that has withdrawn messages stays: the undo of another retraction has brought it back, with more in it.
    """
    key = ItemKey(scope, ItemKind.SNAPSHOTS, item.name)
    try:
        data = await read_copy(scope, item, withdrawal, service)
    except DecryptionFailed:
        data = None
    if data is None:
        return False
    searchable = any_searchable(service)

    async def restore() -> bool:
        if searchable:
            await service.turn_marks.mark(key)
        stored = await service.records.read(key)
        is_stripped = item.fate is Fate.STRIP and await _left(key, withdrawal, service) is None
        if stored is None or (is_stripped and stored.data != data):
            await service.records.write(key, data, replaces=None if stored is None else stored.storage_etag)
        elif stored.data != data:
            return False
        if searchable:
            await service.turn_marks.renew(key)
        return True

    return await retry_conflicts(restore)
