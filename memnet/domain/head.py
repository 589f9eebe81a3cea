"""A head: the newest change of every document of a user at one moment, signed, and chained to the head before it.

The chains of records show that nothing inside them was altered. Who can write to the storage can still cut off their
ends and rewrite the documents to match; a head says up to where each chain went.

Heads stand for good and in clear, so what they say of contents confirms no guess: it is a code that only the user's
data key can be made with. Heads of version 1 have a plain hash there; they are checked, and not made any more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from memnet.domain import signature
from memnet.domain.audit import FIRST_HASH, record_hash
from memnet.domain.document import DocumentKey, Json, UserScope
from memnet.domain.draft import NO_CONTENT_HASH
from memnet.domain.envelope import Envelope, Record, change_id
from memnet.domain.errors import HistoryBroken, InvalidIdentifier
from memnet.domain.json_text import canonical, digest
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.sealing import KEY_BYTES, DataKey, from_base64, to_base64
from memnet.domain.signature import PublicKey, SigningKey

HASHED_VERSION, HEAD_VERSION = 1, 2
"""Heads whose entries have a content's plain hash; and those that are made now."""
PURPOSE = "memnet-head-1"
"""What a head's signature is for."""
CONTENT_PURPOSE = b"memnet-head-content-1"
"""What the key is for that codes of contents are made with: it is derived, so that the data key itself only seals."""
_NUMBERS = frozenset({"head_version", "sequence"})
_TEXTS = frozenset({"doc_id", "key_id", "namespace", "path", "previous_head_hash", "record_hash", "signed_at"})
_MEMBERS = ("doc_id", "namespace", "path", "sequence", "record_hash")
_OF_CONTENT = {HASHED_VERSION: ("content_hash",), HEAD_VERSION: ("content_code", "content_key_id")}

DataKeys = Mapping[str, DataKey]
"""A user's data keys by id: those that there are and that open."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a document has come to, as its blob has it."""

    key: DocumentKey
    doc_id: str
    sequence: int
    record_hash: str
    content_hash: str

    @property
    def change_id(self) -> str:
        """The name of its last change."""
        return change_id(self.doc_id, self.sequence)


@dataclass(frozen=True, slots=True)
class HeadEntry:
    """Up to where the chain of one document goes: its last change, the hash of that record, and what it left.

    The record binds the content, too; but one day a baseline may stand in the record's place.
    """

    doc_id: str
    namespace: str
    path: str
    sequence: int
    record_hash: str
    content_code: str | None = None
    """What only this content gives, under the data key of that id; None if there was none that opened."""
    content_key_id: str | None = None
    content_hash: str | None = None
    """In heads of version 1, in place of the two."""

    @property
    def change_id(self) -> str:
        """The name of that record."""
        return change_id(self.doc_id, self.sequence)


@dataclass(frozen=True, slots=True)
class Head:
    """A head as it was read: `data` are its bytes, which the next one names by their hash."""

    scope: UserScope
    sequence: int
    signed_at: str
    previous_head_hash: str
    documents: tuple[HeadEntry, ...]
    key_id: str
    signature: bytes
    data: bytes = field(repr=False)
    version: int = HEAD_VERSION

    def place(self, one: HeadEntry) -> DocumentKey:
        """The document that an entry speaks of."""
        return DocumentKey(self.scope, one.namespace, one.path)


def head_key(scope: UserScope, sequence: int) -> RecordKey:
    """The record of a user's n-th head; name order is the order of the chain."""
    return RecordKey(scope, RecordKind.HEADS, f"{sequence:012d}")


def standing(key: DocumentKey, envelope: Envelope) -> Standing:
    """What the document has come to; a deleted one has its place, too."""
    commit = envelope.commit
    left = NO_CONTENT_HASH if envelope.deleted else digest(canonical(envelope.content))
    return Standing(key, envelope.doc_id, commit.sequence, commit.record_hash, left)


def entry_of(now: Standing, then: HeadEntry | None, *, data_key: DataKey | None, keys: DataKeys) -> HeadEntry:
    """What the next head says of a document: what the one before it does, `then`, if nothing has changed.

    `data_key` is the user's current one, None if none opens; `keys` are those that `then` may name. What is signed
    under a key that does not open any more is not signed anew under another: nobody knows whether it is the same.
    """
    if then is not None and then.content_key_id is not None and _is_at(then, now) and _is_left(then, now, keys):
        return then
    key, code = now.key, None
    if data_key is not None:
        code = _content_code(data_key, key.scope, now.doc_id, now.sequence, now.content_hash)
    key_id = None if data_key is None else data_key.key_id
    return HeadEntry(now.doc_id, key.namespace, key.path, now.sequence, now.record_hash, code, key_id)


def vouches(one: HeadEntry, scope: UserScope, content_hash: str, keys: DataKeys) -> bool | None:
    """Whether a content of this hash is what the entry has; None if that cannot be told, for want of code or key."""
    if one.content_hash is not None:
        return one.content_hash == content_hash
    data_key = None if one.content_key_id is None else keys.get(one.content_key_id)
    if data_key is None or one.content_code is None:
        return None
    return one.content_code == _content_code(data_key, scope, one.doc_id, one.sequence, content_hash)


def content_key_ids(heads: Iterable[Head | None]) -> set[str]:
    """Which data keys it takes to hold contents against these heads."""
    entries = (one for head in heads if head is not None for one in head.documents)
    return {one.content_key_id for one in entries if one.content_key_id is not None}


def going_back(previous: Head | None, standings: Iterable[Standing], keys: DataKeys) -> HistoryBroken | None:
    """What is to be said if these documents lie behind the head before; None if they do not."""
    now = {one.doc_id: one for one in standings}
    for then in previous.documents if previous else ():
        found = now.get(then.doc_id)
        if found is None or found.sequence < then.sequence:
            return HistoryBroken(change_id=then.change_id, reason="a signed head has it, and the document does not")
        if found.sequence == then.sequence and not (_is_at(then, found) and _is_left(then, found, keys)):
            return HistoryBroken(change_id=then.change_id, reason="a signed head has another record or content there")
    return None


def follows(previous: HeadEntry, records: Iterable[Record], now: Standing) -> HistoryBroken | None:
    """What is to be said if these records, all since `previous`, do not lead from there to `now`; None if they do."""
    sequence, newest_hash = previous.sequence, previous.record_hash
    for record in records:
        sequence += 1
        if record.get("previous_record_hash") != newest_hash:
            return HistoryBroken(change_id=change_id(now.doc_id, sequence), reason="it does not follow what was signed")
        newest_hash = record_hash(record)
    if newest_hash != now.record_hash:
        return HistoryBroken(change_id=now.change_id, reason="the document names another last record")
    return None


def next_head(
    scope: UserScope,
    previous: Head | None,
    entries: Iterable[HeadEntry],
    *,
    signed_at: str,
    key: SigningKey,
) -> Head | None:
    """Sign the head that follows `previous`; None if there is nothing new."""
    documents = tuple(sorted(entries, key=lambda one: (one.namespace, one.path, one.doc_id)))
    if documents == (previous.documents if previous else ()):
        return None
    sequence = previous.sequence + 1 if previous else 1
    before = digest(previous.data) if previous else FIRST_HASH
    unsigned = Head(scope, sequence, signed_at, before, documents, key.public.key_id, b"", b"")
    signed = signature.sign(key, PURPOSE, canonical(_members(unsigned)))
    data = canonical(_members(unsigned) | {"signature": to_base64(signed)})
    return replace(unsigned, signature=signed, data=data)


def read_head(data: bytes) -> Head | None:
    """Read a stored head; None for any bytes that `next_head` would not have made."""
    try:
        head = _load(orjson.loads(data), data)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier):
        return None
    return head if canonical(_members(head) | {"signature": to_base64(head.signature)}) == data else None


def is_signed(head: Head, key: PublicKey) -> bool:
    """Say whether the head is what the owner of this key signed."""
    return signature.holds(key, PURPOSE, canonical(_members(head)), head.signature)


def _load(members: Json, data: bytes) -> Head:
    entries: Sequence[dict[str, Any]] = members["documents"]
    version = members["head_version"]
    for row in (members, *entries):
        numbers, texts = _NUMBERS & row.keys(), _TEXTS & row.keys()
        if not all(type(row[name]) is int for name in numbers) or not all(type(row[name]) is str for name in texts):
            raise TypeError
    for row in entries:
        kinds = {type(row[name]) for name in _OF_CONTENT[version]}
        # A code and its key go together.
        if kinds != {str} and (kinds != {type(None)} or version == HASHED_VERSION):
            raise TypeError
    head = Head(
        scope=UserScope(members["tenant_id"], members["user_id"]),
        sequence=members["sequence"],
        signed_at=members["signed_at"],
        previous_head_hash=members["previous_head_hash"],
        documents=tuple(HeadEntry(**row) for row in entries),
        key_id=members["key_id"],
        signature=from_base64(members["signature"]),
        data=data,
        version=version,
    )
    for one in head.documents:
        head.place(one)
    return head


def _members(head: Head) -> dict[str, Any]:
    """What is signed."""
    of_content = _OF_CONTENT[head.version]
    return {
        "documents": [{name: getattr(one, name) for name in (*_MEMBERS, *of_content)} for one in head.documents],
        "head_version": head.version,
        "key_id": head.key_id,
        "previous_head_hash": head.previous_head_hash,
        "sequence": head.sequence,
        "signed_at": head.signed_at,
        "tenant_id": head.scope.tenant_id,
        "user_id": head.scope.user_id,
    }


def _is_at(then: HeadEntry, now: Standing) -> bool:
    """Whether the document stands where the entry has it: the place, the change, and the change's record."""
    place = (now.doc_id, now.key.namespace, now.key.path, now.sequence, now.record_hash)
    return (then.doc_id, then.namespace, then.path, then.sequence, then.record_hash) == place


def _is_left(then: HeadEntry, now: Standing, keys: DataKeys) -> bool:
    """Whether the document holds what the entry has; without the key of then nothing can be said against it."""
    return vouches(then, now.key.scope, now.content_hash, keys) is not False


def _content_code(data_key: DataKey, scope: UserScope, doc_id: str, sequence: int, content_hash: str) -> str:
    """The HMAC of a content as one change left it; the same content at another place has another."""
    derived = HKDF(SHA256(), KEY_BYTES, salt=None, info=CONTENT_PURPOSE).derive(data_key.secret)
    said = canonical([scope.tenant_id, scope.user_id, doc_id, sequence, content_hash])
    code = HMAC(derived, SHA256())
    code.update(said)
    return code.finalize().hex()
