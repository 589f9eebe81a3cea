"""Make one change durable: gather, decide, apply; and once more for as long as the outcome is not certain."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memnet.domain.core.errors import DocumentNotFound, HistoryCorrupt, MemnetError, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import commit, envelope
from memnet.domain.documents.audit_record import read_record, record_bytes
from memnet.domain.documents.audit_values import SALT_BYTES, Sealing
from memnet.domain.documents.commands import IfMatch, WriteCommand, WriteResult
from memnet.domain.documents.envelope import AppliedRequest, Envelope
from memnet.domain.documents.write_decision import Decision
from memnet.domain.sealing.sealing import KEY_BYTES, NONCE_BYTES, DataKey
from memnet.operations.documents.flush_outbox import flush_outbox
from memnet.operations.history.audit_records import open_audit_records
from memnet.operations.sealing.key_ring import KeyRing
from memnet.ports import StoreConflict, StoredDocument
from memnet.service import Service
from memnet.stores import DocumentStore, Vault

ATTEMPTS = 4
"""A lost race is decided at the second look; more looks are needed only while the store keeps failing."""

Decide = Callable[[Envelope | None], Decision]
T = TypeVar("T")


async def commit_change(command: WriteCommand, decide: Decide, service: Service) -> WriteResult:
    """Apply `command`, whose outcome `decide` works out from the newest version, exactly once.

    Raises what `decide` and `domain.commit.settle` raise, and VaultUnavailable or DecryptionFailed when there is no
    key to seal the record with, having changed nothing; HistoryCorrupt when stored bytes are not what was written;
    ErasureRunning when the user's memory is being erased, this change included if it came through; and Unavailable
    when the store left the outcome open: the same request with the same key finds out.

    A dry run raises what the write would raise now, and stores nothing: it makes no data key and moves no record.
    """
    scope, key = command.key.scope, _KeyInHand(service.audit.vault, command.key.scope, may_make=not command.dry_run)
    for attempt in range(ATTEMPTS):
        remembered = None if attempt else _remembered(command, service.documents)
        stored, head = await key.beside(_newest(command, service.documents, remembered))
        try:
            receipt = await _earlier_receipt(head, command, service)
            if head and receipt:
                return commit.result(head.doc_id, receipt, replayed=True, dry_run=command.dry_run)
            draft = decide(head)
        except MemnetError:
            if remembered is None:
                raise
            # What is remembered may have been erased since: it is no ground for a refusal.
            continue
        await _check_fence(head, command, service.documents)
        carried = commit.unflushed(head, lambda change_id: service.audit.stands(scope, change_id))
        sealing = await key.sealing()
        if command.dry_run:
            await _check_storing(head, carried, key.is_stored, command, service)
        elif commit.outbox_is_full(carried):
            await flush_outbox(scope, carried, audit=service.audit)
            carried = ()
        version = commit.next_version(
            head,
            command,
            draft,
            now=to_text(service.clock.now()),
            new_doc_id=service.ids.new(),
            carried=carried,
            sealing=sealing,
        )
        if command.dry_run:
            return commit.preview(version)
        try:
            await service.documents.put(
                command.key,
                envelope.dump(version),
                envelope.summarise(version),
                replaces=stored.storage_etag if stored else None,
            )
        except (StoreConflict, Unavailable):
            # Lost, applied unseen, or still on its way: only the newest version can tell.
            continue
        await _check_fence(version, command, service.documents)
        service.background.start("flush_outbox", flush_outbox(scope, version.commit.outbox, audit=service.audit))
        return commit.result(version.doc_id, version.commit.receipts[-1], replayed=False)
    raise Unavailable()


class _KeyInHand:
    """The data key for the record of one request. Once it is there it stays, through all attempts: a vault that goes
    down between two of them must not have the last word on a request whose outcome is open.
    """

    def __init__(self, vault: Vault, scope: UserScope, *, may_make: bool) -> None:
        """A dry run may not make a key."""
        self._vault, self._scope, self._may_make = vault, scope, may_make
        self._key: DataKey | None = vault.cache.current(scope) if vault.cache else None
        self._failure: BaseException | None = None
        self.is_stored = True
        """False: the user has no key, and a dry run goes by one that is stored nowhere."""

    async def beside(self, read: Awaitable[T]) -> T:
        """Return what `read` does; a key that is not at hand is read meanwhile, and none is made.

        A failure counts only once the key is needed: what was applied before is answered all the same.
        """
        if self._key is not None:
            return await read
        found, key = await asyncio.gather(read, KeyRing(self._vault).current(self._scope), return_exceptions=True)
        if isinstance(key, BaseException):
            self._failure = key
        else:
            self._key = key
        if isinstance(found, BaseException):
            raise found
        return found

    async def sealing(self) -> Sealing:
        """Return what to seal one attempt's record with.

        A user who has no key yet gets the first one; a dry run asks only whether the vault could wrap it.
        """
        if self._failure is not None:
            raise self._failure
        if self._key is None and not self._may_make:
            await self._vault.keys.find_newest(self._scope.tenant_id)
            self._key, self.is_stored = DataKey("", self._vault.ids.secret(KEY_BYTES)), False
        if self._key is None:
            self._key = await self._first()
        salt, nonce = self._vault.ids.secret(SALT_BYTES), self._vault.ids.secret(NONCE_BYTES)
        return Sealing(self._key, salt, nonce)

    async def _first(self) -> DataKey:
        """Make the first key, or take the one of a process that was faster."""
        try:
            return await KeyRing(self._vault).add(self._scope, None, None)
        except StoreConflict:
            return await KeyRing(self._vault).get_or_create(self._scope)


def _remembered(command: WriteCommand, documents: DocumentStore) -> tuple[StoredDocument, Envelope] | None:
    """The version this process last saw, if it is the one the client names: that saves a read, and the conditional PUT
    still checks it.
    """
    if command.dry_run or not isinstance(command.precondition, IfMatch):
        return None
    stored = documents.recall(command.key)
    head = envelope.load(stored.data) if stored else None
    return (stored, head) if stored and head and head.commit.etag == command.precondition.etag else None


async def _newest(
    command: WriteCommand, documents: DocumentStore, remembered: tuple[StoredDocument, Envelope] | None
) -> tuple[StoredDocument | None, Envelope | None]:
    """The document as the store has it, or what is remembered if that will do."""
    if remembered is not None:
        return remembered
    stored = await documents.get(command.key)
    return stored, envelope.load(stored.data) if stored else None


async def _check_fence(version: Envelope | None, command: WriteCommand, documents: DocumentStore) -> None:
    """An erasure writes tombstones over what it finds. It misses what was being created when its fence came; whoever
    creates that looks once more afterwards, and whoever changes it looks before.
    """
    if version is not None and version.commit.sequence == 1:
        await documents.check(command.key.scope)


async def _check_storing(
    head: Envelope | None, carried: tuple[Record, ...], has_key: bool, command: WriteCommand, service: Service
) -> None:
    """Raise for a dry run what the stores would raise for the write, which creates a document, a key or records."""
    await service.documents.check_writing(command.key.scope.tenant_id)
    is_full = commit.outbox_is_full(carried)
    for record in carried if is_full else ():
        data = await service.audit.read(command.key.scope, record["change_id"])
        if data is not None and data != record_bytes(record):
            raise HistoryCorrupt(change_id=record["change_id"])
    if head is None or is_full or not has_key:
        await service.documents.check(command.key.scope)


async def _earlier_receipt(head: Envelope | None, command: WriteCommand, service: Service) -> AppliedRequest | None:
    try:
        settled = commit.match_request(head, command)
    except DocumentNotFound:
        # It may be gone because the user's memory is being erased, which is another answer.
        await service.documents.check(command.key.scope)
        raise
    if not isinstance(settled, commit.OlderThanReceipts):
        return settled
    data = await service.audit.read(command.key.scope, settled.change_id)
    record = None if data is None else read_record(data)
    if data is not None and record is None:
        raise HistoryCorrupt(change_id=settled.change_id)
    if record is not None:
        (record,) = await open_audit_records(command.key.scope, {settled.change_id: record}, vault=service.audit.vault)
    return commit.request_from_record(record, settled, command)
