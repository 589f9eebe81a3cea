"""The commit protocol, pure: is this request new, a repetition or too late, and what single blob makes it durable.

A change is one conditional PUT of the document's blob. The blob carries with the content a receipt of the request and
the audit record, so that neither can be missing or doubled, however often the PUT is tried. What the store answers to
that PUT proves nothing but success; anything else means: read, `settle` and decide again.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import (
    DocumentExists,
    DocumentNotFound,
    ErasureRunning,
    ETagMismatch,
    IdempotencyKeyReused,
    MemnetError,
)
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.documents import audit_record, audit_values
from memnet.domain.documents.audit_values import AuditRecordLocation, Sealing
from memnet.domain.documents.commands import IfAbsent, IfExists, IfMatch, WriteCommand, WriteResult
from memnet.domain.documents.envelope import AppliedRequest, Commit, Envelope, change_id, visible
from memnet.domain.documents.write_decision import Decision
from memnet.domain.sealing.sealing import to_base64

MAX_RECEIPTS = 64
"""Requests that the blob itself remembers, each exactly."""
OUTBOX_RECORDS = 16
OUTBOX_BYTES = 65_536
"""What may wait in the blob for its place in audit/; a writer who finds more flushes first."""
ETAG = re.compile(r'"(\d{1,15})-[0-9a-f]{16}"', re.ASCII)


@dataclass(frozen=True, slots=True)
class OlderThanReceipts:
    """The request is stale, and older than the ring: only the audit record of this change can tell if it was applied.

    A request that names the ETag of change n can only have become change n + 1, so there is one record to look at.
    """

    change_id: str
    refusal: MemnetError | None
    """What it is told if it was not applied; None: it may still be (a creation over a deleted document)."""


def match_request(head: Envelope | None, command: WriteCommand) -> AppliedRequest | OlderThanReceipts | None:
    """Compare a request with the newest version of its document, before anything is said about its content.

    Returns the receipt if it was applied before, None if it is to be decided now, OlderThanReceipts if the audit
    must be asked. Raises ErasureRunning, IdempotencyKeyReused, ETagMismatch, DocumentExists, DocumentNotFound.
    """
    if head is not None and head.erased:
        raise ErasureRunning()
    if head is not None:
        hashed = key_hash(command.key, command.actor.principal, command.idempotency_key)
        for receipt in reversed(head.commit.receipts):
            if receipt.key_hash == hashed:
                return _same_request(receipt, command)
    refusal = _refusal(head, command)
    sequence = _possible_sequence(head, command) if head else None
    if head is None or sequence is None or sequence > head.commit.sequence - MAX_RECEIPTS:
        if refusal:
            raise refusal
        return None
    return OlderThanReceipts(head.change_id(sequence), refusal)


def request_from_record(
    record: Record | None, elsewhere: OlderThanReceipts, command: WriteCommand
) -> AppliedRequest | None:
    """Return the receipt that an audit record gives for this request; None if it is new after all.

    Raises the refusal if the record is another request's, IdempotencyKeyReused if the key came with another body.
    """
    own = (command.actor.principal, command.idempotency_key)
    if record is None or (record["actor"], record["idempotency_key"]) != own:
        if elsewhere.refusal:
            raise elsewhere.refusal
        return None
    receipt = AppliedRequest(
        key_hash=key_hash(command.key, *own),
        request_hash=record["request_hash"],
        sequence=record["sequence"],
        etag=ETag(record["post_etag"]),
        created=record["pre_etag"] is None,
        redirected=tuple(record["redirected"]),
    )
    return _same_request(receipt, command)


def next_version(
    head: Envelope | None,
    command: WriteCommand,
    draft: Decision,
    *,
    now: str,
    new_doc_id: str,
    carried: tuple[Record, ...],
    sealing: Sealing,
) -> Envelope:
    """The blob that commits `draft` over `head`: content, receipt and record together.

    `carried` are the records of the head's outbox that are not known to stand in audit/. `new_doc_id` is used if
    there is no blob yet. The record's values are sealed with `sealing`. Recorded time never runs backwards along a
    document's history.
    """
    created = head is None or head.deleted
    doc_id = head.doc_id if head else new_doc_id
    sequence = head.commit.sequence + 1 if head else 1
    timestamp = max(now, head.updated_at) if head else now
    previous = head.commit.record_hash if head else audit_record.FIRST_HASH
    request_hash = command.request_hash()
    # The ETag is in clear: without the salt it would confirm a guess of request and content.
    salt = to_base64(sealing.salt)
    seed = [doc_id, previous, command.actor.principal, command.idempotency_key, request_hash, draft.hash_after, salt]
    # The hash of the record before makes it unique in the chain, the request makes it unique among rivals.
    etag = ETag(f'"{sequence}-{sha256_hex(canonical(seed))[:16]}"')
    record = audit_record.build(
        command,
        draft,
        doc_id=doc_id,
        sequence=sequence,
        timestamp=timestamp,
        pre_etag=None if created or head is None else head.commit.etag,
        post_etag=etag,
        request_hash=request_hash,
        previous_record_hash=previous,
        values_salt=sealing.salt,
    )
    receipt = AppliedRequest(
        key_hash=key_hash(command.key, command.actor.principal, command.idempotency_key),
        request_hash=request_hash,
        sequence=sequence,
        etag=etag,
        created=created,
        redirected=draft.redirected,
    )
    return Envelope(
        doc_id=doc_id,
        schema_id=draft.schema_id,
        schema_version=draft.schema_version,
        created_at=timestamp if created or head is None else head.created_at,
        updated_at=timestamp,
        updated_by=command.actor.principal,
        content=draft.content,
        deleted=draft.deleted,
        commit=Commit(
            sequence=sequence,
            etag=etag,
            record_hash=audit_record.record_hash(record),
            created_sequence=sequence if created or head is None else head.commit.created_sequence,
            outbox=(*carried, _as_stored(record, command.key.scope, sealing)),
            receipts=(*(head.commit.receipts if head else ()), receipt)[-MAX_RECEIPTS:],
        ),
    )


def _as_stored(record: Record, scope: UserScope, sealing: Sealing) -> Record:
    place = AuditRecordLocation(scope, record["change_id"])
    return audit_values.seal(record, place, data_key=sealing.data_key, nonce=sealing.nonce)


def unflushed(head: Envelope | None, stands: Callable[[str], bool]) -> tuple[Record, ...]:
    """The records of the outbox that this process does not know to stand in audit/."""
    return tuple(r for r in head.commit.outbox if not stands(r["change_id"])) if head else ()


def outbox_is_full(carried: tuple[Record, ...]) -> bool:
    """Whether the records must be flushed before another change may be committed."""
    if len(carried) >= OUTBOX_RECORDS:
        return True
    return bool(carried) and sum(len(canonical(record)) for record in carried) >= OUTBOX_BYTES


def with_empty_outbox(head: Envelope) -> Envelope:
    """The same version, logical ETag included, with an empty outbox: to be written once its records stand in audit/."""
    return replace(head, commit=replace(head.commit, outbox=()))


def result(doc_id: str, receipt: AppliedRequest, *, replayed: bool, dry_run: bool = False) -> WriteResult:
    """The answer to a request that was applied now or before."""
    return WriteResult(
        etag=receipt.etag,
        change_id=change_id(doc_id, receipt.sequence),
        sequence=receipt.sequence,
        created=receipt.created,
        replayed=replayed,
        redirected=receipt.redirected,
        dry_run=dry_run,
    )


def preview(version: Envelope) -> WriteResult:
    """The answer to a dry run: what would be answered, and the document as it would be."""
    answer = result(version.doc_id, version.commit.receipts[-1], replayed=False, dry_run=True)
    return replace(answer, document=None if version.deleted else visible(version))


def key_hash(key: DocumentKey, principal: str, idempotency_key: str) -> str:
    """A key belongs to one principal and one document: with another of either, the same text is another key."""
    return sha256_hex(canonical([key.blob_name, principal, idempotency_key]))[:32]


def _same_request(receipt: AppliedRequest, command: WriteCommand) -> AppliedRequest:
    if receipt.request_hash != command.request_hash():
        raise IdempotencyKeyReused()
    return receipt


def _refusal(head: Envelope | None, command: WriteCommand) -> MemnetError | None:
    exists = head is not None and not head.deleted
    if isinstance(command.precondition, IfAbsent):
        return DocumentExists(latest_etag=head.commit.etag) if exists and head else None
    if not exists or head is None:
        return DocumentNotFound()
    if isinstance(command.precondition, IfMatch) and command.precondition.etag != head.commit.etag:
        return ETagMismatch(latest_etag=head.commit.etag)
    return None


def _possible_sequence(head: Envelope, command: WriteCommand) -> int | None:
    """The only change that this request can have become, if it was applied."""
    if isinstance(command.precondition, IfMatch):
        named = ETAG.fullmatch(command.precondition.etag)
        return int(named[1]) + 1 if named else None
    if isinstance(command.precondition, IfExists):
        # A pending item is decided once: repeated after the ring has forgotten it, the request finds no such item.
        return None
    return head.commit.created_sequence
