"""Delete a user's expired retractions, and the copies of what they took out.

A retraction expires by the longest rule for jobs, counted from its last change. While its source is closed its record
stays without its plan, so that an undo can still open the source.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import StorageETag
from memnet.domain.core.user_item import ItemKind
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import Retraction, retraction_key
from memnet.domain.governance.withdrawn import load_copy, register_key
from memnet.operations.governance.retention_items import (
    Expired,
    RetentionRun,
    delete_expired,
    delete_items,
    loaded_items,
)
from memnet.operations.replay.closed_sources import read_closed_sources
from memnet.operations.replay.jobs import unmark_job
from memnet.paging import bounded, pages
from memnet.ports import StoreConflict

PAGE = 500
Found = tuple[Retraction, StorageETag]


async def retain_retractions(run: RetentionRun) -> None:
    """Delete expired retractions, then copies whose own period has ended or that no undo can use any more.

    One that is being applied or undone, or that failed, is blocked: its work is not done. Raises HistoryCorrupt,
    Unavailable.
    """
    tally, last_due = run.report.tallies["retractions"], run.policy.last_due(Kind.JOBS, None, run.as_of)
    spent: dict[str, bool] = {}
    async for found in loaded_items(ItemKind.RETRACTIONS, retractions.load, run):
        expired: list[Found] = []
        for retraction, tag in found:
            if retraction.is_expired:
                # Its source was closed when it expired.
                expired.append((retraction, tag))
                continue
            spent[retraction.retraction_id] = False
            if retraction.updated_at > last_due:
                run.retain(tally, Kind.JOBS, None, retraction.updated_at)
            elif not retraction.may_expire:
                tally.blocked += 1
            else:
                expired.append((retraction, tag))
        spent |= dict.fromkeys(await _expire(expired, run), True)
    await _retain_copies(run, spent)


async def _expire(expired: Sequence[Found], run: RetentionRun) -> set[str]:
    """Delete retractions, or the plans of those whose source is closed; return the ids of those without a plan."""
    if not expired:
        return set()
    service, tally = run.service, run.report.tallies["retractions"]
    closed = {one.retraction_id for one in await read_closed_sources(run.scope, service.records)}
    kept = [row for row in expired if row[0].is_expired and row[0].retraction_id in closed]
    tally.retained += len(kept)

    async def remove(batch: Sequence[Found], known_at: datetime) -> Sequence[Found]:
        async def one(row: Found) -> bool:
            retraction, tag = row
            try:
                if retraction.retraction_id in closed:
                    data = retractions.dump(replace(retraction, sealed=None))
                    await service.records.write(retraction.key, data, replaces=tag)
                else:
                    await service.records.delete(retraction.key, tag=tag, known_at=known_at)
                    await unmark_job(retraction.job, service)
            except StoreConflict:
                return False
            return True

        return [row for row, is_gone in zip(batch, await bounded(one, batch), strict=True) if is_gone]

    deleted = await delete_expired([row for row in expired if row not in kept], remove, tally, run=run)
    return {retraction.retraction_id for retraction, _ in deleted}


async def _retain_copies(run: RetentionRun, spent: dict[str, bool]) -> None:
    """Delete the copy of what a retraction took out when the item itself would have expired, or no undo can use it.

    `spent` says of retractions whether their plan is gone.
    """
    tally, records = run.report.tallies["withdrawn"], run.service.records
    async for page in pages(partial(records.list, run.scope, ItemKind.WITHDRAWN), PAGE):
        keys = [key for key in page if key != register_key(run.scope)]
        expired = []
        for key, stored in zip(keys, await bounded(records.read, keys), strict=True):
            if stored is None:
                continue
            try:
                copy = load_copy(key, stored.data)
            except HistoryCorrupt:
                run.report.unreadable["withdrawn"] += 1
                continue
            name = key.name.partition("/")[0]
            if name not in spent:
                found = await records.read(retraction_key(run.scope, name))
                spent[name] = found is None or _is_expired(found.data)
            if spent[name] or copy.since <= run.policy.last_due(copy.rule, copy.profile_id, run.as_of):
                expired.append(Expired(key, stored.storage_etag))
            else:
                run.retain(tally, copy.rule, copy.profile_id, copy.since)
        await delete_items(expired, ItemKind.WITHDRAWN, run)


def _is_expired(data: bytes) -> bool:
    """Whether retention has deleted the plan of a retraction; not of one that cannot be read."""
    try:
        return retractions.load(data).is_expired
    except HistoryCorrupt:
        return False
