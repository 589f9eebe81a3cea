"""Erase all that is stored of a user, as far as it gets now: remove, wait until nothing can arrive, look, sign."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from memnet.domain import envelope
from memnet.domain.document import UserScope
from memnet.domain.erasure import INDEXED, MESSAGES, Store, counted, end_batch, is_proven, scanned, stopped
from memnet.domain.erasure_receipt import Remainder, recoverable
from memnet.domain.error_code import ErrorCode
from memnet.domain.errors import MemnetError, SealBroken, SearchUnavailable, Unavailable, VaultUnavailable
from memnet.operations.count_remaining import count_remaining
from memnet.operations.erase_blobs import BATCH, Held, erase_blobs
from memnet.operations.erase_index import erase_index
from memnet.operations.fence_documents import fence_documents
from memnet.operations.find_holds import find_holds
from memnet.operations.list_stored import list_stored
from memnet.operations.open_erasure import ErasureJournal, open_erasure
from memnet.operations.sign_erasure import sign_erasure
from memnet.ports import StoreConflict
from memnet.stores import Erasing

PAGE = 1000
PASSES = 20
"""After so many the rest is left to another run: something goes on bringing things back."""
VAULT = "vault"
"""What fails if the receipt cannot be signed."""
log = logging.getLogger(__name__)


class Erased(StrEnum):
    """How far a run came."""

    NOTHING = "nothing"
    """There is no erasure of this user, or no more."""
    FINISHED = "finished"
    WAITING = "waiting"
    """It goes on with the next run: the settle time is not over, something arrived again, or a hold has just stopped
    it.
    """
    FAILING = "failing"
    """A store does not do its part; the record says which. The next run tries again."""
    TAKEN_OVER = "taken_over"
    """Another process is at it."""


async def erase_user(scope: UserScope, *, erasing: Erasing) -> Erased:
    """Go on with the user's erasure from wherever it is; any number of processes may, at once and after a crash.

    It ends with a receipt: complete, after two whole scans of all stores in a row have found nothing and nothing that
    was begun before the fence stood can still arrive; or partial, if the storage keeps deleted blobs recoverable; or
    partial, if a legal hold came meanwhile: then nothing more is removed, whatever becomes of the hold, and it ends
    once no process that had not noticed can remove anything. A store that fails, or that this process does not know, is
    named in the record and keeps it from ending. Raises HistoryBroken if the record cannot be read,
    Unavailable if it cannot be written.
    """
    try:
        journal = await open_erasure(scope, erasing=erasing)
        if journal is None:
            return Erased.NOTHING
        if await erasing.erasures.read_receipt(scope.tenant_id, journal.erasure.erasure_id) is not None:
            # Whoever signed it did not get to the last step.
            await erasing.erasures.lift(scope, tag=journal.tag)
            return Erased.FINISHED
        return await (_erase(journal) if journal.erasure.stopped_at is None else _end_stopped(journal))
    except StoreConflict:
        return Erased.TAKEN_OVER


async def _erase(journal: ErasureJournal) -> Erased:
    for _ in range(PASSES):
        # Before the pass: what it does not find must not have been able to arrive since.
        settled = _is_settled(journal)
        try:
            found, failing = await _pass(journal)
        except Held as held:
            covers, now = held.holds[0].covers, journal.erasing.clock.now()
            await journal.note(stopped(journal.erasure, covers, now))
            return Erased.WAITING
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


def _is_settled(journal: ErasureJournal) -> bool:
    settled_at = journal.erasure.settled_at(journal.erasing.settle)
    return settled_at is not None and journal.erasing.clock.now() >= settled_at


async def _pass(journal: ErasureJournal) -> tuple[int, dict[str, str]]:
    """Remove what there is in every store; return how much that was, and the stores that failed, each with its code.

    Raises Held, StoreConflict.
    """
    found, failing = 0, dict[str, str]()
    for store in journal.erasure.stores:
        try:
            # A hold that cannot be read is a failure of the storage, and as good as one.
            holds = await find_holds(journal.erasure.scope, holds=journal.erasing.holds)
            if holds:
                raise Held(holds)
            found += await _remove_from(store, journal)
        except (Held, StoreConflict):
            raise
        except Exception as error:
            failing[store.value] = _code(error)
    return found, failing


def _code(error: Exception) -> str:
    """What a failure is told as; one that nobody thought of keeps no other store from being emptied."""
    if isinstance(error, MemnetError):
        return error.code.value
    # Not its text: a log outlives an erasure.
    log.error("erasure_step_crashed error=%s", type(error).__name__)
    return ErrorCode.INTERNAL.value


async def _remove_from(store: Store, journal: ErasureJournal) -> int:
    """Remove until nothing is found; return how much it was."""
    erasing, scope = journal.erasing, journal.erasure.scope
    if store is Store.BLOBS:
        await fence_documents(scope, known_at=journal.known_at, documents=erasing.documents)
        return await erase_blobs(journal=journal)
    if store is Store.INDEX and erasing.search is not None:
        kind, removed = INDEXED, await erase_index(scope, search=erasing.search)
    elif store is Store.QUEUES and erasing.queue is not None:
        kind, removed = MESSAGES, await erasing.queue.purge(scope)
    else:
        raise _not_here(store)
    await journal.note(counted(journal.erasure, {kind: removed}))
    return removed


def _not_here(store: Store) -> MemnetError:
    """The failure of a store that another process knows and this one does not."""
    return SearchUnavailable() if store is Store.INDEX else Unavailable(dependency="service_bus")


async def _end(journal: ErasureJournal, remains: Sequence[Remainder]) -> Erased:
    """Sign what became of it, then take the fence down: the user may begin afresh."""
    try:
        await sign_erasure(journal.erasure, remains, erasing=journal.erasing)
    except (VaultUnavailable, SealBroken) as error:
        await journal.note(replace(journal.erasure, failing={VAULT: error.code.value}))
        return Erased.FAILING
    await journal.erasing.erasures.lift(journal.erasure.scope, tag=journal.tag)
    return Erased.FINISHED


async def _end_stopped(journal: ErasureJournal) -> Erased:
    """Leave what there is, count it, and say why it remains.

    Documents that were emptied before the hold came are removed all the same: there is nothing in them to keep.
    """
    erasing, scope = journal.erasing, journal.erasure.scope
    if not _is_settled(journal):
        return Erased.WAITING
    if journal.unknown:
        failing = {store.value: _not_here(store).code.value for store in journal.unknown}
        await journal.note(replace(journal.erasure, failing=failing))
        return Erased.FAILING
    try:
        stored = await list_stored(scope, storage=erasing.storage)
        await journal.note(end_batch(journal.erasure, [one for one in journal.erasure.batch if one in stored]))
        empty = await _tombstones(scope, erasing)
        tombstones = [one for one in stored if one.name in empty and not one.copy and one.kept_until is None]
        for start in range(0, len(tombstones), BATCH):
            await journal.remove(tombstones[start : start + BATCH])
        remains = await count_remaining(scope, journal.erasure.stopped_by or "", erasing=erasing)
    except StoreConflict:
        raise
    except Exception as error:
        await journal.note(replace(journal.erasure, failing={_store_of(error).value: _code(error)}))
        return Erased.FAILING
    return await _end(journal, remains)


def _store_of(error: Exception) -> Store:
    """Which store has failed while what remains was counted, which is asked of two of them."""
    of_search = isinstance(error, Unavailable) and error.details.get("dependency") == "search"
    return Store.INDEX if of_search else Store.BLOBS


async def _tombstones(scope: UserScope, erasing: Erasing) -> frozenset[str]:
    """The names of the documents that were emptied."""
    found = set[str]()
    cursor: str | None = None
    while True:
        page = await erasing.documents.list(scope, "", limit=PAGE, cursor=cursor)
        for row in page.items:
            stored = await erasing.documents.get(row.key) if row.summary.deleted else None
            if stored is not None and envelope.load(stored.data).erased:
                found.add(row.key.blob_name)
        cursor = page.next_cursor
        if cursor is None:
            return frozenset(found)
