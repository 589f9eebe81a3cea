"""List, retry and discard conflicts."""

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial

from memnet.domain.catalog.rules import STRICTEST
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import (
    BindingNotFound,
    ConflictClosed,
    ConflictNotFound,
    DecryptionFailed,
    Internal,
    MemnetError,
    ProfileForbidden,
    ProfileNotFound,
    Unavailable,
)
from memnet.domain.core.job import Job
from memnet.domain.core.scope import Actor, StorageETag, UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents.commands import WriteResult
from memnet.domain.documents.sensitive import check_remarks
from memnet.domain.governance.withdrawn import Fate, PlannedItem, WithdrawnKind
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import Asked, Conflict, ConflictStatus, Decision, Versions, conflict_key
from memnet.domain.replay.proposal import ConflictDetails, Request, next_attempt
from memnet.operations.replay.closed_sources import read_closed_sources
from memnet.operations.replay.jobs import send_job, unmark_job
from memnet.operations.replay.proposals import Rejected, rebase_proposal, try_proposal
from memnet.operations.replay.withdrawn_jobs import remove_conflict
from memnet.paging import bounded, retry_conflicts
from memnet.ports import Page, StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing, Vault

PAGE = 25
"""The longest page: each conflict is read, unsealed, and holds two versions of a document."""
TRANSIENT = frozenset({ErrorCode.UNAVAILABLE, ErrorCode.VAULT_UNAVAILABLE, ErrorCode.ERASURE_RUNNING})
"""Failures of the service, which do not count as an attempt."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadedConflict:
    """A conflict as read, and the storage ETag for its next write."""

    conflict: Conflict
    versions: Versions | None
    """None: the sealed part cannot be unsealed any more."""
    tag: StorageETag


async def read_conflict(scope: UserScope, conflict_id: str, *, vault: Vault) -> LoadedConflict:
    """Read a conflict and unseal its versions.

    Raises InvalidIdentifier, ConflictNotFound, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    key = conflict_key(scope, conflict_id)
    stored = await vault.records.read(key)
    if stored is None:
        raise ConflictNotFound()
    conflict = conflicts.load(stored.data)
    try:
        plaintext = await KeyRing(vault).unseal_member(key, conflict.sealed)
        versions = conflicts.load_versions(scope, plaintext)
    except DecryptionFailed:
        # Not raised: an unreadable conflict can still be listed and discarded.
        versions = None
    return LoadedConflict(conflict, versions, stored.storage_etag)


async def list_conflicts(
    scope: UserScope, *, status: ConflictStatus | None, limit: int, cursor: str | None, vault: Vault
) -> Page[tuple[Conflict, Versions | None]]:
    """Return the conflicts of one status, or all, by id; a page may be short or empty.

    Raises InvalidCursor, HistoryCorrupt, VaultUnavailable, Unavailable.
    """

    async def read(key: ItemKey) -> LoadedConflict | None:
        try:
            return await read_conflict(key.scope, key.name, vault=vault)
        except ConflictNotFound:
            return None

    page = await vault.records.list(scope, ItemKind.CONFLICTS, limit=min(limit, PAGE), cursor=cursor)
    found = [loaded for loaded in await bounded(read, page.items) if loaded is not None]
    rows = [(one.conflict, one.versions) for one in found if status in (None, one.conflict.status)]
    return Page(rows, page.next_cursor)


async def retry_conflict(
    scope: UserScope, conflict_id: str, service: Service, *, actor: Actor
) -> tuple[Conflict, Versions | None]:
    """Record the actor's request, attempt the conflict, and return it, resolved or open.

    The worker's principal writes: the actor does not become the proposer. Raises InvalidIdentifier, ConflictNotFound,
    HistoryCorrupt, VaultUnavailable, Unavailable; ConflictClosed: it was resolved or discarded before.
    """

    async def note() -> Job:
        loaded = await _read_open(scope, conflict_id, service.vault)
        decision = Decision(Asked.RETRY, actor.principal, to_text(service.clock.now()))
        return (await _write(loaded.conflict.note(decision), loaded, service)).conflict.job

    await attempt_conflict(await retry_conflicts(note), service, attempt=None)
    loaded = await read_conflict(scope, conflict_id, vault=service.vault)
    return loaded.conflict, loaded.versions


async def discard_conflict(
    scope: UserScope, conflict_id: str, service: Service, *, actor: Actor, note: str | None
) -> tuple[Conflict, Versions | None]:
    """Close a conflict, record the actor and the note, and return it.

    If a request of an interrupted retry was applied after all, the conflict is resolved instead.

    Raises:
        FieldDenied: The note is sensitive.
        ConflictClosed: It was resolved or discarded before, or is resolved now.
        InvalidIdentifier, ConflictNotFound, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    check_remarks({"note": note}, STRICTEST)

    async def close() -> LoadedConflict:
        loaded = await _read_open(scope, conflict_id, service.vault)
        applied = await _find_applied(loaded, service)
        now = service.clock.now()
        if applied is not None:
            closed = loaded.conflict.resolve(applied.change_id, now, redirected=applied.has_proposed)
        else:
            closed = loaded.conflict.discard(Decision(Asked.DISCARD, actor.principal, to_text(now), note))
        return await _write(closed, loaded, service)

    closed = await retry_conflicts(close)
    service.background.start("unmark conflict", unmark_job(closed.conflict.job, service))
    if closed.conflict.status is ConflictStatus.RESOLVED:
        raise ConflictClosed(status=closed.conflict.status.value)
    return closed.conflict, closed.versions


async def _read_open(scope: UserScope, conflict_id: str, vault: Vault) -> LoadedConflict:
    loaded = await read_conflict(scope, conflict_id, vault=vault)
    if loaded.conflict.status is not ConflictStatus.OPEN:
        raise ConflictClosed(status=loaded.conflict.status.value)
    return loaded


async def _find_applied(loaded: LoadedConflict, service: Service) -> WriteResult | None:
    """Return the result of a request whose outcome was not recorded; None if it was not applied."""
    if loaded.versions is None or loaded.versions.request is None:
        return None
    try:
        found = await try_proposal(loaded.versions.proposal, loaded.versions.request, service, dry_run=True)
    except (ProfileNotFound, ProfileForbidden, BindingNotFound):
        return None
    return found if isinstance(found, WriteResult) and found.replayed else None


async def attempt_conflict(job: Job, service: Service, *, attempt: int | None) -> Conflict:
    """Rebase the proposal onto the current version, apply it, and return the conflict, resolved or open.

    `attempt` is the number of the job's scheduled retry; a retry that is not due does nothing. After a failed one the
    next is scheduled, up to the last. None: a person asked for it, and the schedule stays. Every request is stored
    before it is sent, so none is applied twice. Raises ConflictNotFound, HistoryCorrupt, ErasureRunning,
    VaultUnavailable, Unavailable: the same call continues.
    """
    conflict = await retry_conflicts(partial(_attempt, job, attempt, service))
    if conflict.next_attempt_at is None:
        try:
            await unmark_job(job, service)
        except Unavailable:
            # A later run finds the marker of a finished job.
            return conflict
    elif attempt is not None:
        due = from_text(conflict.next_attempt_at)
        if not await send_job(job, attempt=conflict.retry_number, due=due, queue=service.queue):
            await service.marks.mark(job)
    return conflict


async def _attempt(job: Job, attempt: int | None, service: Service) -> Conflict:
    """Raises StoreConflict after a write by another worker, or an own write that was applied unseen."""
    loaded, closed = await asyncio.gather(
        read_conflict(job.scope, job.job_id, vault=service.vault), read_closed_sources(job.scope, service.records)
    )
    conflict = loaded.conflict
    withdrawal = closed.find_cited(conflict.evidence)
    if withdrawal is not None:
        item = PlannedItem(WithdrawnKind.CONFLICT, conflict.conflict_id, Fate.REMOVE)
        await remove_conflict(job.scope, item, withdrawal, service)
        raise ConflictNotFound
    due = attempt is None or (attempt == conflict.retry_number and conflict.next_attempt_at is not None)
    if conflict.status is not ConflictStatus.OPEN or not due:
        return conflict
    try:
        if loaded.versions is None:
            raise DecryptionFailed()
        return await _apply(loaded, loaded.versions, attempt, service)
    except StoreConflict:
        raise
    except MemnetError as error:
        if error.code in TRANSIENT:
            raise
        failure = error
    except Exception:
        # A defect counts as a failed attempt, so that the schedule ends.
        log.exception("a conflict could not be attempted")
        failure = Internal()
    kept = conflict.keep_open(Rejected(failure).reason, service.clock.now(), attempt=attempt)
    return (await _write(kept, loaded, service)).conflict


async def _apply(loaded: LoadedConflict, versions: Versions, attempt: int | None, service: Service) -> Conflict:
    proposal = versions.proposal
    if versions.request is not None:
        # Its outcome is unknown. No other request may be sent before it is known.
        earlier = await try_proposal(proposal, versions.request, service)
        if isinstance(earlier, WriteResult):
            return await _resolve(loaded, earlier, service)
    step = next_attempt(await rebase_proposal(proposal, service), loaded.conflict.rebases + 1)
    if not isinstance(step, Request):
        return await _end(loaded, versions, step, attempt, service)
    sent = loaded.conflict.send(step, service.clock.now())
    loaded = await _write(sent, loaded, service, replace(versions, request=step))
    outcome = await try_proposal(proposal, step, service)
    if isinstance(outcome, WriteResult):
        return await _resolve(loaded, outcome, service)
    reason = outcome.reason if isinstance(outcome, Rejected) else outcome.code.value
    found = await rebase_proposal(proposal, service)
    newest = next_attempt(found, step.number + 1, max_rebases=step.number, lost=reason)
    assert not isinstance(newest, Request)
    return await _end(loaded, versions, newest, attempt, service)


async def _end(
    loaded: LoadedConflict, versions: Versions, step: ConflictDetails | None, attempt: int | None, service: Service
) -> Conflict:
    """Record that no request is open: the document has the content already, or the conflict stays open."""
    now = service.clock.now()
    if step is None:
        return (await _write(loaded.conflict.resolve(None, now), loaded, service)).conflict
    kept = loaded.conflict.keep_open(step.reason, now, attempt=attempt)
    return (await _write(kept, loaded, service, replace(versions, details=step, request=None))).conflict


async def _resolve(loaded: LoadedConflict, result: WriteResult, service: Service) -> Conflict:
    """Record that the proposal is in the document, even if the conflict was discarded meanwhile."""

    async def write(current: LoadedConflict) -> Conflict:
        if current.conflict.status is ConflictStatus.RESOLVED:
            return current.conflict
        resolved = current.conflict.resolve(result.change_id, service.clock.now(), redirected=result.has_proposed)
        return (await _write(resolved, current, service)).conflict

    async def read_and_write() -> Conflict:
        return await write(await read_conflict(loaded.conflict.scope, loaded.conflict.conflict_id, vault=service.vault))

    try:
        return await write(loaded)
    except StoreConflict:
        return await retry_conflicts(read_and_write)


async def _write(
    conflict: Conflict, loaded: LoadedConflict, service: Service, versions: Versions | None = None
) -> LoadedConflict:
    """Write the record, with new versions if any, on the condition that it is unchanged. Raises StoreConflict."""
    if versions is not None:
        sealed = await KeyRing(service.vault).seal_member(conflict.key, versions.dump())
        conflict = replace(conflict, sealed=sealed)
    tag = await service.records.write(conflict.key, conflicts.dump(conflict), replaces=loaded.tag)
    return LoadedConflict(conflict, versions or loaded.versions, tag)
