"""The errors of memnet: one class for each code of a closed set. The docstring of a class is its message."""

from collections.abc import Sequence
from inspect import getdoc
from typing import Any, ClassVar

from memnet.domain.core.error_code import ErrorCode

_CODES = {code.replace("_", ""): code for code in ErrorCode}


class MemnetError(Exception):
    """An error with a stable code: the name of its class in capitals. `details` are sent to the client unchanged.

    `param` is what the error is about: a JSON Pointer into the body, or the name of a header or a parameter. `hint` is
    the remedy in one or two sentences. None of them holds memory content.
    """

    code: ClassVar[ErrorCode]

    def __init_subclass__(cls) -> None:
        """Set the code. Raises KeyError for a class without one."""
        cls.code = _CODES[cls.__name__.upper()]

    def __init__(
        self, message: str | None = None, *, param: str | None = None, hint: str | None = None, **details: Any
    ) -> None:
        """Use `message` instead of the class's docstring."""
        self.message = message or " ".join((getdoc(type(self)) or "").split())
        self.param = param
        self.hint = hint
        self.details = details
        super().__init__(self.message)


class MalformedRequest(MemnetError):
    """The request body, a header or a query parameter is not valid for this call."""


class InvalidIdentifier(MemnetError):
    """An id or a segment of a path has 1 to 128 of A-Z a-z 0-9 . _ -, begins with a letter or digit and does not end
    with a dot. A path has 1 to 8 segments and at most 512 characters."""


class InvalidPrecondition(MemnetError):
    """If-Match must be one ETag and If-None-Match, on a write, must be *. Send exactly one of the two."""


class InvalidCursor(MemnetError):
    """This cursor was not issued by this list. Start again without a cursor."""


class IdempotencyKeyRequired(MemnetError):
    """A write needs an Idempotency-Key header of 1 to 255 printable ASCII characters."""


class PatchMalformed(MemnetError):
    """The operations are not a JSON Patch (RFC 6902)."""


class Unauthenticated(MemnetError):
    """A valid bearer token is required."""


class RoleRequired(MemnetError):
    """The token has none of the roles this call needs."""


class TenantForbidden(MemnetError):
    """The token is not for this tenant."""


class UserForbidden(MemnetError):
    """This caller can access one user only; with a delegated token, the user oid of the tenant tid."""


class OriginForbidden(MemnetError):
    """Pages of this origin may not use the MCP endpoint."""


class SelfErasureForbidden(MemnetError):
    """This tenant does not let signed-in users erase their own memory. Send the request to an administrator."""


class ProfileForbidden(MemnetError):
    """This principal is not in the profile's allowed_principals."""


class ProposerCannotConfirm(MemnetError):
    """A pending item is confirmed by neither its proposer nor the principal on whose behalf it was proposed."""


class PlannerCannotApply(MemnetError):
    """Another principal than the one that planned the retraction has to apply it."""


class RouteNotFound(MemnetError):
    """There is no such route."""


class UserNotFound(MemnetError):
    """Nothing is stored about this user. Check the id, which is case-sensitive; list_erasures shows past erasures."""


class DocumentNotFound(MemnetError):
    """There is no such document."""


class VersionNotFound(MemnetError):
    """The document did not exist at that time."""


class ValueNotFound(MemnetError):
    """The document has no value at this pointer."""


class ProfileNotFound(MemnetError):
    """There is no such profile."""


class BindingNotFound(MemnetError):
    """The profile has no such binding."""


class SchemaNotFound(MemnetError):
    """There is no such schema, or not this version of it."""


class PendingItemNotFound(MemnetError):
    """The document has no pending item with this id, or more than one."""


class ReindexNotFound(MemnetError):
    """The events of this tenant have never been reindexed."""


class SnapshotNotFound(MemnetError):
    """There is no such snapshot."""


class ReplayNotFound(MemnetError):
    """There is no such replay."""


class ConflictNotFound(MemnetError):
    """There is no such conflict."""


class ClaimantNotFound(MemnetError):
    """Nothing is stored about the claimant, who must be a user of the same tenant with a memory of their own."""


class ErasureNotFound(MemnetError):
    """There is no erasure of this user with this id."""


class RetractionNotFound(MemnetError):
    """There is no such retraction."""


class MethodNotAllowed(MemnetError):
    """The route does not take this method."""


class RequestTimeout(MemnetError):
    """The request was not sent in time. Nothing was done; retry on a new connection."""


class IdempotencyKeyReused(MemnetError):
    """The same principal used this key on this document for another request; details name its change."""


class EventExists(MemnetError):
    """This event_id is already used by a different event. Events are immutable: choose a new event_id."""


class SnapshotExists(MemnetError):
    """This snapshot_id is already used by a different conversation. Snapshots are immutable: choose a new one."""


class SourceRetracted(MemnetError):
    """This source was taken back by a retraction. Nothing is learnt from it until the retraction is undone."""


class ConflictClosed(MemnetError):
    """The conflict is already resolved or discarded."""


class RetractionClosed(MemnetError):
    """The retraction is in a state in which this is not possible; details.status says which."""


class PendingTargetChanged(MemnetError):
    """The target of the pending item was changed, is gone or is ambiguous. Nothing was written."""


class ErasureRunning(MemnetError):
    """This user's memory is being erased. Writes are refused until the erasure has finished (about a quarter of an
    hour)."""


class TenantEnded(ErasureRunning):
    """This tenant's memory is being erased or was erased. Writes are refused."""


class TenantHeld(MemnetError):
    """The tenant is under a legal hold. Release it before the erasure."""


class UserHeld(MemnetError):
    """The user is under a legal hold, and nothing of the user may be removed."""


class ETagMismatch(MemnetError):
    """If-Match does not match the latest document version."""


class DocumentExists(MemnetError):
    """If-None-Match: * was sent, but the document exists."""


class BodyTooLarge(MemnetError):
    """The request body exceeds the limit."""


class UnsupportedMediaType(MemnetError):
    """The request body must be application/json."""


class ArchiveInvalid(MemnetError):
    """The archive was not written by memnet export, or cannot be imported here; details.reason says why."""


class BindingMismatch(MemnetError):
    """This binding is for another document (or another schema version); details.expected says which."""


class PatchNotApplicable(MemnetError):
    """An operation's path does not exist in the document; details.op_index says which one."""


class PatchTestFailed(MemnetError):
    """A test operation found a different value."""


class PathNotWritable(MemnetError):
    """The profile does not allow this binding to write at this path."""


class FieldDenied(MemnetError):
    """The profile refuses this field, or content of this kind."""


class SchemaViolation(MemnetError):
    """The document would violate its schema."""


class LimitExceeded(MemnetError):
    """The write would exceed a limit of the profile; details name the limit, the allowed and the actual value."""


class ConfidenceTooLow(MemnetError):
    """The confidence is below the profile's threshold, and there is no pending section to hold the proposal."""


class EvidenceRequired(MemnetError):
    """Durable sections and replays need evidence with a pointer, and new text in a durable entry new evidence."""


class EntryExpired(MemnetError):
    """The write adds or changes an entry that has already expired."""


class PendingItemInvalid(MemnetError):
    """Only the service adds items to a pending section. A patch may remove items and change nothing else there."""


class StatementContradicted(MemnetError):
    """The content would have two open entries about one thing. Close one of them, or change what it is about."""


class TurnsNotAccepted(MemnetError):
    """The profile has no rules for turns."""


class ClaimantNotAccepted(MemnetError):
    """The profile has no statements with a claimed_by_field, so that a claimant would be lost."""


class PipelineNotFound(MemnetError):
    """The profile has no recall pipeline of this name."""


class PreconditionRequired(MemnetError):
    """A write needs If-Match with the document's ETag or, to create it, If-None-Match: *."""


class QuotaExceeded(MemnetError):
    """The quota is used up; retry after the seconds in Retry-After."""


class HeadersTooLarge(MemnetError):
    """The request's target and headers are together larger than this service reads."""


class TransferCodingUnsupported(MemnetError):
    """The only transfer coding of a request body is chunked."""


class Internal(MemnetError):
    """The service failed. The request may have been applied; retry it with the same Idempotency-Key."""


class HistoryCorrupt(MemnetError):
    """The audit records of this document do not form one chain; run memnet audit verify."""


class DecryptionFailed(MemnetError):
    """Stored ciphertext cannot be decrypted: it was altered, moved, or encrypted under another key."""


class Unavailable(MemnetError):
    """A dependency did not respond in time; retry with the same Idempotency-Key."""


class SearchUnavailable(MemnetError):
    """The search index is not available. Events are still stored."""


class CatalogConflict(MemnetError):
    """A version of a profile, schema or prompt was used before with a different text; raise the version."""

    def __init__(self, versions: Sequence[str]) -> None:
        """Name the versions whose text is different now."""
        named = ", ".join(versions)
        super().__init__(
            f"Used before with a different text: {named}. Raise the version, or restore the text.", versions=versions
        )


class VaultUnavailable(MemnetError):
    """The key vault is not available. Data that must be encrypted is not stored."""


class Overloaded(MemnetError):
    """The service is at its concurrency limit. Nothing was done; retry after the seconds in Retry-After."""
