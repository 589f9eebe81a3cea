"""Request, get and list erasures of users, resume their journals, and sign their receipts."""

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import ErasureNotFound, ErasureRunning, HistoryCorrupt, TenantEnded, Unavailable
from memnet.domain.core.scope import Actor, DocumentKey, StorageETag, UserScope, check_identifier
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import (
    COPIES,
    INDEXED,
    Erasure,
    Found,
    Store,
    begin_batch,
    end_batch,
    erasure_id_of,
    kind_of,
    started,
)
from memnet.domain.governance.erasure_receipt import (
    SALT_BYTES,
    ErasureStatus,
    Receipt,
    Remainder,
    ended,
    make_receipt,
    read_receipt,
    recoverable,
    running,
    withheld,
)
from memnet.domain.governance.waiting import WaitingKind
from memnet.operations.governance.legal_holds import holds_covering
from memnet.operations.history.sign_checkpoints import read_newest_checkpoint
from memnet.paging import bounded, pages, retry_conflicts, rows
from memnet.ports import Page, StoreConflict
from memnet.service import Service
from memnet.stores import count_indexed

PAGE = 5000
ATTEMPTS = 8
FENCE_ATTEMPTS = 100
"""Each conflict is a change that a writer has committed, and a busy document has many."""


@dataclass(slots=True)
class ErasureJournal:
    """The record of a running erasure, as this process last read or wrote it."""

    service: Service
    erasure: Erasure
    tag: StorageETag
    known_at: datetime
    """The moment before that read or write. Deletions are dated with it, so that the storage refuses those of a process
    that was suspended or superseded since."""
    kept: Sequence[Found] = ()
    """The soft-deleted blobs, still recoverable, in the last complete listing."""

    async def note(self, erasure: Erasure) -> None:
        """Write the record if it has changed. Raises StoreConflict if another process has written it, Unavailable."""
        if erasure == self.erasure:
            return
        before = self.service.clock.now()
        self.tag = await self.service.erasures.write(erasure.scope, erasures.dump(erasure), replaces=self.tag)
        self.erasure, self.known_at = erasure, before

    async def remove(self, batch: Sequence[Found]) -> None:
        """Record the batch, then delete it, so that each blob is counted once. Raises StoreConflict, Unavailable."""
        await self.note(begin_batch(self.erasure, batch))
        await self.finish_batch()

    async def finish_batch(self) -> None:
        """Delete the recorded batch; blobs that were changed since are left and not counted.

        Raises StoreConflict if another process has taken the erasure over, Unavailable.
        """
        scope, kept = self.erasure.scope, list[Found]()

        async def delete(found: Found) -> None:
            try:
                await self.service.user_storage.delete(scope, found, known_at=self.known_at)
            except StoreConflict:
                kept.append(found)

        holds = [found for found in self.erasure.batch if kind_of(scope, found.name) == "holds"]
        await bounded(delete, [found for found in self.erasure.batch if found not in holds])
        # The oldest first, and none after a failure: without its release a hold would be in force again.
        for found in holds:
            await delete(found)
        await self.note(end_batch(self.erasure, kept))


async def request_erasure(scope: UserScope, service: Service, *, idempotency_key: str, actor: Actor) -> ErasureStatus:
    """Create the fence, start the erasure and overwrite the documents; `erase_user` does the rest.

    From the response until the receipt, every write for the user is refused. A repeated request returns the same
    erasure, while it runs and afterwards. Under a legal hold the erasure ends at once as partial, and nothing is
    deleted; a hold placed after the start is refused.

    Raises:
        ErasureRunning: another erasure of the user runs; the error names it.
        VaultUnavailable, DecryptionFailed: no receipt could be signed.
        HistoryCorrupt, Unavailable: repeat the request.
    """
    await service.signing.newest()
    erasure_id = erasure_id_of(scope, idempotency_key)

    async def start() -> ErasureJournal | ErasureStatus:
        journal = await resume_erasure(scope, service)
        if journal is not None:
            return journal
        ended_already = await _end_at_once(scope, erasure_id, actor, service)
        if ended_already is not None:
            return ended_already
        requested = await _new_erasure(scope, erasure_id, actor, service)
        await service.erasures.write(scope, erasures.dump(requested), replaces=None)
        # The next attempt reads the fence, and starts the erasure.
        raise StoreConflict

    journal = await retry_conflicts(start, attempts=ATTEMPTS)
    if not isinstance(journal, ErasureJournal):
        return journal
    if journal.erasure.erasure_id != erasure_id:
        raise ErasureRunning(erasure_id=journal.erasure.erasure_id)
    service.search.unsealed.forget(scope)
    await fence_documents(scope, service, known_at=journal.known_at)
    return running(journal.erasure, service.erasure_quiescence)


async def _end_at_once(scope: UserScope, erasure_id: str, actor: Actor, service: Service) -> ErasureStatus | None:
    """Return the erasure if it has a receipt, or if a legal hold keeps it from starting."""
    data = await service.erasures.read_receipt(scope.tenant_id, erasure_id)
    if data is not None:
        return ended(read_receipt(data))
    holds = await holds_covering(scope, service)
    if not holds:
        return None
    requested = await _new_erasure(scope, erasure_id, actor, service)
    remaining = await count_remaining(scope, holds[0].covers, service)
    with suppress(TenantEnded):  # nothing is written for such a tenant
        await service.waiting.mark(scope, WaitingKind.ERASURE, erasure_id)
    return ended(await sign_erasure(requested, remaining, service))


async def _new_erasure(scope: UserScope, erasure_id: str, actor: Actor, service: Service) -> Erasure:
    try:
        checkpoint = await read_newest_checkpoint(scope, records=service.records)
    except HistoryCorrupt:
        checkpoint = None
    return Erasure(
        scope=scope,
        erasure_id=erasure_id,
        requested_by=actor.principal,
        accepted_at=to_text(service.clock.now()),
        stores=tuple(Store),
        settle_seconds=math.ceil(service.erasure_quiescence.total_seconds()),
        last_head_sha256=None if checkpoint is None else sha256_hex(checkpoint.data),
    )


async def count_remaining(scope: UserScope, covers: str, service: Service) -> Sequence[Remainder]:
    """Count the data of a user under a legal hold by kind, and the deleted data that can be recovered.

    `covers` says whether the hold is on the user or the tenant. Queued messages are not counted: without the data they
    have no effect. Raises Unavailable.
    """
    stored = [one async for one in rows(partial(service.user_storage.list, scope))]
    found = Counter(COPIES if one.copy else kind_of(scope, one.name) for one in stored if one.kept_until is None)
    found[INDEXED] = await count_indexed(scope, search=service.search)
    return [*withheld(+found, covers), *recoverable(scope, stored)]


async def resume_erasure(scope: UserScope, service: Service) -> ErasureJournal | None:
    """Return the journal of the user's erasure, or None; an erasure that has not started starts.

    If a legal hold covers the user, or the erasure has its receipt already, it is withdrawn instead: its fence is
    deleted, and nothing else was.

    Raises:
        StoreConflict: another process has changed the journal.
        HistoryCorrupt: the journal or a legal hold cannot be read.
        Unavailable.
    """
    before = service.clock.now()
    stored = await service.erasures.read(scope)
    if stored is None:
        return None
    journal = ErasureJournal(service, erasures.load(scope, stored.data), stored.storage_etag, before)
    if journal.erasure.started_at is None and await _is_withdrawn(journal):
        await service.erasures.lift(scope, tag=journal.tag)
        return None
    await journal.note(started(journal.erasure, service.clock.now()))
    return journal


async def _is_withdrawn(journal: ErasureJournal) -> bool:
    service, erasure = journal.service, journal.erasure
    if await service.erasures.read_receipt(erasure.scope.tenant_id, erasure.erasure_id) is not None:
        # It ended between two reads of the process that created this fence. Data stored since then stays.
        return True
    return bool(await holds_covering(erasure.scope, service))


async def fence_documents(scope: UserScope, service: Service, *, known_at: datetime) -> None:
    """Overwrite every document of a user with a tombstone, so that conditional writes in flight fail.

    The user's fence must exist, or new documents may follow; `known_at` is the moment at which the caller knew that.
    Unreadable documents are left: no writer can read them either. Repeating the call is safe. Raises Unavailable.
    """
    async for page in pages(partial(service.documents.list, scope, ""), PAGE):
        await bounded(lambda row: _fence(row.key, known_at, service), page)


async def _fence(key: DocumentKey, known_at: datetime, service: Service) -> None:
    async def overwrite() -> None:
        stored = await service.documents.get(key)
        if stored is None:
            return
        try:
            current = envelope.load(stored.data)
        except HistoryCorrupt:
            return
        if not current.erased:
            empty = envelope.tombstone(current)
            data, summary = envelope.dump(empty), envelope.summarise(empty)
            await service.documents.put(key, data, summary, replaces=stored.storage_etag, known_at=known_at)

    await retry_conflicts(overwrite, attempts=FENCE_ATTEMPTS)


async def sign_erasure(erasure: Erasure, remaining: Sequence[Remainder], service: Service) -> Receipt:
    """Create the receipt and return it, or the one that another process has created for the same erasure.

    Raises VaultUnavailable, DecryptionFailed, Unavailable.
    """
    receipt = make_receipt(
        erasure,
        remaining,
        finished_at=service.clock.now(),
        salt=service.ids.secret(SALT_BYTES),
        key=await service.signing.newest(),
    )
    tenant_id = erasure.scope.tenant_id
    try:
        await service.erasures.create_receipt(tenant_id, erasure.erasure_id, receipt)
    except StoreConflict:
        existing = await service.erasures.read_receipt(tenant_id, erasure.erasure_id)
        if existing is None:
            raise Unavailable(dependency="blob_storage") from None
        return read_receipt(existing)
    return read_receipt(receipt)


async def get_erasure(scope: UserScope, erasure_id: str, service: Service) -> ErasureStatus:
    """Return the status of an erasure, with its receipt once all data and the fence are deleted.

    Raises InvalidIdentifier, ErasureNotFound, also for an erasure of another user, HistoryCorrupt, Unavailable.
    """
    check_identifier("erasure_id", erasure_id)
    stored = await service.erasures.read(scope)
    found = erasures.load(scope, stored.data) if stored else None
    if found is not None and found.erasure_id == erasure_id:
        return running(found, service.erasure_quiescence)
    data = await service.erasures.read_receipt(scope.tenant_id, erasure_id)
    receipt = None if data is None else read_receipt(data)
    if receipt is None or not receipt.is_of(scope):
        raise ErasureNotFound()
    return ended(receipt)


async def list_erasures(scope: UserScope, service: Service, *, limit: int, cursor: str | None) -> Page[ErasureStatus]:
    """Return the user's running erasure on the first page, and the ended ones among the tenant's next `limit` receipts.

    A receipt names its user only by a salted hash, so those of the whole tenant are read; a page may be empty. Raises
    InvalidCursor, HistoryCorrupt, Unavailable.
    """
    stored = None if cursor else await service.erasures.read(scope)
    found = [running(erasures.load(scope, stored.data), service.erasure_quiescence)] if stored else []
    page = await service.erasures.list_receipts(scope.tenant_id, limit=limit, cursor=cursor)
    texts = await bounded(partial(service.erasures.read_receipt, scope.tenant_id), page.items)
    receipts = [read_receipt(data) for data in texts if data is not None]
    own = [ended(one) for one in receipts if one.is_of(scope)]
    return Page([*found, *sorted(own, key=lambda one: one.accepted_at, reverse=True)], page.next_cursor)


async def list_tenant_erasures(tenant_id: str, service: Service) -> tuple[Sequence[Erasure], Sequence[Receipt]]:
    """Return a tenant's running erasures, oldest first, and the receipts of the others, newest first.

    Raises InvalidIdentifier, HistoryCorrupt if one cannot be read, Unavailable.
    """
    found: list[Erasure] = []
    for scope in await service.erasures.erasing(tenant_id):
        stored = await service.erasures.read(scope)
        if stored is not None:
            found.append(erasures.load(scope, stored.data))
    receipts: list[Receipt] = []
    async for erasure_id in rows(partial(service.erasures.list_receipts, tenant_id), PAGE):
        data = await service.erasures.read_receipt(tenant_id, erasure_id)
        if data is not None:
            receipts.append(read_receipt(data))
    return (
        sorted(found, key=lambda one: (one.accepted_at, one.erasure_id)),
        sorted(receipts, key=lambda receipt: str(receipt.members["finished_at"]), reverse=True),
    )
