"""Sign heads: the newest change of each document of a user."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, Unavailable, VaultUnavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents import envelope
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history.checkpoint import (
    Checkpoint,
    CheckpointEntry,
    checkpoint_entry,
    checkpoint_key,
    find_regression,
    next_checkpoint,
    read_checkpoint,
    verify_continuity,
)
from memnet.operations.history.audit_records import PARALLEL, read_stored_records
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore, ErasureStore, ListedDocument, RecordStore

PAGE = 1000
HEADS_PAGE = 5000
log = logging.getLogger(__name__)


class Signed(StrEnum):
    """What became of it."""

    SIGNED = "signed"
    UNCHANGED = "unchanged"
    """Nothing is newer than the newest head."""
    POSTPONED = "postponed"
    """Another process has signed a head at the same time, which may hold less."""


async def sign_head(scope: UserScope, service: Service, *, accept: bool = False) -> Signed:
    """Write a head if a document has changed since the newest one.

    Writers may go on meanwhile. Raises HistoryCorrupt, having signed nothing, if a document cannot be read, lies behind
    the newest head or does not follow from it by its records: whoever took changes away is not to get a signature for
    it. `accept` signs what is stored all the same, for a person who has looked; what the heads before it show stays.
    Raises ErasureRunning, Unavailable, VaultUnavailable, and DecryptionFailed if there is no key to sign with.
    """
    previous = await read_newest_head(scope, records=service.records)
    rows = await _list(scope, service.documents)
    if _places(previous) == {row.key: row.summary.sequence for row in rows}:
        return Signed.UNCHANGED
    # A document in the head may be gone.
    found = await _read({*_places(previous), *(row.key for row in rows)}, service.documents)
    if not accept:
        await _check(previous, found, service.audit)
    entries = [checkpoint_entry(key, stored) for key, stored in found.items()]
    signed_at, signing = to_text(service.clock.now()), await service.signing.newest()
    head = next_checkpoint(scope, previous, entries, signed_at=signed_at, key=signing)
    if head is None:
        return Signed.UNCHANGED
    try:
        await service.records.write(checkpoint_key(scope, head.sequence), head.data, replaces=None)
    except StoreConflict:
        return Signed.POSTPONED
    return Signed.SIGNED


def _places(head: Checkpoint | None) -> dict[DocumentKey, int]:
    return {head.place(one): one.sequence for one in head.documents} if head else {}


def _entries(head: Checkpoint | None) -> dict[str, CheckpointEntry]:
    return {one.doc_id: one for one in head.documents} if head else {}


async def _list(scope: UserScope, documents: DocumentStore) -> Sequence[ListedDocument]:
    found: list[ListedDocument] = []
    cursor: str | None = None
    while True:
        page = await documents.list(scope, "", limit=PAGE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _read(keys: Iterable[DocumentKey], documents: DocumentStore) -> dict[DocumentKey, Envelope]:
    gate = asyncio.Semaphore(PARALLEL)
    found: dict[DocumentKey, Envelope] = {}

    async def one(key: DocumentKey) -> None:
        async with gate:
            stored = await documents.get(key)
        if stored is not None:
            found[key] = envelope.load(stored.data)

    await asyncio.gather(*map(one, keys))
    return found


async def _check(
    previous: Checkpoint | None,
    found: dict[DocumentKey, Envelope],
    audit: AuditLog,
) -> None:
    """Raise HistoryCorrupt unless each document goes on from where the newest head has it."""
    then = _entries(previous)
    now = [(key.scope, document, checkpoint_entry(key, document)) for key, document in found.items()]
    broken = find_regression(previous, [one for _, _, one in now])
    for scope, document, one in now:
        if broken is None and one.doc_id in then:
            signed = then[one.doc_id]
            records = await read_stored_records(scope, document, signed.sequence + 1, one.sequence, audit=audit)
            broken = verify_continuity(signed, records.values(), one)
    if broken is not None:
        raise broken


async def read_newest_head(scope: UserScope, *, records: RecordStore) -> Checkpoint | None:
    """Return it, its signature unchecked; None if nothing was ever signed.

    Raises HistoryCorrupt if what lies there is no head of this user's, Unavailable.
    """
    newest: ItemKey | None = None
    cursor: str | None = None
    while True:
        page = await records.list(scope, ItemKind.HEADS, limit=HEADS_PAGE, cursor=cursor)
        newest = page.items[-1] if page.items else newest
        cursor = page.next_cursor
        if cursor is None:
            break
    if newest is None:
        return None
    stored = await records.read(newest)
    head = read_checkpoint(stored.data) if stored else None
    if head is None or checkpoint_key(head.scope, head.sequence) != newest:
        raise HistoryCorrupt("The newest head cannot be read; run memnet audit verify.", head=newest.name)
    return head


@dataclass(slots=True)
class SignReport:
    """What a run saw: users, and what became of their heads. Nothing is signed for `broken` ones: what is stored does
    not follow from what was signed before."""

    users: int = 0
    signed: int = 0
    unchanged: int = 0
    postponed: int = 0
    broken: int = 0


async def sign_checkpoints(service: Service) -> SignReport:
    """Sign heads beside any number of writers and other signers; a user that fails does not stop the others.

    Goes through the users, not the documents: a user whose documents are all gone still has heads, and counts as
    broken unless an erasure runs. Each user costs a listing of documents, one of heads, and a read. Raises
    VaultUnavailable or DecryptionFailed if there is no key to sign with, Unavailable if the users cannot be listed.
    """
    report = SignReport()
    gate = asyncio.Semaphore(PARALLEL)
    await service.signing.newest()

    async def one(scope: UserScope) -> None:
        async with gate:
            try:
                outcome = await sign_head(scope, service)
            except (Unavailable, VaultUnavailable, ErasureRunning):
                outcome = Signed.POSTPONED
            except HistoryCorrupt:
                if await _is_being_erased(scope, service.erasures):
                    report.postponed += 1
                    return
                log.exception("a user's documents do not follow from what was signed", extra={"user": scope.prefix})
                report.broken += 1
                return
        report.signed += outcome is Signed.SIGNED
        report.unchanged += outcome is Signed.UNCHANGED
        report.postponed += outcome is Signed.POSTPONED

    async for scopes in service.users.pages(None):
        report.users += len(scopes)
        await asyncio.gather(*map(one, scopes))
    return report


async def _is_being_erased(scope: UserScope, erasures: ErasureStore) -> bool:
    """Whether it is an erasure of the user that takes away what was signed; if that cannot be told, it is not.

    The end of the tenant does not count: it lasts, and leaves held users as they are.
    """
    try:
        return await erasures.read(scope) is not None
    except Unavailable:
        return False
