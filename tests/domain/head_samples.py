"""Heads to build on."""

from typing import Any

from memnet.domain import signature
from memnet.domain.audit import FIRST_HASH
from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.head import Head, HeadEntry, Standing, entry_of, next_head, read_head
from memnet.domain.json_text import canonical
from memnet.domain.sealing import DataKey, to_base64
from memnet.domain.signature import SigningKey

SCOPE = UserScope("t1", "u1")
KEY = SigningKey("v1", b"k" * 32)
DATA_KEY = DataKey("key-1", bytes(range(32)))
DATA_KEYS = {"key-1": DATA_KEY}
THEN = "2026-01-01T00:00:00.000000Z"


def standing(sequence: int = 1, doc_id: str = "d1", **members: Any) -> Standing:
    """A document whose hashes follow from its change."""
    given = {"key": DocumentKey(SCOPE, "projects", f"{doc_id}.json")}
    given |= {"record_hash": f"r-{doc_id}-{sequence}", "content_hash": f"c-{doc_id}-{sequence}"}
    return Standing(doc_id=doc_id, sequence=sequence, **given | members)


def entry(sequence: int = 1, doc_id: str = "d1", *, data_key: DataKey | None = DATA_KEY, **members: Any) -> HeadEntry:
    """The entry of that document."""
    return entry_of(standing(sequence, doc_id, **members), None, data_key=data_key, keys={})


def signed(previous: Head | None, *entries: HeadEntry, key: SigningKey = KEY, scope: UserScope = SCOPE) -> Head:
    """The head after `previous`."""
    head = next_head(scope, previous, entries, signed_at=THEN, key=key)
    assert head is not None
    return head


def signed_before(*documents: Standing, key: SigningKey = KEY) -> Head:
    """A first head as it was made when heads had the plain hashes of contents."""
    rows = [
        {
            "doc_id": one.doc_id,
            "namespace": one.key.namespace,
            "path": one.key.path,
            "sequence": one.sequence,
            "record_hash": one.record_hash,
            "content_hash": one.content_hash,
        }
        for one in documents
    ]
    members: dict[str, Any] = {
        "documents": rows,
        "head_version": 1,
        "key_id": key.public.key_id,
        "previous_head_hash": FIRST_HASH,
        "sequence": 1,
        "signed_at": THEN,
        "tenant_id": "t1",
        "user_id": "u1",
    }
    made = signature.sign(key, "memnet-head-1", canonical(members))
    head = read_head(canonical(members | {"signature": to_base64(made)}))
    assert head is not None
    return head
