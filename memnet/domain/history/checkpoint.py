"""A checkpoint: the latest change of every document of a user, signed, and chained to the previous checkpoint.

The chains of records show that nothing inside them was altered; a checkpoint shows that they were not truncated. An
entry is the document's sequence and the hash of the record of that change, which binds the content and is never deleted
before the document. A checkpoint is stored permanently and in plain text, so it contains nothing about content.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from memnet.domain.core import signature
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.json_types import Record, members_of
from memnet.domain.core.scope import DocumentKey, Json, UserScope
from memnet.domain.core.signature import PublicKey, SigningKey
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents.audit_record import FIRST_HASH, record_hash
from memnet.domain.documents.envelope import Envelope, change_id
from memnet.domain.sealing.sealing import from_base64, to_base64

HEAD_VERSION = 3
"""The one version that is written and read."""
PURPOSE = "memnet-head-1"
_NUMBERS = frozenset({"head_version", "sequence"})
_TEXTS = frozenset({"doc_id", "key_id", "namespace", "path", "previous_head_hash", "record_hash", "signed_at"})


@dataclass(frozen=True, slots=True)
class CheckpointEntry:
    """The end of one document's chain: its last change and the hash of that record."""

    doc_id: str
    namespace: str
    path: str
    sequence: int
    record_hash: str

    @property
    def change_id(self) -> str:
        """The name of that record."""
        return change_id(self.doc_id, self.sequence)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint; `data` are its stored bytes, whose hash the next one names."""

    scope: UserScope
    sequence: int
    signed_at: str
    previous_head_hash: str
    documents: tuple[CheckpointEntry, ...]
    key_id: str
    signature: bytes
    data: bytes = field(repr=False)

    def place(self, one: CheckpointEntry) -> DocumentKey:
        """Return the document of an entry."""
        return DocumentKey(self.scope, one.namespace, one.path)


def checkpoint_key(scope: UserScope, sequence: int) -> ItemKey:
    """Return the location of a user's n-th checkpoint; name order is the order of the chain."""
    return ItemKey(scope, ItemKind.HEADS, f"{sequence:012d}")


def checkpoint_entry(key: DocumentKey, envelope: Envelope) -> CheckpointEntry:
    """Return the entry of a document, also of a deleted one."""
    commit = envelope.commit
    return CheckpointEntry(envelope.doc_id, key.namespace, key.path, commit.sequence, commit.record_hash)


def find_regression(previous: Checkpoint | None, entries: Iterable[CheckpointEntry]) -> HistoryCorrupt | None:
    """Return an error for the first document that is older than in the previous checkpoint, or None."""
    now = {one.doc_id: one for one in entries}
    for then in previous.documents if previous else ():
        found = now.get(then.doc_id)
        if found is None or found.sequence < then.sequence:
            return HistoryCorrupt(change_id=then.change_id, reason="a signed head has it, and the document does not")
        if found.sequence == then.sequence and found != then:
            return HistoryCorrupt(change_id=then.change_id, reason="a signed head has another record there")
    return None


def next_entry(entry: CheckpointEntry, record: Record) -> CheckpointEntry:
    """Return the entry of the change that `record` made, which must follow that of `entry`. Raises HistoryCorrupt."""
    sequence = entry.sequence + 1
    if record.get("previous_record_hash") != entry.record_hash:
        raise HistoryCorrupt(change_id=change_id(entry.doc_id, sequence), reason="it does not follow what was signed")
    return replace(entry, sequence=sequence, record_hash=record_hash(record))


def next_checkpoint(
    scope: UserScope,
    previous: Checkpoint | None,
    entries: Iterable[CheckpointEntry],
    *,
    signed_at: str,
    key: SigningKey,
) -> Checkpoint | None:
    """Sign the checkpoint after `previous`; None if nothing has changed."""
    documents = tuple(sorted(entries, key=lambda one: (one.namespace, one.path, one.doc_id)))
    if documents == (previous.documents if previous else ()):
        return None
    sequence = previous.sequence + 1 if previous else 1
    before = sha256_hex(previous.data) if previous else FIRST_HASH
    unsigned = Checkpoint(scope, sequence, signed_at, before, documents, key.public.key_id, b"", b"")
    signed = signature.sign(key, PURPOSE, canonical(_members(unsigned)))
    data = canonical(_members(unsigned) | {"signature": to_base64(signed)})
    return replace(unsigned, signature=signed, data=data)


def read_checkpoint(data: bytes) -> Checkpoint | None:
    """Read a stored checkpoint; None for any bytes that `next_checkpoint` does not create."""
    try:
        checkpoint = _load(orjson.loads(data), data)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier):
        return None
    return (
        checkpoint if canonical(_members(checkpoint) | {"signature": to_base64(checkpoint.signature)}) == data else None
    )


def is_signed(checkpoint: Checkpoint, key: PublicKey) -> bool:
    """Return whether the owner of this key signed the checkpoint."""
    return signature.holds(key, PURPOSE, canonical(_members(checkpoint)), checkpoint.signature)


def _load(members: Json, data: bytes) -> Checkpoint:
    entries: Sequence[dict[str, Any]] = members["documents"]
    for row in (members, *entries):
        numbers, texts = _NUMBERS & row.keys(), _TEXTS & row.keys()
        if not all(type(row[name]) is int for name in numbers) or not all(type(row[name]) is str for name in texts):
            raise TypeError
    checkpoint = Checkpoint(
        scope=UserScope(members["tenant_id"], members["user_id"]),
        documents=tuple(CheckpointEntry(**row) for row in entries),
        **{name: members[name] for name in ("sequence", "signed_at", "previous_head_hash", "key_id")},
        signature=from_base64(members["signature"]),
        data=data,
    )
    for one in checkpoint.documents:
        checkpoint.place(one)
    return checkpoint


def _members(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        **members_of(checkpoint, "scope", "signature", "data"),
        "documents": list(map(members_of, checkpoint.documents)),
        "head_version": HEAD_VERSION,
        "tenant_id": checkpoint.scope.tenant_id,
        "user_id": checkpoint.scope.user_id,
    }
