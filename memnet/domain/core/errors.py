"""Every way memnet says no: one closed set of codes, one class a code, the docstring is the message."""

from collections.abc import Sequence
from inspect import getdoc
from typing import Any, ClassVar

from memnet.domain.core.error_code import ErrorCode


class MemnetError(Exception):
    """A refusal with a stable code. `details` go to the client as they are."""

    code: ClassVar[ErrorCode]

    def __init__(self, message: str | None = None, **details: Any) -> None:
        """`message` replaces the class's docstring where more can be said; it must hold no memory content."""
        self.message = message or " ".join((getdoc(type(self)) or "").split())
        self.details = details
        super().__init__(self.message)


class MalformedRequest(MemnetError):
    """The request body, a header or a query parameter is not what this call takes."""

    code = ErrorCode.MALFORMED_REQUEST


class InvalidIdentifier(MemnetError):
    """Ids and segments: 1 to 128 of A-Z a-z 0-9 . _ -, first a letter or digit, last no dot. A path has 1 to 8
    segments, together 512 characters at most."""

    code = ErrorCode.INVALID_IDENTIFIER


class InvalidPrecondition(MemnetError):
    """If-Match takes one ETag and If-None-Match, on a write, takes *; exactly one of the two is sent."""

    code = ErrorCode.INVALID_PRECONDITION


class InvalidCursor(MemnetError):
    """This cursor was not issued by this list. Start again without a cursor."""

    code = ErrorCode.INVALID_CURSOR


class IdempotencyKeyRequired(MemnetError):
    """A write needs an Idempotency-Key header of 1 to 255 printable ASCII characters."""

    code = ErrorCode.IDEMPOTENCY_KEY_REQUIRED


class PatchMalformed(MemnetError):
    """The operations are not a JSON Patch (RFC 6902)."""

    code = ErrorCode.PATCH_MALFORMED


class Unauthenticated(MemnetError):
    """A valid bearer token is required."""

    code = ErrorCode.UNAUTHENTICATED


class RoleRequired(MemnetError):
    """The token has none of the roles this call needs."""

    code = ErrorCode.ROLE_REQUIRED


class TenantForbidden(MemnetError):
    """The token is not for this tenant."""

    code = ErrorCode.TENANT_FORBIDDEN


class ProfileForbidden(MemnetError):
    """This principal is not in the profile's allowed_principals."""

    code = ErrorCode.PROFILE_FORBIDDEN


class ProposerCannotConfirm(MemnetError):
    """A pending item is confirmed by neither its proposer nor the principal on whose behalf it was proposed."""

    code = ErrorCode.PROPOSER_CANNOT_CONFIRM


class RouteNotFound(MemnetError):
    """There is no such route."""

    code = ErrorCode.ROUTE_NOT_FOUND


class DocumentNotFound(MemnetError):
    """There is no such document."""

    code = ErrorCode.DOCUMENT_NOT_FOUND


class VersionNotFound(MemnetError):
    """The document did not exist at that time."""

    code = ErrorCode.VERSION_NOT_FOUND


class ProfileNotFound(MemnetError):
    """There is no such profile."""

    code = ErrorCode.PROFILE_NOT_FOUND


class BindingNotFound(MemnetError):
    """The profile has no such binding."""

    code = ErrorCode.BINDING_NOT_FOUND


class SchemaNotFound(MemnetError):
    """There is no such schema, or not this version of it."""

    code = ErrorCode.SCHEMA_NOT_FOUND


class PendingItemNotFound(MemnetError):
    """The document has no pending item with this id, or several."""

    code = ErrorCode.PENDING_ITEM_NOT_FOUND


class ReindexNotFound(MemnetError):
    """The events of this tenant have never been reindexed."""

    code = ErrorCode.REINDEX_NOT_FOUND


class SnapshotNotFound(MemnetError):
    """There is no such snapshot."""

    code = ErrorCode.SNAPSHOT_NOT_FOUND


class ReplayNotFound(MemnetError):
    """There is no such replay."""

    code = ErrorCode.REPLAY_NOT_FOUND


class ConflictNotFound(MemnetError):
    """There is no such conflict."""

    code = ErrorCode.CONFLICT_NOT_FOUND


class ErasureNotFound(MemnetError):
    """There is no erasure of this user with this id."""

    code = ErrorCode.ERASURE_NOT_FOUND


class MethodNotAllowed(MemnetError):
    """The route does not take this method."""

    code = ErrorCode.METHOD_NOT_ALLOWED


class RequestTimeout(MemnetError):
    """The request was not sent in time; nothing was done, repeat it on a new connection."""

    code = ErrorCode.REQUEST_TIMEOUT


class IdempotencyKeyReused(MemnetError):
    """The same principal used the Idempotency-Key on this document for another request."""

    code = ErrorCode.IDEMPOTENCY_KEY_REUSED


class EventExists(MemnetError):
    """This event_id is already used by a different event. Events are immutable: choose a new event_id."""

    code = ErrorCode.EVENT_EXISTS


class SnapshotExists(MemnetError):
    """Another conversation is stored under this snapshot_id; snapshots never change."""

    code = ErrorCode.SNAPSHOT_EXISTS


class ConflictClosed(MemnetError):
    """The conflict was resolved or discarded before; it takes no further decision."""

    code = ErrorCode.CONFLICT_CLOSED


class PendingTargetChanged(MemnetError):
    """What the pending item would change was changed, is gone or is ambiguous; nothing was written."""

    code = ErrorCode.PENDING_TARGET_CHANGED


class ErasureRunning(MemnetError):
    """This user's memory is being erased. Writes are refused until the erasure has finished (about a quarter of an
    hour)."""

    code = ErrorCode.ERASURE_RUNNING


class TenantEnded(ErasureRunning):
    """The tenant's memory is being erased or was erased; nothing is written for the tenant any more."""

    code = ErrorCode.TENANT_ENDED


class TenantHeld(MemnetError):
    """A legal hold on the tenant keeps its memory from being erased; release it first."""

    code = ErrorCode.TENANT_HELD


class ETagMismatch(MemnetError):
    """If-Match does not match the latest document version."""

    code = ErrorCode.ETAG_MISMATCH


class DocumentExists(MemnetError):
    """If-None-Match: * was sent, but the document exists."""

    code = ErrorCode.DOCUMENT_EXISTS


class BodyTooLarge(MemnetError):
    """The request body is over the limit."""

    code = ErrorCode.BODY_TOO_LARGE


class UnsupportedMediaType(MemnetError):
    """The request body must be application/json."""

    code = ErrorCode.UNSUPPORTED_MEDIA_TYPE


class ArchiveInvalid(MemnetError):
    """The archive is not what memnet export wrote, or cannot be imported here; `reason` says what is wrong with it."""

    code = ErrorCode.ARCHIVE_INVALID


class BindingMismatch(MemnetError):
    """This binding is for another document (or another schema version); details.expected says which."""

    code = ErrorCode.BINDING_MISMATCH


class PatchNotApplicable(MemnetError):
    """An operation's path does not exist in the document; details.op_index says which one."""

    code = ErrorCode.PATCH_NOT_APPLICABLE


class PatchTestFailed(MemnetError):
    """A test operation found another value."""

    code = ErrorCode.PATCH_TEST_FAILED


class PathNotWritable(MemnetError):
    """The profile does not let this binding write there."""

    code = ErrorCode.PATH_NOT_WRITABLE


class FieldDenied(MemnetError):
    """The profile refuses this field, or content of this kind."""

    code = ErrorCode.FIELD_DENIED


class SchemaViolation(MemnetError):
    """The document would not match its schema."""

    code = ErrorCode.SCHEMA_VIOLATION


class LimitExceeded(MemnetError):
    """The write would exceed a limit of the profile; details name the limit, the allowed and the actual value."""

    code = ErrorCode.LIMIT_EXCEEDED


class ConfidenceTooLow(MemnetError):
    """The confidence is below the profile's threshold, and there is no pending section to hold the proposal."""

    code = ErrorCode.CONFIDENCE_TOO_LOW


class EvidenceRequired(MemnetError):
    """Durable sections and replays need evidence with a pointer, and new text in a durable entry new evidence."""

    code = ErrorCode.EVIDENCE_REQUIRED


class EntryExpired(MemnetError):
    """The write would leave a new or changed entry whose time has passed already."""

    code = ErrorCode.ENTRY_EXPIRED


class PendingItemInvalid(MemnetError):
    """Only the service puts items into a pending section; a patch may take them out and change nothing else there."""

    code = ErrorCode.PENDING_ITEM_INVALID


class PreconditionRequired(MemnetError):
    """A write needs If-Match with the document's ETag or, to create it, If-None-Match: *."""

    code = ErrorCode.PRECONDITION_REQUIRED


class QuotaExceeded(MemnetError):
    """The quota is used up; try again after the seconds in Retry-After."""

    code = ErrorCode.QUOTA_EXCEEDED


class HeadersTooLarge(MemnetError):
    """The request's target and headers are together larger than this service reads."""

    code = ErrorCode.HEADERS_TOO_LARGE


class TransferCodingUnsupported(MemnetError):
    """The only transfer coding of a request body is chunked."""

    code = ErrorCode.TRANSFER_CODING_UNSUPPORTED


class Internal(MemnetError):
    """The service failed; the request may or may not have been applied."""

    code = ErrorCode.INTERNAL


class HistoryCorrupt(MemnetError):
    """The audit records of this document do not form one chain; run memnet audit verify."""

    code = ErrorCode.HISTORY_CORRUPT


class DecryptionFailed(MemnetError):
    """Stored ciphertext does not open: it was altered, moved from its place, or sealed with another key."""

    code = ErrorCode.DECRYPTION_FAILED


class Unavailable(MemnetError):
    """A dependency did not answer in time; repeat the request with the same Idempotency-Key."""

    code = ErrorCode.UNAVAILABLE


class SearchUnavailable(MemnetError):
    """The search index is not available at the moment; events are stored all the same."""

    code = ErrorCode.SEARCH_UNAVAILABLE


class CatalogConflict(MemnetError):
    """A version of a profile, schema or prompt was used before with another text; raise the version."""

    code = ErrorCode.CATALOG_CONFLICT

    def __init__(self, versions: Sequence[str]) -> None:
        """`versions` are those whose text is another one than before."""
        named = ", ".join(versions)
        super().__init__(
            f"Used before with another text: {named}. Raise the version, or bring back the text.", versions=versions
        )


class VaultUnavailable(MemnetError):
    """The key vault is not available at the moment; what must be encrypted is not stored."""

    code = ErrorCode.VAULT_UNAVAILABLE


class Overloaded(MemnetError):
    """The service works on as many requests as it takes; nothing was done, repeat the request a little later."""

    code = ErrorCode.OVERLOADED
