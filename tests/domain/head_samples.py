"""Heads to build on."""

from typing import Any

from memnet.domain.document import UserScope
from memnet.domain.head import Head, HeadEntry, next_head
from memnet.domain.signature import SigningKey

SCOPE = UserScope("t1", "u1")
KEY = SigningKey("v1", b"k" * 32)
THEN = "2026-01-01T00:00:00.000000Z"


def entry(sequence: int = 1, doc_id: str = "d1", **members: Any) -> HeadEntry:
    """An entry whose hashes follow from its change."""
    given = {"namespace": "projects", "path": f"{doc_id}.json"}
    given |= {"record_hash": f"r-{doc_id}-{sequence}", "content_hash": f"c-{doc_id}-{sequence}"}
    return HeadEntry(doc_id=doc_id, sequence=sequence, **given | members)


def signed(previous: Head | None, *entries: HeadEntry, key: SigningKey = KEY, scope: UserScope = SCOPE) -> Head:
    """The head after `previous`."""
    head = next_head(scope, previous, entries, signed_at=THEN, key=key)
    assert head is not None
    return head
