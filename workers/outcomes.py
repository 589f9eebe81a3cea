"""What to do with a message whose job failed, by error code: one closed table.

A function cannot settle its message itself: the Python model completes it when the function returns and abandons it
when the function raises. So COMPLETE returns; RETRY waits, then requeues the job with a delay and returns; DEAD_LETTER
puts the message and its reason into the queue of dead letters and returns. If nothing can be decided, the function
raises: the broker delivers the message again, and after ten times moves it to its own dead letters (the job is sent
again from its marker).
docs/decisions/0018-workers-dead-letter-through-their-own-queue.md has the reasons.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from memnet.domain.core.error_code import ErrorCode

RETRY_DELAYS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between the tries of one delivery. The user's later jobs wait meanwhile, so that a short failure does not
change the order of the user's jobs.
"""
TRIES = len(RETRY_DELAYS) + 1
MAX_ATTEMPTS = 50
"""How often a job is started: about ten deliveries, the last 45 minutes after the first. A job that was started that
often and never ended is not started again, because it may be what crashes the workers.
"""
FIRST_DELAY, MAX_DELAY = timedelta(seconds=30), timedelta(minutes=8)
"""Less than the ten minutes for which a queue remembers an id: a job that its marker sends again in that time has the
same attempt number and is dropped.
"""


class Outcome(StrEnum):
    """What to do with the message of a job that failed."""

    COMPLETE = "complete"
    """Nothing is left to do: the subject of the job is gone or settled."""
    RETRY = "retry"
    """The job may succeed later."""
    DEAD_LETTER = "dead_letter"
    """The job fails in the same way every time; an operator has to investigate."""


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
        ErrorCode.USER_FORBIDDEN: Outcome.DEAD_LETTER,
        ErrorCode.ORIGIN_FORBIDDEN: Outcome.DEAD_LETTER,
        ErrorCode.SELF_ERASURE_FORBIDDEN: Outcome.DEAD_LETTER,
        ErrorCode.USER_NOT_FOUND: Outcome.DEAD_LETTER,
        # These two: the API may have a profile that is not deployed to the workers yet.
        ErrorCode.PROFILE_NOT_FOUND: Outcome.RETRY,
        ErrorCode.BINDING_NOT_FOUND: Outcome.RETRY,
        ErrorCode.SCHEMA_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.PROFILE_FORBIDDEN: Outcome.DEAD_LETTER,
        ErrorCode.PROPOSER_CANNOT_CONFIRM: Outcome.DEAD_LETTER,
        ErrorCode.PLANNER_CANNOT_APPLY: Outcome.DEAD_LETTER,
        ErrorCode.ROUTE_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.DOCUMENT_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.VERSION_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.VALUE_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.REINDEX_NOT_FOUND: Outcome.COMPLETE,
        # The replay's record is written after the snapshot, so the snapshot existed.
        ErrorCode.SNAPSHOT_NOT_FOUND: Outcome.DEAD_LETTER,
        # These two: the request was never answered, or the user's memory was erased.
        ErrorCode.REPLAY_NOT_FOUND: Outcome.COMPLETE,
        ErrorCode.CONFLICT_NOT_FOUND: Outcome.COMPLETE,
        ErrorCode.CONFLICT_CLOSED: Outcome.COMPLETE,
        # Its source was taken back: the replay has ended as retracted.
        ErrorCode.SOURCE_RETRACTED: Outcome.COMPLETE,
        ErrorCode.ERASURE_NOT_FOUND: Outcome.COMPLETE,
        ErrorCode.RETRACTION_NOT_FOUND: Outcome.COMPLETE,
        ErrorCode.RETRACTION_CLOSED: Outcome.COMPLETE,
        ErrorCode.METHOD_NOT_ALLOWED: Outcome.DEAD_LETTER,
        ErrorCode.IDEMPOTENCY_KEY_REUSED: Outcome.DEAD_LETTER,
        ErrorCode.EVENT_EXISTS: Outcome.DEAD_LETTER,
        ErrorCode.SNAPSHOT_EXISTS: Outcome.DEAD_LETTER,
        # Nothing of the user may remain, this job included.
        ErrorCode.ERASURE_RUNNING: Outcome.COMPLETE,
        ErrorCode.TENANT_ENDED: Outcome.COMPLETE,
        ErrorCode.TENANT_HELD: Outcome.DEAD_LETTER,
        # The retraction has ended as failed; after the release it is applied again.
        ErrorCode.USER_HELD: Outcome.COMPLETE,
        # These two: another writer came first; the retry decides on the new version.
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
        ErrorCode.STATEMENT_CONTRADICTED: Outcome.DEAD_LETTER,
        ErrorCode.TURNS_NOT_ACCEPTED: Outcome.DEAD_LETTER,
        ErrorCode.CLAIMANT_NOT_ACCEPTED: Outcome.DEAD_LETTER,
        ErrorCode.CLAIMANT_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.PIPELINE_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.PENDING_ITEM_NOT_FOUND: Outcome.DEAD_LETTER,
        ErrorCode.PENDING_TARGET_CHANGED: Outcome.DEAD_LETTER,
        ErrorCode.ENTRY_EXPIRED: Outcome.DEAD_LETTER,
        ErrorCode.PRECONDITION_REQUIRED: Outcome.DEAD_LETTER,
        ErrorCode.QUOTA_EXCEEDED: Outcome.RETRY,
        ErrorCode.HEADERS_TOO_LARGE: Outcome.DEAD_LETTER,
        ErrorCode.REQUEST_TIMEOUT: Outcome.DEAD_LETTER,
        ErrorCode.TRANSFER_CODING_UNSUPPORTED: Outcome.DEAD_LETTER,
        # Also every exception that is not a MemnetError.
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
"""The outcome of every error code."""


def delay(attempt: int) -> timedelta:
    """Return how long a job waits after its attempt number `attempt`."""
    return min(FIRST_DELAY * (1 << min(attempt // TRIES, 10)), MAX_DELAY)
