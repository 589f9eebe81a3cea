"""Write documents: each change is one conditional PUT, applied exactly once.

Every write gathers the current version, decides the next one and applies it, again for as long as the outcome is open
(docs/decisions/0001-one-conditional-put-is-the-commit.md).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.rules import STRICTEST
from memnet.domain.core.claimant import Claimant
from memnet.domain.core.errors import BindingMismatch, ClaimantNotAccepted, DocumentNotFound, MemnetError, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import commit, envelope, sensitive
from memnet.domain.documents.audit_values import SALT_BYTES, Sealing
from memnet.domain.documents.commands import (
    DeleteDocument,
    IfAbsent,
    IfMatch,
    PatchDocument,
    ReplaceDocument,
    WriteCommand,
    WriteResult,
)
from memnet.domain.documents.confirmation import added_waiting
from memnet.domain.documents.envelope import AppliedRequest, Envelope
from memnet.domain.documents.write_decision import Decision, decide_deletion, decide_patch, decide_replacement
from memnet.domain.governance.waiting import kinds_of
from memnet.domain.sealing.sealing import KEY_BYTES, NONCE_BYTES, DataKey
from memnet.operations.catalog import read_schema
from memnet.operations.documents.claimants import find_codes
from memnet.operations.documents.outbox import flush_outbox
from memnet.ports import StoreConflict, StoredBlob
from memnet.service import Service
from memnet.stores import DocumentStore, FenceCheck, KeyRing, Vault, stream_records

ATTEMPTS = 4
"""A lost race is decided on the second attempt; more are needed only while the store keeps failing."""

Decide = Callable[[Envelope | None], Decision]
T = TypeVar("T")


async def patch_document(command: PatchDocument, service: Service, *, claimant: Claimant | None = None) -> WriteResult:
    """Apply JSON Patch operations to a document exactly once and return the new version.

    The `claimant` makes the statements in the patch: the service writes their code, for which it reads their key.

    A document under a newer schema version, which another release wrote, is patched under that version if it is
    proven additive to the binding's.

    Raises:
        ProfileNotFound, ProfileForbidden, BindingNotFound, BindingMismatch: The profile does not allow the patch.
        ClaimantNotAccepted: The binding has no statements with claimants.
        ClaimantNotFound: The claimant has no memory.
        What `decide_patch` and `commit_change` raise; then nothing has changed.
    """
    named = command.profile_id, command.binding_id, command.actor, command.key
    rules = service.catalog.governance(*named)  # refuses before anything is read
    if claimant is not None:
        if not rules.profile.takes_claimants(command.binding_id):
            raise ClaimantNotAccepted(param="/claimant")
        codes = await find_codes(command.key.scope, {"/claimant": claimant}, service.audit.vault)
        command = replace(command, claimed_by=codes[claimant.user_id])

    def decide(known: Catalog, current: Envelope | None) -> Decision:
        now = to_text(service.clock.now())
        return decide_patch(command, known.governance(*named), current, proposed_at=now, proposal_id=service.ids.new())

    return await commit_governed(command, decide, service)


async def replace_document(command: ReplaceDocument, service: Service) -> WriteResult:
    """Replace the whole content of a document, or create it, exactly once and return the new version.

    Raises:
        ProfileNotFound, ProfileForbidden, BindingNotFound, BindingMismatch: The profile does not allow the write.
        What `decide_replacement` and `commit_change` raise; then nothing has changed.
    """
    rules = service.catalog.governance(command.profile_id, command.binding_id, command.actor, command.key)

    def decide(current: Envelope | None) -> Decision:
        decision = decide_replacement(command, rules, current)
        # Not part of the decision: a migration carries over what is stored, whatever it is.
        sensitive.check_content(command.content, rules.profile.sensitive_content)
        remarks = {"note": command.note, "evidence": command.evidence}
        sensitive.check_remarks(remarks, rules.profile.sensitive_content)
        return decision

    return await commit_change(command, decide, service)


async def delete_document(command: DeleteDocument, service: Service) -> WriteResult:
    """Delete a document exactly once. Its history stays, and a later creation continues it.

    Raises:
        FieldDenied: The note holds sensitive content.
        What `commit_change` raises; then nothing has changed.
    """

    def decide(current: Envelope | None) -> Decision:
        if current is None:
            raise DocumentNotFound()
        sensitive.check_remarks({"note": command.note}, STRICTEST)
        return decide_deletion(command, current)

    return await commit_change(command, decide, service)


async def commit_governed(
    command: WriteCommand, decide: Callable[[Catalog, Envelope | None], Decision], service: Service
) -> WriteResult:
    """Apply `command`, which `decide` judges by the catalog, exactly once.

    If the document is under a schema version that this process does not have, the text of that version is read from the
    container and the change is decided again. Raises what `decide` and `commit_change` raise; then nothing has changed.
    """

    async def commit_with(known: Catalog) -> WriteResult:
        return await commit_change(command, partial(decide, known), service)

    try:
        return await commit_with(service.catalog)
    except BindingMismatch as mismatch:
        stored = mismatch.details.get("schema_id"), mismatch.details.get("schema_version")
        schemas = service.catalog.schemas
        if None not in stored:
            schemas = await read_schema(str(stored[0]), str(stored[1]), schemas, texts=service.documents.texts)
        if schemas is service.catalog.schemas:
            raise
    return await commit_with(replace(service.catalog, schemas=schemas))


async def commit_change(command: WriteCommand, decide: Decide, service: Service) -> WriteResult:
    """Apply `command`, whose outcome `decide` works out from the current version, exactly once.

    A dry run raises what the write would raise now and stores nothing: it creates no data key and copies no record.

    Raises:
        What `decide` and `match_request` raise; then nothing has changed.
        VaultUnavailable, DecryptionFailed: There is no key to seal the record with. Nothing has changed.
        HistoryCorrupt: Stored bytes are not what was written.
        ErasureRunning: The user's memory is being erased, this change included if it was applied.
        Unavailable: The outcome is open. The same request with the same key finds out.
    """
    scope = command.key.scope
    key = _RecordKey(service.audit.vault, scope, may_create=not command.dry_run)
    for attempt in range(ATTEMPTS):
        remembered = None if attempt else _remembered(command, service.documents)
        stored, current, checked = await key.fetched_during(_current(command, service.documents, remembered))
        try:
            applied = await _applied_before(current, command, service)
            if current and applied:
                return commit.result(current.doc_id, applied, replayed=True, dry_run=command.dry_run)
            decision = decide(current)
            # Only a version that was just read is flushed.
            flushed = await _make_room(current, command, service, may_flush=remembered is None)
        except MemnetError:
            if remembered is None:
                raise
            # The remembered version may be stale or erased, so it is no reason to refuse: read the current one.
            continue
        await _check_fence(current, command, service.documents)
        sealing = await key.sealing(checked)
        if command.dry_run:
            await _check_storing(current, key.is_stored, command, service)
        version = commit.next_version(
            current,
            command,
            decision,
            now=to_text(service.clock.now()),
            new_doc_id=service.ids.new(),
            flushed=flushed,
            sealing=sealing,
        )
        if command.dry_run:
            return commit.preview(version)
        await _mark_waiting(command, current, decision, service, checked)
        try:
            await service.documents.put(
                command.key,
                envelope.dump(version, decision.content_bytes),
                envelope.summarise(version, decision.content_bytes),
                replaces=stored.storage_etag if stored else None,
                checked=checked,
            )
        except (StoreConflict, Unavailable):
            # Lost, applied without an answer, or still on its way: only the current version shows which.
            continue
        await _check_fence(version, command, service.documents)
        service.background.start("flush_outbox", flush_outbox(command.key, version, service))
        return commit.result(version.doc_id, version.commit.receipts[-1], replayed=False)
    raise Unavailable()


class _RecordKey:
    """The data key of one request, fetched once and reused across attempts.

    So a vault outage between two attempts cannot hide whether the write was applied.
    """

    def __init__(self, vault: Vault, scope: UserScope, *, may_create: bool) -> None:
        """Use the cached key, if there is one. A dry run may not create a key."""
        self._vault, self._scope, self._may_create = vault, scope, may_create
        self._key: DataKey | None = vault.cache.current(scope) if vault.cache else None
        self._failure: BaseException | None = None
        self.is_stored = True
        """False: the user has no key, and a dry run uses one that is not stored."""

    async def fetched_during(self, read: Awaitable[T]) -> T:
        """Return the result of `read` and fetch the key at the same time, unless it is known.

        A failure to fetch it is raised only when the key is needed: an applied request is answered without it.
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

    async def sealing(self, checked: FenceCheck | None) -> Sealing:
        """Return the sealing of one attempt's record.

        The first key of a user is created here, relying on `checked` if it is given. A dry run only checks that the
        vault could wrap it.
        """
        if self._failure is not None:
            raise self._failure
        if self._key is None and not self._may_create:
            await self._vault.keys.find_newest(self._scope.tenant_id)
            self._key, self.is_stored = DataKey("", self._vault.ids.secret(KEY_BYTES)), False
        if self._key is None:
            try:
                self._key = await KeyRing(self._vault).add(self._scope, None, None, checked=checked)
            except StoreConflict:  # another process was faster
                self._key = await KeyRing(self._vault).get_or_create(self._scope)
        salt, nonce = self._vault.ids.secret(SALT_BYTES), self._vault.ids.secret(NONCE_BYTES)
        return Sealing(self._key, salt, nonce)


async def _mark_waiting(
    command: WriteCommand, current: Envelope | None, decision: Decision, service: Service, checked: FenceCheck | None
) -> None:
    """Mark that a pending item waits if the change adds one."""
    if decision.deleted:
        return
    before = None if current is None else current.content
    item = f"{command.key.namespace}/{command.key.path}"
    for kind in kinds_of(added_waiting(service.catalog, command.key, before, decision.content)):
        await service.waiting.mark(command.key.scope, kind, item, checked=checked)


def _remembered(command: WriteCommand, documents: DocumentStore) -> tuple[StoredBlob, Envelope] | None:
    """Return the cached version if the client names it. The conditional PUT still checks it."""
    if command.dry_run or not isinstance(command.precondition, IfMatch):
        return None
    stored = documents.recall(command.key)
    current = envelope.load(stored.data) if stored else None
    return (stored, current) if stored and current and current.commit.etag == command.precondition.etag else None


async def _current(
    command: WriteCommand, documents: DocumentStore, remembered: tuple[StoredBlob, Envelope] | None
) -> tuple[StoredBlob | None, Envelope | None, FenceCheck | None]:
    """Return the remembered version, or else the stored one, or else the check of the fence that a creation needs."""
    if remembered is not None:
        return *remembered, None
    if isinstance(command.precondition, IfAbsent):
        stored, checked = await documents.get_or_check(command.key, dry_run=command.dry_run)
    else:
        stored, checked = await (documents.get if command.dry_run else documents.get_to_change)(command.key), None
    return stored, envelope.load(stored.data) if stored else None, checked


async def _check_fence(version: Envelope | None, command: WriteCommand, documents: DocumentStore) -> None:
    """Raise ErasureRunning if an erasure may have missed this document.

    It misses a document that was being created when its fence was written. So a creation checks the fence after the
    write, and the first change checks it before.
    """
    if version is not None and version.commit.sequence == 1:
        await documents.check(command.key.scope)


async def _make_room(current: Envelope | None, command: WriteCommand, service: Service, *, may_flush: bool) -> int:
    """Flush a full outbox, or in a dry run check that it can be; return the change up to which records are flushed.

    Raises Unavailable if it is full and may not be flushed.
    """
    if current is None:
        return 0
    scope = command.key.scope
    if commit.outbox_is_full(commit.unflushed(current, service.audit.flushed(scope, current))):
        if not may_flush:
            raise Unavailable()
        await (service.audit.check if command.dry_run else service.audit.flush)(scope, current)
    return service.audit.flushed(scope, current)


async def _check_storing(current: Envelope | None, has_key: bool, command: WriteCommand, service: Service) -> None:
    """Raise the errors of the stores that the write would raise, for a dry run."""
    await service.documents.check_writing(command.key.scope.tenant_id)
    if current is None or not has_key:
        await service.documents.check(command.key.scope)


async def _applied_before(current: Envelope | None, command: WriteCommand, service: Service) -> AppliedRequest | None:
    """Return the applied request that this one repeats, from the ring or the audit log, or None."""
    try:
        settled = commit.match_request(current, command)
    except DocumentNotFound:
        # If the user's memory is being erased, ErasureRunning is the better error.
        await service.documents.check(command.key.scope)
        raise
    if not isinstance(settled, commit.OlderThanReceipts):
        return settled
    assert current is not None
    record = await _read_record(current, settled.sequence, command, service)
    return commit.request_from_record(record, settled, command)


async def _read_record(current: Envelope, sequence: int, command: WriteCommand, service: Service) -> Record | None:
    """Return the record of a change, or None if retention has removed it."""
    scope, history = command.key.scope, None
    if sequence < current.commit.position.first:
        history = await service.audit.history(scope, current.doc_id)
        if sequence < history.begins:
            return None
    (record,) = [
        one async for one in stream_records(scope, current, sequence, sequence, audit=service.audit, history=history)
    ]
    return record
