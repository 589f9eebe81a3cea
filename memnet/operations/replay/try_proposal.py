"""Send one request of a proposal through the governed write."""

from dataclasses import dataclass

from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import DocumentExists, DocumentNotFound, ETagMismatch, MemnetError
from memnet.domain.core.scope import Actor
from memnet.domain.documents.commands import WriteResult
from memnet.domain.replay.proposal import Proposal, Request, command
from memnet.operations.documents.write import patch_document
from memnet.service import Service

REFUSALS = frozenset(
    {
        ErrorCode.MALFORMED_REQUEST,
        ErrorCode.INVALID_IDENTIFIER,
        ErrorCode.PATCH_MALFORMED,
        ErrorCode.PROPOSER_CANNOT_CONFIRM,
        ErrorCode.BINDING_MISMATCH,
        ErrorCode.IDEMPOTENCY_KEY_REUSED,
        ErrorCode.PATCH_NOT_APPLICABLE,
        ErrorCode.PATCH_TEST_FAILED,
        ErrorCode.PATH_NOT_WRITABLE,
        ErrorCode.FIELD_DENIED,
        ErrorCode.SCHEMA_VIOLATION,
        ErrorCode.LIMIT_EXCEEDED,
        ErrorCode.CONFIDENCE_TOO_LOW,
        ErrorCode.EVIDENCE_REQUIRED,
        ErrorCode.ENTRY_EXPIRED,
        ErrorCode.PENDING_ITEM_INVALID,
    }
)
"""What is said of the patch itself. Anything else concerns the service or the profile, and goes up."""


@dataclass(frozen=True, slots=True)
class Writing:
    """The ports that writing a document takes, and who writes."""

    actor: Actor
    service: Service


@dataclass(frozen=True, slots=True)
class Raced:
    """Somebody else was first; the request was not applied and never will be."""

    code: ErrorCode


@dataclass(frozen=True, slots=True)
class Refused:
    """The patch is not for this document as it is; the request was not applied."""

    error: MemnetError

    @property
    def reason(self) -> str:
        """The code and the message, which hold no content."""
        return f"{self.error.code.value}: {self.error.message}"


async def try_proposal(
    proposal: Proposal, request: Request, *, writing: Writing, dry_run: bool = False
) -> WriteResult | Raced | Refused:
    """Patch the document, exactly once however often this is called, and say what came of it.

    A dry run tells whether the request was applied before (`replayed`), and applies nothing. Raises ProfileNotFound
    and BindingNotFound, which another release may know, ProfileForbidden, HistoryCorrupt, VaultUnavailable, and
    Unavailable when the outcome is open.
    """
    try:
        return await patch_document(command(proposal, request, writing.actor, dry_run=dry_run), writing.service)
    except (ETagMismatch, DocumentExists, DocumentNotFound) as error:
        return Raced(error.code)
    except MemnetError as error:
        if error.code not in REFUSALS:
            raise
        return Refused(error)
