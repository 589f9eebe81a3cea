"""Fill an index with the messages of stored snapshots, and take out those that no snapshot explains."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby

from memnet.domain.core.errors import ErasureRunning
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events.index_layout import IndexVersion
from memnet.domain.replay.searchable_turn import SearchableTurn, is_searchable
from memnet.operations.events.index_turns import delete_documents, read_turns, upload_turns
from memnet.paging import bounded, rows
from memnet.ports import IndexedTurn
from memnet.service import Service
from memnet.stores import item_of, unindex

DOCUMENTS = 500


def any_searchable(service: Service) -> bool:
    """Return whether a profile of the catalog has searchable turns."""
    return any(map(is_searchable, service.catalog.profiles.values()))


def is_found_under(profile_id: str, service: Service) -> bool:
    """Return whether a profile exists and its turns are searchable."""
    profile = service.catalog.profiles.get(profile_id)
    return profile is not None and is_searchable(profile)


async def copy_turns(
    page: Sequence[ItemKey], service: Service, versions: Sequence[IndexVersion] | None = None
) -> tuple[int, int]:
    """Upload the messages of a page of snapshots in name order; return how many snapshots, and how many have to wait.

    A conversation is uploaded as a whole, with the page that its first snapshot is on: so its newest snapshot wins.
    They go to the indexes `versions`, or else to all. Those that have to wait are marked. Raises VaultUnavailable,
    Unavailable.
    """
    if not any_searchable(service):
        return 0, 0
    conversations = [list(keys) for _, keys in groupby(page, key=_conversation)]
    for number in {0, len(conversations) - 1} if conversations else ():
        conversations[number] = await _whole(conversations[number], service)
    copied = waiting = 0
    for scope, group in groupby(filter(None, conversations), key=lambda keys: keys[0].scope):
        keys = [key for conversation in group for key in conversation]
        copied += len(keys)
        waiting += await _copy(scope, keys, service, versions)
    return copied, waiting


def _conversation(key: ItemKey) -> tuple[UserScope, str]:
    return key.scope, key.name.partition("/")[0]


async def _whole(keys: Sequence[ItemKey], service: Service) -> list[ItemKey]:
    """Return all snapshots of a conversation at the end of a page; none if an earlier page has begun it."""
    scope, conversation_id = _conversation(keys[0])
    found = [key async for key in rows(partial(service.records.list_snapshots, scope, conversation_id))]
    return found if found and found[0] == keys[0] else []


async def _copy(
    scope: UserScope, keys: Sequence[ItemKey], service: Service, versions: Sequence[IndexVersion] | None
) -> int:
    found = await read_turns(scope, keys, service)
    turns = [turn for listed in found.values() for turn in listed or ()]
    try:
        complete = await upload_turns(scope, turns, service, versions)
        late = [key for key, listed in found.items() if any(turn.index_key not in complete for turn in listed or ())]
        for key in late:
            await service.turn_marks.renew(key)
    except ErasureRunning:
        return 0
    await _forget_deleted(turns, service)
    return len(late)


async def _forget_deleted(turns: Sequence[SearchableTurn], service: Service) -> None:
    """Take out what was uploaded of snapshots that retention has deleted since they were read."""
    keys = sorted({turn.snapshot for turn in turns}, key=lambda key: key.name)
    gone = {key for key, stored in zip(keys, await bounded(service.records.read, keys), strict=True) if stored is None}
    if gone:
        await unindex([turn.index_key for turn in turns if turn.snapshot in gone], search=service.search)


async def delete_orphan_turns(name: str, tenant_id: str, service: Service) -> int:
    """Delete a tenant's documents of turns that are not a searchable message of the snapshot they name.

    Return how many. Raises IndexMissing, VaultUnavailable, Unavailable.
    """
    removed, after = 0, None
    while True:
        found = await service.search.index.list_turns(name, {"tenant_id": tenant_id}, limit=DOCUMENTS, after=after)
        orphans: list[str] = []
        by_user = sorted(found, key=lambda one: one.user_id)
        for user_id, documents in groupby(by_user, key=lambda one: one.user_id):
            orphans += await _orphans(UserScope(tenant_id, user_id), list(documents), service)
        if orphans:
            removed += len(orphans) - len(await service.search.index.delete(name, orphans))
        if len(found) < DOCUMENTS:
            return removed
        after = found[-1].key


async def _orphans(scope: UserScope, documents: Sequence[IndexedTurn], service: Service) -> list[str]:
    named = {one.snapshot: item_of(one.snapshot, ItemKind.SNAPSHOTS) for one in documents}
    turns = await read_turns(scope, [key for key in named.values() if key is not None and key.scope == scope], service)
    # Of a snapshot that cannot be read nothing is known.
    explained = {turn.index_key for listed in turns.values() for turn in listed or ()}
    unreadable = {key.blob_name for key, listed in turns.items() if listed is None}
    return [one.key for one in documents if one.key not in explained and one.snapshot not in unreadable]


async def unindex_snapshots(keys: Sequence[ItemKey], service: Service) -> list[ItemKey]:
    """Take expired snapshots of one user out of the index; return those that can be deleted now.

    A marked snapshot has to wait: it may be on its way into the index. A message that another snapshot of the
    conversation holds is indexed again from that one, which is marked. Raises ErasureRunning, VaultUnavailable,
    Unavailable.
    """
    if not keys or not any_searchable(service):
        return list(keys)
    scope = keys[0].scope
    marked = {mark.key async for mark in rows(partial(service.turn_marks.list_of, scope))}
    free = [key for key in keys if key not in marked]
    layout = await service.search.register.recent()
    for version in layout.versions if layout else ():
        for key in free:
            await delete_documents(version.name, key, service)
    for _, conversation in groupby(sorted(free, key=lambda key: key.name), key=_conversation):
        for key in await _sharing(list(conversation), service):
            with suppress(ErasureRunning):
                await service.turn_marks.renew(key)
    return free


async def renew_sharing(key: ItemKey, service: Service) -> None:
    """Have the other snapshots of a deleted one's conversation indexed again: they can hold messages of it.

    Raises ErasureRunning, Unavailable.
    """
    listing = partial(service.records.list_snapshots, key.scope, _conversation(key)[1])
    others = [one async for one in rows(listing) if one != key]
    await bounded(service.turn_marks.renew, others)


async def _sharing(keys: Sequence[ItemKey], service: Service) -> list[ItemKey]:
    """Return the other snapshots of a conversation that hold messages of these."""
    scope, conversation_id = _conversation(keys[0])
    listed = [key async for key in rows(partial(service.records.list_snapshots, scope, conversation_id))]
    others = [key for key in listed if key not in keys]
    if not others:
        return []
    turns = await read_turns(scope, [*keys, *others], service)
    ids = {turn.index_key for key in keys for turn in turns.get(key) or ()}
    return [key for key in others if any(turn.index_key in ids for turn in turns.get(key) or ())]
