"""Heads to build on."""

from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import SigningKey
from memnet.domain.history.checkpoint import Checkpoint, CheckpointEntry, next_checkpoint

SCOPE = UserScope("t1", "u1")
KEY = SigningKey("v1", b"k" * 32)
THEN = "2026-01-01T00:00:00.000000Z"


def entry(
    sequence: int = 1, doc_id: str = "d1", *, path: str | None = None, record_hash: str | None = None
) -> CheckpointEntry:
    """The entry of a document whose record hash follows from its change."""
    return CheckpointEntry(
        doc_id, "projects", path or f"{doc_id}.json", sequence, record_hash or f"r-{doc_id}-{sequence}"
    )


def signed(
    previous: Checkpoint | None, *entries: CheckpointEntry, key: SigningKey = KEY, scope: UserScope = SCOPE
) -> Checkpoint:
    """The head after `previous`."""
    head = next_checkpoint(scope, previous, entries, signed_at=THEN, key=key)
    assert head is not None
    return head
