"""Find the items that rest on a source besides documents, take them out, and put them back.

Replays are closed first, so that none writes any more; then conflicts, conversations and events go. Each step may be
repeated: it ends in the same state after a crash at any point. What is taken out is copied first, sealed.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.withdrawn import ClosedSources, Fate, PlannedItem, Withdrawal, WithdrawnKind
from memnet.domain.governance.withdrawn_entries import fate_of_event
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay import replay_plan
from memnet.domain.replay.replay import Replay, ReplayStatus
from memnet.domain.replay.replay_plan import event_id_of
from memnet.domain.replay.snapshot import Snapshot, conversation_part, replay_id_of, snapshot_key
from memnet.operations.governance import withdrawn_events, withdrawn_snapshots
from memnet.operations.replay import withdrawn_jobs
from memnet.operations.replay.taking import unseal_snapshot
from memnet.paging import bounded, pages, rows
from memnet.service import Service
from memnet.stores import KeyRing, read_events

PAGE = 500


async def plan_items(scope: UserScope, source: Source, service: Service) -> list[PlannedItem]:
    """Return the items that rest on a source, in the order in which they are taken out; nothing is written.

    It reads the user's replays, conflicts and events, and the conversations that the source names. Raises
    HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    found = await _find(scope, source, service)
    planned = [PlannedItem(WithdrawnKind.REPLAY, name, found.replays[name]) for name in sorted(found.replays)]
    planned += await _conflicts(scope, source, found.whole, service)
    fates = {key.name: fate for key, fate in found.snapshots.items()}
    planned += [PlannedItem(WithdrawnKind.SNAPSHOT, name, fates[name]) for name in sorted(fates)]
    return planned + await _events(scope, source, found.whole, service)


async def find_replays(scope: UserScope, source: Source, service: Service) -> Sequence[str]:
    """Return the ids of the replays all of whose changes rest on a source; none for single messages.

    Raises as `plan_items`.
    """
    return sorted((await _find(scope, source, service)).whole)


async def apply_item(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> None:
    """Take an item out, or what of it rests on the source; one that is gone or was taken out stays as it is.

    Raises HistoryCorrupt, DecryptionFailed, ErasureRunning, VaultUnavailable, Unavailable; StoreConflict: another
    worker takes it out.
    """
    match item.kind:
        case WithdrawnKind.REPLAY:
            await withdrawn_jobs.close_replay(scope, item, withdrawal, service)
        case WithdrawnKind.CONFLICT:
            await withdrawn_jobs.remove_conflict(scope, item, withdrawal, service)
        case WithdrawnKind.SNAPSHOT:
            await withdrawn_snapshots.remove_snapshot(scope, item, withdrawal, service)
        case WithdrawnKind.EVENT:
            await withdrawn_events.remove_event(scope, item, withdrawal, service)


async def undo_item(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> bool:
    """Put the bytes of an item back; return whether they are there unchanged.

    False: its copy is gone, or something else was stored in its place since. Raises as `apply_item`.
    """
    match item.kind:
        case WithdrawnKind.REPLAY:
            return await withdrawn_jobs.reopen_replay(scope, item, withdrawal, service)
        case WithdrawnKind.CONFLICT:
            return await withdrawn_jobs.restore_conflict(scope, item, withdrawal, service)
        case WithdrawnKind.SNAPSHOT:
            return await withdrawn_snapshots.restore_snapshot(scope, item, withdrawal, service)
        case WithdrawnKind.EVENT:
            return await withdrawn_events.restore_event(scope, item, withdrawal, service)


@dataclass(frozen=True, slots=True)
class _Replays:
    """The fates of replays, those of them that rest on the source as a whole, and the fates of snapshots."""

    replays: Mapping[str, Fate]
    whole: Collection[str]
    snapshots: Mapping[ItemKey, Fate]


async def _snapshots(scope: UserScope, source: Source, service: Service) -> dict[ItemKey, Snapshot | None]:
    """Return the stored snapshots that a source names; None: its content is not needed, or cannot be read."""
    if source.conversation_id is None:
        return {}
    if source.kind is SourceKind.SNAPSHOT:
        key = snapshot_key(scope, source.conversation_id, source.snapshot_id or "")
        return {} if await service.records.read(key) is None else {key: None}
    listing = partial(service.records.list_snapshots, scope, source.conversation_id)
    keys = [key async for key in rows(listing, PAGE)]
    if source.message_ids is None:
        return dict.fromkeys(keys)

    async def read(key: ItemKey) -> Snapshot | None:
        try:
            return await unseal_snapshot(key, service.vault)
        except DecryptionFailed:
            return None

    return dict(zip(keys, await bounded(read, keys), strict=True))


async def _find(scope: UserScope, source: Source, service: Service) -> _Replays:
    said = await _snapshots(scope, source, service)
    listed = {replay_id_of(key): _message_ids(snapshot) for key, snapshot in said.items()}
    found = {one.replay_id: one async for one in _stored_replays(scope, source, service)}
    own = {name for name, one in found.items() if source.is_of(one, listed.get(name, ()))}
    # A replay that has taken one of these turns has read it.
    takers = {name for name, one in found.items() if not own.isdisjoint(one.covers)}
    if source.message_ids is None:
        taken = await _closed({name: found[name] for name in own | takers}, own, source, service)
        if source.kind is not SourceKind.ACTOR:
            return _Replays(taken, own, dict.fromkeys(said, Fate.REMOVE))
        keys = [snapshot_key(scope, found[name].conversation_id, found[name].snapshot_id) for name in own]
        stored = zip(keys, await bounded(service.records.read, keys), strict=True)
        return _Replays(taken, own, {key: Fate.REMOVE for key, blob in stored if blob is not None})
    fates = {}
    for key in said:
        ids = set(listed[replay_id_of(key)])
        if not ids.isdisjoint(source.message_ids):
            fates[key] = Fate.REMOVE if ids.issubset(source.message_ids) else Fate.STRIP
    gone = {replay_id_of(key) for key, fate in fates.items() if fate is Fate.REMOVE}
    return _Replays(await _closed({name: found[name] for name in own | takers}, gone, source, service), (), fates)


async def _closed(
    found: Mapping[str, Replay], whole: Collection[str], source: Source, service: Service
) -> dict[str, Fate]:
    """Return the fates of replays that have read something of the source; `whole`: those that read nothing else.

    One that can still write what it has read besides stays open, and loses the part of its plan that cites the source.
    """
    fates, sources = {}, ClosedSources((Withdrawal("", source),))
    for name, replay in found.items():
        if replay.status is ReplayStatus.RETRACTED:
            continue
        if name in whole or replay.status in (ReplayStatus.SUCCEEDED, ReplayStatus.PARTIAL):
            fates[name] = Fate.CLOSE
        elif replay.sealed is not None:
            plaintext = await KeyRing(service.vault).unseal_member(replay.key, replay.sealed)
            plan = replay_plan.load(replay.scope, plaintext)
            if sources.strip(replay, plan, service.clock.now())[0] is not replay:
                fates[name] = Fate.STRIP
    return fates


def _message_ids(snapshot: Snapshot | None) -> Sequence[str]:
    return [] if snapshot is None else [one.message_id for one in snapshot.messages]


async def _stored_replays(scope: UserScope, source: Source, service: Service) -> AsyncIterator[Replay]:
    """Yield the user's replays that can rest on the source: their ids begin as those of its conversation do."""
    part = source.replay_id or ""
    if source.conversation_id is not None:
        part = conversation_part(replay_id_of(snapshot_key(scope, source.conversation_id, "any")))
    async for page in pages(partial(service.records.list, scope, ItemKind.REPLAYS), PAGE):
        for stored in await bounded(service.records.read, [key for key in page if key.name.startswith(part)]):
            if stored is not None:
                yield replays.load(stored.data)


async def _conflicts(scope: UserScope, source: Source, whole: Collection[str], service: Service) -> list[PlannedItem]:
    found = []
    async for page in pages(partial(service.records.list, scope, ItemKind.CONFLICTS), PAGE):
        for stored in await bounded(service.records.read, page):
            if stored is None:
                continue
            conflict = conflicts.load(stored.data)
            if conflict.replay_id in whole or source.cites(conflict.evidence):
                found.append(PlannedItem(WithdrawnKind.CONFLICT, conflict.conflict_id, Fate.REMOVE))
    return found


async def _events(scope: UserScope, source: Source, whole: Collection[str], service: Service) -> list[PlannedItem]:
    written = {event_id_of(name) for name in whole}
    found = []
    async for page in pages(partial(service.events.list_of_user, scope), PAGE):
        read = await read_events([row.key for row in page], events=service.events)
        for key, stored in read.items():
            fate = None if stored is None else fate_of_event(stored.event, source)
            if key.event_id in written:
                fate = Fate.REMOVE
            if fate is not None:
                found.append(PlannedItem(WithdrawnKind.EVENT, key.event_id, fate))
    return found
