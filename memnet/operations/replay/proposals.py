"""Try and rebase the patches that replays and conflicts propose; create the conflict of one that met another change."""

from dataclasses import dataclass, replace

from memnet.domain.core.access import Role
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import (
    BindingNotFound,
    DocumentExists,
    DocumentNotFound,
    ETagMismatch,
    MemnetError,
)
from memnet.domain.core.scope import Actor
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import WriteResult
from memnet.domain.documents.rebase import ABSENT, ConflictCause, RebaseConflict, rebase
from memnet.domain.governance.waiting import WaitingKind
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import BACKOFF, Versions, new_conflict
from memnet.domain.replay.proposal import ConflictDetails, Proposal, RebaseResult, Request, command
from memnet.operations.documents.write import patch_document
from memnet.operations.replay.jobs import send_job
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing

REJECTIONS = frozenset(
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
        ErrorCode.STATEMENT_CONTRADICTED,
    }
)
"""Failures of the patch itself. Every other failure is one of the service or the profile, and is raised."""


@dataclass(frozen=True, slots=True)
class LostRace:
    """Another writer was first. The request was not applied and never will be."""

    code: ErrorCode


@dataclass(frozen=True, slots=True)
class Rejected:
    """The current document refuses the patch. The request was not applied."""

    error: MemnetError

    @property
    def reason(self) -> str:
        """The code and the message, without content."""
        return f"{self.error.code.value}: {self.error.message}"


def worker(service: Service) -> Actor:
    """Return the actor of all writes of replays."""
    return Actor(service.worker_principal, frozenset({Role.REPLAY}))


async def try_proposal(
    proposal: Proposal, request: Request, service: Service, *, dry_run: bool = False
) -> WriteResult | LostRace | Rejected:
    """Patch the document, exactly once however often this is called, and return the outcome.

    A dry run applies nothing; its result says whether the request was applied before (`replayed`).

    Raises:
        ProfileNotFound, BindingNotFound: Another release may have them.
        Unavailable: The outcome is unknown.
        ProfileForbidden, HistoryCorrupt, ErasureRunning, CatalogConflict, VaultUnavailable.
    """
    try:
        return await patch_document(command(proposal, request, worker(service), dry_run=dry_run), service)
    except (ETagMismatch, DocumentExists, DocumentNotFound) as error:
        return LostRace(error.code)
    except MemnetError as error:
        if error.code not in REJECTIONS:
            raise
        return Rejected(error)


async def rebase_proposal(proposal: Proposal, service: Service) -> RebaseResult:
    """Rebase the proposed operations from the version they were proposed on to the current one.

    A document that does not exist has the binding's initial content. Raises ProfileNotFound, BindingNotFound,
    HistoryCorrupt, Unavailable.
    """
    profile = service.catalog.profile(proposal.profile_id)
    stored = await service.documents.get(proposal.key)
    current = envelope.load(stored.data) if stored else None
    if current is not None and not current.deleted:
        etag, content = current.commit.etag, current.content
    elif proposal.base_etag is not None:
        # Deleted since: creating it again would restore what somebody deleted.
        return RebaseResult(None, None, RebaseConflict(0, "", ConflictCause.GONE, proposal.base, ABSENT))
    else:
        binding = profile.binding(proposal.binding_id)
        if binding is None:
            raise BindingNotFound
        etag, content = None, binding.initial_content or {}
    rules = profile.upkeep_rules.get(proposal.binding_id, ())
    return RebaseResult(etag, content, rebase(proposal.ops, proposal.base, content, rules))


async def create_conflict(proposal: Proposal, details: ConflictDetails, service: Service, *, rebases: int) -> None:
    """Mark the job, create the record, send the job; an existing record stays unchanged.

    `rebases` is the number of the proposal's last request. The same call again completes the work. Raises
    DecryptionFailed, ErasureRunning, VaultUnavailable, Unavailable.
    """
    now = service.clock.now()
    conflict = new_conflict(proposal, details, rebases, now)
    if await service.records.read(conflict.key) is not None:
        return
    await service.marks.mark(conflict.job)
    await service.waiting.mark(proposal.key.scope, WaitingKind.CONFLICT, conflict.conflict_id)
    sealed = await KeyRing(service.vault).seal_member(conflict.key, Versions(proposal, details).dump())
    conflict = replace(conflict, sealed=sealed)
    try:
        await service.records.write(conflict.key, conflicts.dump(conflict), replaces=None)
    except StoreConflict:
        # Written by another worker, or by this write unseen: the marker has the job sent in any case.
        return
    if not await send_job(conflict.job, attempt=conflict.retry_number, due=now + BACKOFF[0], queue=service.queue):
        # Marked again: an old marker may have been removed before there was a record.
        await service.marks.mark(conflict.job)
