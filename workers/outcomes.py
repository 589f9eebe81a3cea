"""What becomes of a message when its job fails, by error code: one closed table.

A function cannot settle its message by hand: the Python model completes it when the function returns and abandons it
when the function raises. So COMPLETE is to return; RETRY is to wait, then to send the job anew for later and return;
DEAD_LETTER is to put the message with its reason into the queue of dead letters, and return. What
cannot even be decided raises: the broker then delivers the message again, and after ten times buries it by itself (its
job comes again from its mark).
docs/decisions/0018-workers-dead-letter-through-their-own-queue.md has the reasons.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from memnet.domain.core.error_code import ErrorCode

PATIENCE = (1.0, 2.0, 4.0, 8.0)
"""Seconds between the tries of one delivery. As long as it waits, the user's later jobs wait, too, so that the order
of the user's jobs outlives a short failure.
"""
TRIES = len(PATIENCE) + 1
MOST_STARTS = 50
"""How often a job is begun: some ten deliveries, the last three quarters of an hour after the first. One that has been
begun so often without an end is not begun again, for it may be what ends the workers.
"""
FIRST_DELAY, LONGEST_DELAY = timedelta(seconds=30), timedelta(minutes=8)
"""Less than the ten minutes for which a queue remembers an id: a job that is sent again from its mark meanwhile comes
under the same attempt and is dropped.
"""


class Outcome(StrEnum):
    """What to do with the message of a job that failed."""

    COMPLETE = "complete"
    """Nothing is left to do: whatever the job was for is gone or settled."""
    RETRY = "retry"
    """Something else was in the way: the same job may succeed later."""
    DEAD_LETTER = "dead_letter"
    """The same job fails in the same way every time; a person has to look at it."""


OUTCOMES: Mapping[ErrorCode, Outcome] = MappingProxyType(
    {
        ErrorCode.MALFORMED_REQUEST: Outcome.DEAD_LETTER,
        ErrorCode.INVALID_IDENTIFIER: Outcome.DEAD_LETTER,
        ErrorCode.INVALID_PRECONDITION: Outcome.DEAD_LETTER,
        ErrorCode.INVALID_CURSOR: Outcome.DEAD_LETTER,
        ErrorCode.IDEMPOTENCY_KEY_REQUIRED: Outcome.DEAD_LETTER,
        ErrorCode.PATCH_MALFORMED: Outcome.DEAD_LETTER,
        ErrorCode.UNAUTHENTICATED: Outcome.DEAD_LETTER,
        ErrorCode.ROLE_REQUIRED: Outcome.DEAD_LETTER,
        ErrorCode.TENANT_FORBIDDEN: Outcome.DEAD_LETTER,
        # These two: the API may know a profile already that is not deployed to the workers yet.
        ErrorCode.PROFILE_NOT_FOUND: Outcome.RETRY,
        ErrorCode.BINDING_NOT_FOUND: Outcome.RETRY,
        ErrorCode.SCHEMA_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.PROFILE_FORBIDDEN: Outcome.DEAD_LETTER,
        ErrorCode.PROPOSER_CANNOT_CONFIRM: Outcome.DEAD_LETTER,
        ErrorCode.ROUTE_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.DOCUMENT_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.VERSION_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.REINDEX_NOT_FOUND: Outcome.COMPLETE,
        # Its replay's record is written after it, so it was there.
        ErrorCode.SNAPSHOT_NOT_FOUND: Outcome.DEAD_LETTER,
        # These two: the request was never answered, or the user's memory was erased.
        ErrorCode.REPLAY_NOT_FOUND: Outcome.COMPLETE,
        ErrorCode.CONFLICT_NOT_FOUND: Outcome.COMPLETE,
        ErrorCode.CONFLICT_CLOSED: Outcome.COMPLETE,
        ErrorCode.ERASURE_NOT_FOUND: Outcome.COMPLETE,
        ErrorCode.METHOD_NOT_ALLOWED: Outcome.DEAD_LETTER,
        ErrorCode.IDEMPOTENCY_KEY_REUSED: Outcome.DEAD_LETTER,
        ErrorCode.EVENT_EXISTS: Outcome.DEAD_LETTER,
        ErrorCode.SNAPSHOT_EXISTS: Outcome.DEAD_LETTER,
        # Nothing of the user is to be left, this job included.
        ErrorCode.ERASURE_RUNNING: Outcome.COMPLETE,
        ErrorCode.TENANT_ENDED: Outcome.COMPLETE,
        ErrorCode.TENANT_HELD: Outcome.DEAD_LETTER,
        # These two: a race that was lost, and will be decided anew.
        ErrorCode.ETAG_MISMATCH: Outcome.RETRY,
        ErrorCode.DOCUMENT_EXISTS: Outcome.RETRY,
        ErrorCode.BODY_TOO_LARGE: Outcome.DEAD_LETTER,
        ErrorCode.UNSUPPORTED_MEDIA_TYPE: Outcome.DEAD_LETTER,
        ErrorCode.ARCHIVE_INVALID: Outcome.DEAD_LETTER,
        ErrorCode.BINDING_MISMATCH: Outcome.DEAD_LETTER,
        ErrorCode.PATCH_NOT_APPLICABLE: Outcome.DEAD_LETTER,
        ErrorCode.PATCH_TEST_FAILED: Outcome.DEAD_LETTER,
        ErrorCode.PATH_NOT_WRITABLE: Outcome.DEAD_LETTER,
        ErrorCode.FIELD_DENIED: Outcome.DEAD_LETTER,
        ErrorCode.SCHEMA_VIOLATION: Outcome.DEAD_LETTER,
        ErrorCode.LIMIT_EXCEEDED: Outcome.DEAD_LETTER,
        ErrorCode.CONFIDENCE_TOO_LOW: Outcome.DEAD_LETTER,
        ErrorCode.EVIDENCE_REQUIRED: Outcome.DEAD_LETTER,
        ErrorCode.PENDING_ITEM_INVALID: Outcome.DEAD_LETTER,
        ErrorCode.PENDING_ITEM_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.PENDING_TARGET_CHANGED: Outcome.DEAD_LETTER,
        ErrorCode.ENTRY_EXPIRED: Outcome.DEAD_LETTER,
        ErrorCode.PRECONDITION_REQUIRED: Outcome.DEAD_LETTER,
        ErrorCode.QUOTA_EXCEEDED: Outcome.RETRY,
        ErrorCode.HEADERS_TOO_LARGE: Outcome.DEAD_LETTER,
        ErrorCode.REQUEST_TIMEOUT: Outcome.DEAD_LETTER,
        ErrorCode.TRANSFER_CODING_UNSUPPORTED: Outcome.DEAD_LETTER,
        # Also every exception that is not one of memnet's own.
        ErrorCode.INTERNAL: Outcome.RETRY,
        ErrorCode.HISTORY_CORRUPT: Outcome.DEAD_LETTER,
        ErrorCode.DECRYPTION_FAILED: Outcome.DEAD_LETTER,
        ErrorCode.UNAVAILABLE: Outcome.RETRY,
        ErrorCode.SEARCH_UNAVAILABLE: Outcome.RETRY,
        # Another release, with a raised version, can do the job.
        ErrorCode.CATALOG_CONFLICT: Outcome.RETRY,
        ErrorCode.VAULT_UNAVAILABLE: Outcome.RETRY,
        ErrorCode.OVERLOADED: Outcome.RETRY,
    }
)
"""The outcome of every code; it holds each of them, which a test sees to."""


def delay(attempt: int) -> timedelta:
    """How long a job waits that came with attempt number `attempt`, which counts its starts."""
    return min(FIRST_DELAY * (1 << min(attempt // TRIES, 10)), LONGEST_DELAY)
