"""Remove what is over of histories that have no document."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memnet.domain.errors import HistoryBroken
from memnet.domain.leftover import Leftover, read_leftover
from memnet.domain.retention import count_due, ruled_by
from memnet.operations.find_orphans import find_orphans
from memnet.operations.remove_due import RetentionRun, remove_due
from memnet.ports import AuditLog, DocumentStore

READ = 64
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a record or a baseline stands; in the order of the changes, a baseline before the record of its own."""

    change_id: str
    is_record: bool


async def retain_orphans(
    records: Mapping[str, Sequence[str]],
    baselines: Mapping[str, Sequence[str]],
    *,
    run: RetentionRun,
    documents: DocumentStore,
    audit: AuditLog,
) -> None:
    """Remove, of histories that have a document no more, from the beginning on what is over by its own time and rule.

    `records` and `baselines` are the changes by document for which no document was found. They are counted with the
    other records. No baseline is put in place: nothing vouches for the end of such a history, and its keys may be
    gone. What cannot be read stays. If a document comes while its records are removed, as an import brings it, they are
    put back. Raises ErasureRunning, HistoryBroken if a hold cannot be read, Unavailable.
    """
    await documents.check(run.scope)
    try:
        found = await find_orphans(run.scope, records.keys() | baselines.keys(), documents=documents)
    except HistoryBroken:
        # A document that cannot be read may be any of them. It was counted when its own history was looked at.
        return
    for doc_id in sorted(found):
        places = [_Place(change, True) for change in records.get(doc_id, ())]
        places += [_Place(change, False) for change in baselines.get(doc_id, ())]
        await _retain(doc_id, sorted(places, key=lambda one: (one.change_id, one.is_record)), run, documents, audit)


async def _retain(
    doc_id: str, places: Sequence[_Place], run: RetentionRun, documents: DocumentStore, audit: AuditLog
) -> None:
    async def is_orphan() -> bool:
        return bool(await find_orphans(run.scope, [doc_id], documents=documents))

    async def remove(batch: Sequence[Leftover], known_at: datetime) -> Sequence[Leftover]:
        if not await is_orphan():
            return ()
        await _each(batch, lambda one: _delete(one, known_at, run, audit))
        # An import writes its records first, and the document behind them.
        if await is_orphan():
            return batch
        await _each(batch, lambda one: _put_back(one, run, audit))
        return ()

    await remove_due(await _find_due(places, run, audit), remove, run.report.tallies["audit"], run=run)


async def _find_due(places: Sequence[_Place], run: RetentionRun, audit: AuditLog) -> list[Leftover]:
    """What is over. As in a chain, what has to stay keeps all after it; that is counted."""
    due: list[Leftover] = []
    profile_id: str | None = None
    for start in range(0, len(places), READ):
        left = await _read(places[start : start + READ], run, audit)
        count = count_due([one.members for one in left], profile_id, run.policy, run.as_of)
        due += left[:count]
        if count < len(left):
            run.report.tallies["audit"].kept += len(left) - count + len(places[start + READ :])
            break
        for one in left:
            profile_id = ruled_by(one.members, profile_id)
    return due


async def _read(places: Sequence[_Place], run: RetentionRun, audit: AuditLog) -> list[Leftover]:
    """What stands there; what is none of the user's changes is counted as broken."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(place: _Place) -> bytes | None:
        async with gate:
            read = audit.read if place.is_record else audit.read_baseline
            return await read(run.scope, place.change_id)

    found: list[Leftover] = []
    for place, data in zip(places, await asyncio.gather(*map(one, places)), strict=True):
        if data is None:
            continue
        left = read_leftover(run.scope, place.change_id, data, is_baseline=not place.is_record)
        if left is None:
            run.report.broken["audit"] += 1
        else:
            found.append(left)
    return found


async def _each(batch: Sequence[Leftover], do: Callable[[Leftover], Awaitable[None]]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(left: Leftover) -> None:
        async with gate:
            await do(left)

    outcomes = await asyncio.gather(*map(one, batch), return_exceptions=True)
    # All end before a failure goes up: none may go on behind the caller's back.
    for outcome in outcomes:
        if outcome is not None:
            raise outcome


async def _delete(one: Leftover, known_at: datetime, run: RetentionRun, audit: AuditLog) -> None:
    delete = audit.delete_baseline if one.is_baseline else audit.delete
    await delete(run.scope, one.change_id, known_at=known_at)


async def _put_back(one: Leftover, run: RetentionRun, audit: AuditLog) -> None:
    append = audit.append_baseline if one.is_baseline else audit.append
    try:
        await append(run.scope, one.change_id, one.data)
    except HistoryBroken:
        # The import has missed it, too, and has sealed it anew.
        return
