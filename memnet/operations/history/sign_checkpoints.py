"""Sign checkpoints: the latest sequence and record hash of each document of a user."""

import logging
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, Unavailable, VaultUnavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents import envelope
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history.checkpoint import (
    Checkpoint,
    checkpoint_entry,
    checkpoint_key,
    find_regression,
    next_checkpoint,
    next_entry,
    read_checkpoint,
)
from memnet.paging import bounded, rows
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import AuditLog, ErasureStore, ItemStore, stream_stored_records

CHECKPOINTS_PAGE = 5000
log = logging.getLogger(__name__)


class Signed(StrEnum):
    """The result of signing for one user."""

    SIGNED = "signed"
    UNCHANGED = "unchanged"
    """No change is newer than the newest checkpoint."""
    POSTPONED = "postponed"
    """Another process has signed at the same time, perhaps with fewer changes."""


async def sign_checkpoint(scope: UserScope, service: Service, *, accept: bool = False) -> Signed:
    """Write a checkpoint if a document has changed since the newest one. Writers may run at the same time.

    `accept` signs the stored state without verifying it, for an operator who has investigated; earlier checkpoints
    still show the fault.

    Raises:
        HistoryCorrupt: A document cannot be read, is older than in the newest checkpoint, or its records do not lead
            from there to here. Nothing is signed: removed changes must not get a signature.
        DecryptionFailed: There is no key to sign with.
        ErasureRunning, Unavailable, VaultUnavailable.
    """
    previous = await read_newest_checkpoint(scope, records=service.records)
    signed = {previous.place(one): one.sequence for one in previous.documents} if previous else {}
    stored = {row.key: row.summary.sequence async for row in rows(partial(service.documents.list, scope, ""))}
    if signed == stored:
        return Signed.UNCHANGED

    async def read_one(key: DocumentKey) -> tuple[DocumentKey, Envelope] | None:
        document = await service.documents.get(key)
        return None if document is None else (key, envelope.load(document.data))

    # A document in the checkpoint may be missing from the listing.
    found = dict(filter(None, await bounded(read_one, signed.keys() | stored.keys())))
    if not accept:
        await _check(previous, found, service.audit)
    entries = [checkpoint_entry(key, document) for key, document in found.items()]
    signed_at, signing = to_text(service.clock.now()), await service.signing.newest()
    checkpoint = next_checkpoint(scope, previous, entries, signed_at=signed_at, key=signing)
    if checkpoint is None:
        return Signed.UNCHANGED
    try:
        await service.records.write(checkpoint_key(scope, checkpoint.sequence), checkpoint.data, replaces=None)
    except StoreConflict:
        return Signed.POSTPONED
    return Signed.SIGNED


async def _check(previous: Checkpoint | None, found: dict[DocumentKey, Envelope], audit: AuditLog) -> None:
    """Raise HistoryCorrupt unless the records of each document lead from the newest checkpoint to its current state."""
    then = {one.doc_id: one for one in previous.documents} if previous else {}
    now = [(key.scope, document, checkpoint_entry(key, document)) for key, document in found.items()]
    broken = find_regression(previous, [one for _, _, one in now])
    if broken is not None:
        raise broken
    for scope, document, one in now:
        entry = then.get(one.doc_id, one)
        async for record in stream_stored_records(scope, document, entry.sequence + 1, one.sequence, audit=audit):
            entry = next_entry(entry, record)
        if entry.record_hash != one.record_hash:
            raise HistoryCorrupt(change_id=one.change_id, reason="the document names another last record")


async def read_newest_checkpoint(scope: UserScope, *, records: ItemStore) -> Checkpoint | None:
    """Return the newest checkpoint, its signature not verified; None if there is none.

    Raises Unavailable; HistoryCorrupt: the stored bytes are not a checkpoint of this user.
    """
    newest: ItemKey | None = None
    async for key in rows(partial(records.list, scope, ItemKind.HEADS), CHECKPOINTS_PAGE):
        newest = key
    if newest is None:
        return None
    stored = await records.read(newest)
    found = read_checkpoint(stored.data) if stored else None
    if found is None or checkpoint_key(found.scope, found.sequence) != newest:
        raise HistoryCorrupt("The newest checkpoint cannot be read; run memnet audit verify.", head=newest.name)
    return found


@dataclass(slots=True)
class SignReport:
    """Users, and the results of signing. A user counts as `broken` if nothing was signed because of a fault."""

    users: int = 0
    signed: int = 0
    unchanged: int = 0
    postponed: int = 0
    broken: int = 0


async def sign_checkpoints(service: Service) -> SignReport:
    """Sign a checkpoint for each user in turn. A failure is counted and does not stop the others.

    Users are listed, not documents: a user whose documents are all missing still has checkpoints, and counts as broken
    unless an erasure is running. Writers and other signers may run at the same time.

    Raises:
        VaultUnavailable, DecryptionFailed: There is no key to sign with.
        Unavailable: The users cannot be listed.
    """
    report = SignReport()
    await service.signing.newest()

    async def sign_one(scope: UserScope) -> None:
        try:
            outcome = await sign_checkpoint(scope, service)
        except (Unavailable, VaultUnavailable, ErasureRunning):
            outcome = Signed.POSTPONED
        except HistoryCorrupt:
            if not await _is_being_erased(scope, service.erasures):
                log.exception("history_verification_failed", extra={"user": scope.prefix})
                report.broken += 1
                return
            outcome = Signed.POSTPONED
        report.signed += outcome is Signed.SIGNED
        report.unchanged += outcome is Signed.UNCHANGED
        report.postponed += outcome is Signed.POSTPONED

    async for scopes in service.users.pages(None):
        report.users += len(scopes)
        await bounded(sign_one, scopes)
    return report


async def _is_being_erased(scope: UserScope, erasures: ErasureStore) -> bool:
    """Return whether an erasure of the user is running; False if that cannot be read.

    The end of the tenant does not count: it is permanent, and keeps users under legal hold.
    """
    try:
        return await erasures.read(scope) is not None
    except Unavailable:
        return False
