"""Run the erasures of users: delete, wait until no write can arrive, scan, sign."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial

from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt, MemnetError, Unavailable, VaultUnavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import INDEXED, MESSAGES, Found, Store, counted, is_proven, scanned
from memnet.domain.governance.erasure_receipt import Remainder, read_receipt, recoverable
from memnet.operations.governance.erasure_request import (
    ErasureJournal,
    fence_documents,
    resume_erasure,
    sign_erasure,
)
from memnet.paging import bounded, pages
from memnet.ports import IndexMissing, StoreConflict
from memnet.service import Service
from memnet.stores import Search, find_indexes

MAX_PASSES = 20
"""Passes of one run; the next run continues if writers keep storing data."""
MAX_CONCURRENCY = 4
"""Erasures that run at the same time."""
PAGE = 5000
BATCH = 250
"""The largest batch in a journal."""
INDEX_PAGE = 900
MAX_STALE_READS = 10
"""How often an index may still return deleted documents before the next run continues."""
PAUSE_SECONDS = 0.2
VAULT = "vault"
"""The failing part if the receipt cannot be signed."""
log = logging.getLogger(__name__)


class Erased(StrEnum):
    """The result of one run of an erasure."""

    NOTHING = "nothing"
    """No erasure of this user runs."""
    FINISHED = "finished"
    WAITING = "waiting"
    """The next run continues: a write may still arrive, or one has arrived."""
    FAILING = "failing"
    """A store fails; the record names it. The next run retries it."""
    TAKEN_OVER = "taken_over"
    """Another process runs the erasure."""


async def erase_user(scope: UserScope, service: Service) -> Erased:
    """Continue the user's erasure; several processes may, at once and after a crash.

    It ends with a receipt: complete, after two consecutive full scans of all stores found nothing and no write that
    began before the fence can still arrive; or partial, if the storage keeps deleted blobs recoverable. A failing store
    is recorded and keeps the erasure from ending. An erasure that has not started is withdrawn under a legal hold, and
    nothing is deleted.

    Raises:
        HistoryCorrupt: the record cannot be read.
        Unavailable: the record cannot be read or written.
    """
    try:
        journal = await resume_erasure(scope, service)
        if journal is None:
            return Erased.NOTHING
        if await _is_signed(journal):
            # The process that signed it was interrupted before this step.
            await service.erasures.lift(scope, tag=journal.tag)
            return Erased.FINISHED
        return await _erase(journal)
    except StoreConflict:
        return Erased.TAKEN_OVER


async def _is_signed(journal: ErasureJournal) -> bool:
    """Return whether a receipt exists and proves the erasure.

    One without scans was signed under a legal hold by a process that a repetition of its request has superseded.
    """
    erasure = journal.erasure
    data = await journal.service.erasures.read_receipt(erasure.scope.tenant_id, erasure.erasure_id)
    return data is not None and bool(read_receipt(data).members["clean_scans"])


async def _erase(journal: ErasureJournal) -> Erased:
    for _ in range(MAX_PASSES):
        # Read before the pass: data that the pass does not find must not have been able to arrive since.
        settled_at = journal.erasure.settled_at(journal.service.erasure_quiescence)
        settled = settled_at is not None and journal.service.clock.now() >= settled_at
        found, failing = await _pass(journal)
        if failing:
            await journal.note(replace(journal.erasure, failing=failing, clean_scans=0))
            return Erased.FAILING
        if not settled:
            await journal.note(replace(journal.erasure, failing={}))
            return Erased.WAITING
        await journal.note(replace(scanned(journal.erasure, clean=found == 0), failing={}))
        if is_proven(journal.erasure):
            return await _end(journal, recoverable(journal.erasure.scope, journal.kept))
    return Erased.WAITING


async def _pass(journal: ErasureJournal) -> tuple[int, dict[str, str]]:
    """Delete from every store; return the number of deleted items, and the error code of each failing store.

    Raises StoreConflict.
    """
    found, failing = 0, dict[str, str]()
    for store in journal.erasure.stores:
        try:
            found += await _remove_from(store, journal)
        except StoreConflict:
            raise
        except Exception as error:
            failing[store.value] = _code(error)
    return found, failing


def _code(error: Exception) -> str:
    """Return the error code of a failure; an unexpected one does not stop the other stores."""
    if isinstance(error, MemnetError):
        return error.code.value
    # Not its text: a log outlives an erasure.
    log.error("erasure_step_crashed error=%s", type(error).__name__)
    return ErrorCode.INTERNAL.value


async def _remove_from(store: Store, journal: ErasureJournal) -> int:
    """Delete until nothing is found; return the number of deleted items."""
    service, scope = journal.service, journal.erasure.scope
    if store is Store.BLOBS:
        await fence_documents(scope, service, known_at=journal.known_at)
        return await erase_blobs(journal)
    if store is Store.INDEX:
        kind, removed = INDEXED, await erase_index(scope, search=service.search)
    else:
        kind, removed = MESSAGES, await service.queue.purge(scope)
    await journal.note(counted(journal.erasure, {kind: removed}))
    return removed


async def _end(journal: ErasureJournal, remaining: Sequence[Remainder]) -> Erased:
    """Sign the receipt, then delete the fence: the user may be written for again."""
    try:
        await sign_erasure(journal.erasure, remaining, journal.service)
    except (VaultUnavailable, DecryptionFailed) as error:
        await journal.note(replace(journal.erasure, failing={VAULT: error.code.value}))
        return Erased.FAILING
    await journal.service.erasures.lift(journal.erasure.scope, tag=journal.tag)
    return Erased.FINISHED


async def erase_users(tenant_id: str | None, service: Service) -> Counter[Erased]:
    """Run every erasure of a tenant, or of all tenants; return the number of each result.

    A failure does not stop the others, and concurrent calls are safe. Raises InvalidIdentifier, Unavailable if the
    fences cannot be listed.
    """

    async def one(scope: UserScope) -> Erased:
        try:
            return await erase_user(scope, service)
        except (Unavailable, HistoryCorrupt) as error:
            # Without the user: a log outlives an erasure.
            log.error("erasure_failed tenant=%s error=%s", scope.tenant_id, error.code)
        except Exception:
            log.exception("erasure_crashed")
        return Erased.FAILING

    scopes = sorted(await service.erasures.erasing(tenant_id), key=lambda scope: scope.prefix)
    return Counter(await bounded(one, scopes, at_once=MAX_CONCURRENCY))


async def erase_blobs(journal: ErasureJournal) -> int:
    """Delete a user's blobs until a full listing finds none that can be deleted; return their number.

    Current blobs go first, then their versions and snapshots. Soft-deleted blobs cannot be deleted before they expire;
    `journal.kept` names them. Raises StoreConflict if another process has taken the erasure over, Unavailable.
    """
    service, scope = journal.service, journal.erasure.scope
    await journal.finish_batch()
    total, copies_too = 0, False
    while True:
        kept: list[Found] = []
        removed = left = 0
        async for page in pages(partial(service.user_storage.list, scope), PAGE):
            kept += [one for one in page if one.kept_until is not None]
            there = [one for one in page if one.kept_until is None]
            wanted = [one for one in there if copies_too or not one.copy]
            for start in range(0, len(wanted), BATCH):
                await journal.remove(wanted[start : start + BATCH])
            removed, left = removed + len(wanted), left + len(there) - len(wanted)
        total += removed
        if not removed and not left:
            journal.kept = kept
            return total
        # Deleting a version requires a separate permission; without it, the current blobs are still deleted.
        copies_too = True


async def erase_index(scope: UserScope, *, search: Search) -> int:
    """Delete a user's documents from every index until none returns one; return their number, each event once.

    Raises Unavailable if one cannot be deleted or is still returned after a while; repeat the call to continue.
    """
    removed: set[str] = set()
    for name in await find_indexes(search=search):
        try:
            await _erase_from(name, scope, removed, search)
        except IndexMissing:
            continue
    return len(removed)


async def _erase_from(name: str, scope: UserScope, removed: set[str], search: Search) -> None:
    """Add the deleted documents to `removed`."""
    deleted: set[str] = set()
    stale_reads = 0
    while found := await search.index.list_of_user(name, scope, limit=INDEX_PAGE, after=None):
        if deleted.issuperset(found):
            # Deleted and still returned: the index is eventually consistent.
            stale_reads += 1
            if stale_reads == MAX_STALE_READS:
                raise Unavailable(dependency="search")
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        if await search.index.delete(name, found):
            raise Unavailable(dependency="search")
        deleted.update(found)
        removed.update(found)
        stale_reads = 0
