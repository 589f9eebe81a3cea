"""Erase all that is stored of a user, as far as it gets now: remove, wait until nothing can arrive, look, sign."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import DecryptionFailed, MemnetError, VaultUnavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import INDEXED, MESSAGES, Store, counted, is_proven, scanned
from memnet.domain.governance.erasure_receipt import Remainder, read_receipt, recoverable
from memnet.operations.governance.erase_blobs import erase_blobs
from memnet.operations.governance.erase_index import erase_index
from memnet.operations.governance.fence_documents import fence_documents
from memnet.operations.governance.resume_erasure import ErasureJournal, resume_erasure
from memnet.operations.governance.sign_erasure import sign_erasure
from memnet.ports import StoreConflict
from memnet.service import Service

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
    """The next run continues: the settle time has not passed, or something arrived again."""
    FAILING = "failing"
    """A store does not do its part; the record says which. The next run tries again."""
    TAKEN_OVER = "taken_over"
    """Another process is at it."""


async def erase_user(scope: UserScope, service: Service) -> Erased:
    """Go on with the user's erasure from wherever it is; any number of processes may, at once and after a crash.

    It ends with a receipt: complete, after two whole scans of all stores in a row have found nothing and nothing that
    was begun before the fence stood can still arrive; or partial, if the storage keeps deleted blobs recoverable.
    A store that fails is named in the record and keeps it from ending. An erasure that has not started and that a legal
    hold forbids is withdrawn, and nothing is touched.

    Raises:
        HistoryCorrupt: the record cannot be read.
        Unavailable: the record cannot be read or written.
    """
    try:
        journal = await resume_erasure(scope, service)
        if journal is None:
            return Erased.NOTHING
        if await _is_signed(journal):
            # The process that signed it did not get to the last step.
            await service.erasures.lift(scope, tag=journal.tag)
            return Erased.FINISHED
        return await _erase(journal)
    except StoreConflict:
        return Erased.TAKEN_OVER


async def _is_signed(journal: ErasureJournal) -> bool:
    """Whether the receipt is there and proves the erasure.

    One without scans was signed under a legal hold by a process that a repetition of its request has overtaken.
    """
    erasure = journal.erasure
    data = await journal.service.erasures.read_receipt(erasure.scope.tenant_id, erasure.erasure_id)
    return data is not None and bool(read_receipt(data).members["clean_scans"])


async def _erase(journal: ErasureJournal) -> Erased:
    for _ in range(PASSES):
        # Before the pass: what it does not find must not have been able to arrive since.
        settled = _is_settled(journal)
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


def _is_settled(journal: ErasureJournal) -> bool:
    settled_at = journal.erasure.settled_at(journal.service.erasure_quiescence)
    return settled_at is not None and journal.service.clock.now() >= settled_at


async def _pass(journal: ErasureJournal) -> tuple[int, dict[str, str]]:
    """Remove what there is in every store; return how much that was, and the stores that failed, each with its code.

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
    """What a failure is told as; one that nobody thought of keeps no other store from being emptied."""
    if isinstance(error, MemnetError):
        return error.code.value
    # Not its text: a log outlives an erasure.
    log.error("erasure_step_crashed error=%s", type(error).__name__)
    return ErrorCode.INTERNAL.value


async def _remove_from(store: Store, journal: ErasureJournal) -> int:
    """Remove until nothing is found; return how much it was."""
    service, scope = journal.service, journal.erasure.scope
    if store is Store.BLOBS:
        await fence_documents(scope, known_at=journal.known_at, documents=service.documents)
        return await erase_blobs(journal=journal)
    if store is Store.INDEX:
        kind, removed = INDEXED, await erase_index(scope, search=service.search)
    else:
        kind, removed = MESSAGES, await service.queue.purge(scope)
    await journal.note(counted(journal.erasure, {kind: removed}))
    return removed


async def _end(journal: ErasureJournal, remains: Sequence[Remainder]) -> Erased:
    """Sign what became of it, then take the fence down: the user may begin afresh."""
    try:
        await sign_erasure(journal.erasure, remains, journal.service)
    except (VaultUnavailable, DecryptionFailed) as error:
        await journal.note(replace(journal.erasure, failing={VAULT: error.code.value}))
        return Erased.FAILING
    await journal.service.erasures.lift(journal.erasure.scope, tag=journal.tag)
    return Erased.FINISHED
