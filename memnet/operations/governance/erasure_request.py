"""Request, get and list erasures of users, resume their journals, and sign their receipts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import ErasureNotFound, ErasureRunning, HistoryCorrupt, Unavailable
from memnet.domain.core.scope import Actor, DocumentKey, StorageETag, UserScope, check_identifier
from memnet.domain.documents import envelope
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import (
    COPIES,
    INDEXED,
    Erasure,
    Found,
    Store,
    begin_batch,
    begun,
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
from memnet.operations.governance.legal_holds import holds_covering
from memnet.operations.history.sign_checkpoints import read_newest_head
from memnet.paging import bounded, pages, retry_conflicts, rows
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import DocumentStore
from memnet.stores.event_index import count_indexed

PAGE = 1000
ATTEMPTS = 8
FENCE_ATTEMPTS = 100
"""Every conflict is a change that a writer has committed, and each document can meet many of them."""


@dataclass(slots=True)
class ErasureJournal:
    """The record of a running erasure as this process last read or wrote it."""

    service: Service
    erasure: Erasure
    tag: StorageETag
    known_at: datetime
    """The moment before that read or write. Deletions are dated with it, so that the storage refuses late ones of a
    process that was suspended or superseded since."""
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

        async def one(found: Found) -> None:
            try:
                await self.service.user_storage.delete(scope, found, known_at=self.known_at)
            except StoreConflict:
                kept.append(found)

        holds = [found for found in self.erasure.batch if kind_of(scope, found.name) == "holds"]
        await bounded(one, [found for found in self.erasure.batch if found not in holds])
        # The oldest first, and none after a failure: without its release a hold would be in force again.
        for found in holds:
            await one(found)
        await self.note(end_batch(self.erasure, kept))


async def request_erasure(scope: UserScope, service: Service, *, idempotency_key: str, actor: Actor) -> ErasureStatus:
    """Create the fence, start the erasure and overwrite the documents; `erase_user` does the rest.

    From the response until the receipt, every write for the user is refused. The same request again is the same
    erasure, while it runs and afterwards. Under a legal hold the erasure ends at once as partial, and nothing is
    deleted; a hold that comes after the start is refused.

    Raises:
        ErasureRunning: another erasure of the user runs; the error names it.
        VaultUnavailable, DecryptionFailed: no receipt could be signed.
        HistoryCorrupt, Unavailable: the same request again continues.
    """
    await service.signing.newest()
    erasure_id = erasure_id_of(scope, idempotency_key)

    async def start() -> ErasureJournal | ErasureStatus:
        journal = await resume_erasure(scope, service)
        if journal is not None:
            return journal
        over = await _end_at_once(scope, erasure_id, actor, service)
        if over is not None:
            return over
        asked = erasures.dump(await _asked(scope, erasure_id, actor, service))
        await service.erasures.write(scope, asked, replaces=None)
        raise StoreConflict

    journal = await retry_conflicts(start, attempts=ATTEMPTS)
    if not isinstance(journal, ErasureJournal):
        return journal
    if journal.erasure.erasure_id != erasure_id:
        raise ErasureRunning(erasure_id=journal.erasure.erasure_id)
    await fence_documents(scope, known_at=journal.known_at, documents=service.documents)
    return running(journal.erasure, service.erasure_quiescence)


async def _end_at_once(scope: UserScope, erasure_id: str, actor: Actor, service: Service) -> ErasureStatus | None:
    """Return the erasure if it has a receipt, or if a legal hold keeps it from starting."""
    data = await service.erasures.read_receipt(scope.tenant_id, erasure_id)
    if data is not None:
        return ended(read_receipt(data))
    holds = await holds_covering(scope, holds=service.holds)
    if not holds:
        return None
    asked = await _asked(scope, erasure_id, actor, service)
    remaining = await count_remaining(scope, holds[0].covers, service)
    return ended(await sign_erasure(asked, remaining, service))


async def _asked(scope: UserScope, erasure_id: str, actor: Actor, service: Service) -> Erasure:
    try:
        head = await read_newest_head(scope, records=service.records)
    except HistoryCorrupt:
        head = None
    return begun(
        scope,
        erasure_id,
        by=actor.principal,
        at=service.clock.now(),
        stores=tuple(Store),
        settle=service.erasure_quiescence,
        last_head_sha256=None if head is None else sha256_hex(head.data),
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
    return bool(await holds_covering(erasure.scope, holds=service.holds))


async def fence_documents(scope: UserScope, *, known_at: datetime, documents: DocumentStore) -> None:
    """Overwrite every document of a user with a tombstone, so that conditional writes in flight fail.

    The user's fence must exist, or new documents may follow; `known_at` is the moment at which the caller knew that.
    Unreadable documents are left: no writer can read them either. Repeating the call is safe. Raises Unavailable.
    """
    async for page in pages(partial(documents.list, scope, ""), PAGE):
        await bounded(lambda row: _fence(row.key, known_at, documents), page)


async def _fence(key: DocumentKey, known_at: datetime, documents: DocumentStore) -> None:
    async def overwrite() -> None:
        stored = await documents.get(key)
        if stored is None:
            return
        try:
            head = envelope.load(stored.data)
        except HistoryCorrupt:
            return
        if not head.erased:
            empty = envelope.tombstone(head)
            data, summary = envelope.dump(empty), envelope.summarise(empty)
            await documents.put(key, data, summary, replaces=stored.storage_etag, known_at=known_at)

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


async def list_erasures(tenant_id: str, service: Service) -> tuple[Sequence[Erasure], Sequence[Receipt]]:
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
