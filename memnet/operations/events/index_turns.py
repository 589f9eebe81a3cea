"""Index the messages of marked snapshots, in batches, and remove the marks that are no longer needed."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import groupby

from memnet.domain.core.errors import DecryptionFailed, ErasureRunning, MemnetError
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey
from memnet.domain.events.event_search import Vector
from memnet.domain.events.index_layout import IndexVersion
from memnet.domain.replay import snapshot as snapshots
from memnet.domain.replay.searchable_turn import (
    SearchableTurn,
    TurnDocument,
    TurnPlace,
    is_searchable,
    newest_of_each,
    searchable_turns,
)
from memnet.domain.replay.turn_mark import TurnMark
from memnet.domain.sealing import sealing
from memnet.domain.sealing.sealing import NONCE_BYTES
from memnet.paging import bounded, pages
from memnet.ports import IndexMissing
from memnet.service import Service
from memnet.stores import KeyRing, index_items, upload_items

SNAPSHOTS = 256
"""The most snapshots whose messages are embedded and uploaded together."""
PAGE = 1000
DOCUMENTS = 500
"""The documents that are deleted together."""
MARK_LIFETIME = timedelta(hours=1)
"""A mark without a snapshot that is older belongs to a request that was never acknowledged, or to a deleted one."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class TurnReport:
    """Marks listed, messages indexed, snapshots left for the next run, and marks removed."""

    marked: int = 0
    indexed: int = 0
    postponed: int = 0
    removed: int = 0


async def index_turns(scope: UserScope, service: Service) -> TurnReport:
    """Index the messages of all marked snapshots of one user. Raises VaultUnavailable, Unavailable."""
    report = TurnReport()
    async for marks in pages(partial(service.turn_marks.list_of, scope), PAGE):
        await _work(scope, marks, report, service)
    return report


async def reconcile_turns(service: Service) -> TurnReport:
    """Index the messages of all marked snapshots, user by user. Runs of it and of workers may run at the same time.

    A failure of one user is logged; the marks stay for the next run. Raises Unavailable: the marks cannot be listed.
    """
    report = TurnReport()
    async for page in pages(service.turn_marks.list, PAGE):
        for scope, marks in groupby(page, key=lambda mark: mark.key.scope):
            listed = list(marks)
            try:
                await _work(scope, listed, report, service)
            except MemnetError as error:
                log.warning("turns_not_indexed code=%s", error.code, extra={"user": scope.prefix})
                report.postponed += len(listed)
    return report


async def _work(scope: UserScope, marks: Sequence[TurnMark], report: TurnReport, service: Service) -> None:
    now = service.clock.now()
    report.marked += len(marks)
    settled = [mark for mark in marks if mark.is_settled(now)]
    await bounded(service.turn_marks.remove, settled)
    report.removed += len(settled)
    deleted = [mark for mark in marks if mark.deleted_at is not None and mark.since < now - MARK_LIFETIME]
    await bounded(partial(_forget, report=report, service=service), deleted)
    waiting = [mark for mark in marks if mark.confirmed_at is None and mark.deleted_at is None]
    for start in range(0, len(waiting), SNAPSHOTS):
        await _index(scope, waiting[start : start + SNAPSHOTS], report, service)


async def _forget(mark: TurnMark, report: TurnReport, service: Service) -> None:
    """Take a deleted snapshot out of the index again, as a process that read it before can have indexed it since.

    Then its mark goes; that of one that was stored again is renewed. Raises Unavailable.
    """
    if await service.records.read(mark.key) is not None:
        await service.turn_marks.renew(mark.key)
        return
    await unindex_snapshot(mark.key, service)
    await service.turn_marks.remove(mark)
    report.removed += 1


async def _index(scope: UserScope, marks: Sequence[TurnMark], report: TurnReport, service: Service) -> None:
    """Upload the messages of waiting snapshots, and confirm the marks of those that every index has confirmed."""
    found = await read_turns(scope, [mark.key for mark in marks], service)
    lost = service.clock.now() - MARK_LIFETIME
    useless = [mark for mark in marks if found.get(mark.key) == [] or (mark.key not in found and mark.since < lost)]
    await bounded(service.turn_marks.remove, useless)
    report.removed += len(useless)
    indexable = [(mark, turns) for mark in marks if (turns := found.get(mark.key))]
    try:
        complete = await upload_turns(scope, [turn for _, turns in indexable for turn in turns], service)
        confirmed = [mark for mark, turns in indexable if all(turn.index_key in complete for turn in turns)]
        await bounded(service.turn_marks.confirm, confirmed)
    except ErasureRunning:
        # The erasure deletes the marks, and what was uploaded.
        return
    report.indexed += len(complete)
    report.postponed += len(indexable) - len(confirmed)


async def unindex_snapshot(key: ItemKey, service: Service) -> None:
    """Take the messages of a snapshot out of every index. Raises Unavailable."""
    layout = await service.search.register.recent()
    for version in layout.versions if layout else ():
        await delete_documents(version.name, key, service)


async def delete_documents(name: str, key: ItemKey, service: Service) -> None:
    """Delete the messages of a snapshot from an index. Raises Unavailable."""
    own = {"tenant_id": key.scope.tenant_id, "user_id": key.scope.user_id, "snapshot": key.blob_name}
    after = None
    with suppress(IndexMissing):
        while found := await service.search.index.list_turns(name, own, limit=DOCUMENTS, after=after):
            await service.search.index.delete(name, [one.key for one in found])
            after = found[-1].key


async def upload_turns(
    scope: UserScope,
    turns: Sequence[SearchableTurn],
    service: Service,
    versions: Sequence[IndexVersion] | None = None,
) -> frozenset[str]:
    """Seal and upload messages of one user; return the keys of those that every index has confirmed.

    They go to the indexes `versions`, or else to all. Of a message in several snapshots, the newest is uploaded. Raises
    ErasureRunning, VaultUnavailable, Unavailable.
    """
    newest = newest_of_each(turns)
    if not newest:
        return frozenset()
    data_key = await KeyRing(service.vault).get_or_create(scope)

    def document(turn: SearchableTurn, vector: Vector | None) -> TurnDocument:
        place, nonce = TurnPlace(scope, turn.index_key), service.vault.ids.secret(NONCE_BYTES)
        return TurnDocument(turn, sealing.seal(turn.payload(vector), place, data_key=data_key, nonce=nonce), vector)

    if versions is not None:
        return await upload_items(newest, document, versions, search=service.search)
    return await index_items(newest, document, search=service.search, ids=service.ids)


async def read_turns(
    scope: UserScope, keys: Sequence[ItemKey], service: Service
) -> dict[ItemKey, list[SearchableTurn] | None]:
    """Return the searchable messages of stored snapshots; None for one that cannot be read. Missing ones are left out.

    Raises VaultUnavailable, Unavailable.
    """
    read = zip(keys, await bounded(service.records.read, keys), strict=True)
    stored = {key: found.data for key, found in read if found is not None}
    data_keys = await KeyRing(service.vault).find(scope, sealing.data_key_ids_of(stored.values()))
    turns: dict[ItemKey, list[SearchableTurn] | None] = {}
    for key, data in stored.items():
        try:
            data_key = data_keys.get(sealing.sealing_key_id(data))
            if data_key is None:
                raise DecryptionFailed
            snapshot = snapshots.load(scope, sealing.unseal(data, key, data_key=data_key))
            profile = service.catalog.profiles.get(snapshot.profile_id)
            turns[key] = searchable_turns(snapshot, profile) if profile and is_searchable(profile) else []
        except DecryptionFailed:
            log.error("a snapshot cannot be read", extra={"snapshot": key.blob_name})
            turns[key] = None
        # Long conversations take milliseconds.
        await asyncio.sleep(0)
    return turns
