"""Erase all that is stored of a tenant, as far as it gets now: its users one by one, then what is the tenant's own."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memnet.domain.core.errors import DecryptionFailed, ErasureRunning, MemnetError, TenantHeld, VaultUnavailable
from memnet.domain.core.scope import Actor, StorageETag, UserScope
from memnet.domain.governance.erasure import Found, Store, TenantScope, user_of
from memnet.domain.governance.erasure_receipt import SALT_BYTES
from memnet.domain.governance.tenant_erasure import (
    TenantErasure,
    dump,
    is_proven,
    load,
    scanned,
    signed,
    standing,
    starting,
)
from memnet.operations.governance.erase_tenant_index import erase_tenant_index
from memnet.operations.governance.erase_user import VAULT, Erased
from memnet.operations.governance.legal_holds import holds_covering, is_tenant_held
from memnet.operations.governance.request_erasure import request_erasure
from memnet.ports import StoreConflict
from memnet.service import Service

PAGE = 250
PARALLEL = 8
PASSES = 3
"""So often it is scanned by one run: twice clean, and once for what the first scan removes."""
USERS, HOLD = "users", "legal_hold"
"""What else can keep it from going on, besides a store."""


@dataclass(slots=True)
class _Journal:
    """The record as it was read or written last."""

    service: Service
    erasure: TenantErasure
    tag: StorageETag

    async def note(self, erasure: TenantErasure) -> None:
        """Write it, if it says anything new. Raises StoreConflict if another process has, Unavailable."""
        if erasure == self.erasure:
            return
        self.tag = await self.service.erasures.write_end(
            erasure.tenant_id, dump(erasure), replaces=self.tag, runs=erasure.receipt is None
        )
        self.erasure = erasure

    async def fail(self, failing: Mapping[str, str]) -> Erased:
        """Note what keeps it from going on."""
        await self.note(replace(self.erasure, failing=dict(failing), clean_scans=0))
        return Erased.FAILING


@dataclass(slots=True)
class _Pass:
    """What one pass over the tenant has seen."""

    known_at: datetime
    """What is removed is dated so: before the holds were read."""
    held: dict[UserScope, bool] = field(default_factory=dict)
    found: int = 0
    kept: list[Found] = field(default_factory=list)
    failing: dict[str, str] = field(default_factory=dict)

    async def holds(self, scope: UserScope, service: Service) -> bool:
        """Whether a legal hold covers the user. Raises HistoryCorrupt, Unavailable."""
        # A user who was not held a moment ago may be held by now.
        if not self.held.get(scope):
            self.held[scope] = bool(await holds_covering(scope, holds=service.holds))
        return self.held[scope]

    @property
    def left(self) -> Sequence[UserScope]:
        """The users under a hold."""
        return [scope for scope, is_held in self.held.items() if is_held]


async def erase_tenant(tenant_id: str, service: Service) -> Erased:
    """Go on with the tenant's erasure from wherever it is; any number of processes may, at once and after a crash.

    It begins the erasure of each user that no legal hold covers, and waits until none of them runs. Then it removes
    what is left outside of the held users' memory, until two scans of all stores in a row find nothing. Its receipt is
    complete, or partial: then it names the held users by salted hashes, and a new request runs it again. A hold on the
    tenant pauses it. Raises HistoryCorrupt if the record cannot be read, Unavailable if it cannot be written.
    """
    stored = await service.erasures.read_end(tenant_id)
    if stored is None:
        return Erased.NOTHING
    journal = _Journal(service, load(tenant_id, stored.data), stored.storage_etag)
    if journal.erasure.receipt is not None:
        return Erased.NOTHING
    try:
        await journal.note(standing(journal.erasure, service.clock.now()))
        try:
            return await _erase(journal)
        except TenantHeld as error:
            return await journal.fail({HOLD: error.code.value})
    except StoreConflict:
        return Erased.TAKEN_OVER
    except MemnetError as error:
        return await journal.fail({Store.BLOBS.value: error.code.value})


async def _erase(journal: _Journal) -> Erased:
    service, tenant_id = journal.service, journal.erasure.tenant_id
    await _check_hold(tenant_id, service)
    known_at = journal.erasure.known_everywhere_at(service.erasure_quiescence)
    if known_at is None or service.clock.now() < known_at:
        return Erased.WAITING
    for _ in range(PASSES):
        await _check_hold(tenant_id, service)
        settled_at = journal.erasure.settled_at(service.erasure_quiescence)
        is_settled = settled_at is not None and service.clock.now() >= settled_at
        seen = _Pass(service.clock.now())
        if await _users_run(journal, seen):
            await journal.note(replace(journal.erasure, clean_scans=0, failing=seen.failing))
            return Erased.FAILING if seen.failing else Erased.WAITING
        await _remove_own(journal, seen)
        if seen.failing:
            return await journal.fail(seen.failing)
        if not is_settled:
            return Erased.WAITING
        await journal.note(scanned(journal.erasure, clean=seen.found == 0))
        if is_proven(journal.erasure):
            return await _end(journal, seen)
    return Erased.WAITING


async def _check_hold(tenant_id: str, service: Service) -> None:
    """Raise TenantHeld while a legal hold is on the tenant. Raises HistoryCorrupt, Unavailable."""
    if await is_tenant_held(tenant_id, holds=service.holds):
        raise TenantHeld()


async def _users_run(journal: _Journal, seen: _Pass) -> bool:
    """Begin the erasure of each user that has none and that no hold covers; return whether any runs.

    Raises StoreConflict, HistoryCorrupt, Unavailable.
    """
    service, tenant_id = journal.service, journal.erasure.tenant_id
    # Before the users are listed: who is neither here nor listed has been erased.
    running = await service.erasures.erasing(tenant_id)
    is_any = bool(running)
    gate = asyncio.Semaphore(PARALLEL)
    failed: list[UserScope] = []
    counted = journal.erasure.starting
    cursor: str | None = None
    while True:
        page = await service.users.list_users(tenant_id, limit=PAGE, cursor=cursor)
        found = [scope for scope in page.items if scope not in running]
        held = await asyncio.gather(*(_bounded(gate, seen.holds(scope, service)) for scope in found))
        free = [scope for scope, is_held in zip(found, held, strict=True) if not is_held]
        if free:
            # Their names before the deeds: whoever takes over counts none of them again.
            ids = [*counted, *(scope.user_id for scope in (*failed, *free))]
            await journal.note(starting(journal.erasure, ids))
            begun = await asyncio.gather(*(_bounded(gate, _begin(scope, journal, seen)) for scope in free))
            failed += [scope for scope, is_begun in zip(free, begun, strict=True) if not is_begun]
            is_any = True
        cursor = page.next_cursor
        if cursor is None:
            return is_any


async def _bounded(gate: asyncio.Semaphore, call: Awaitable[bool]) -> bool:
    async with gate:
        return await call


async def _begin(scope: UserScope, journal: _Journal, seen: _Pass) -> bool:
    """Request the user's erasure; return whether it runs, or is over."""
    actor, key = Actor(journal.erasure.requested_by, frozenset()), journal.service.ids.new()
    try:
        await request_erasure(scope, journal.service, idempotency_key=key, actor=actor)
    except ErasureRunning:
        return True
    except MemnetError as error:
        seen.failing[USERS] = error.code.value
        return False
    return True


async def _remove_own(journal: _Journal, seen: _Pass) -> None:
    """Remove from every store what belongs to the tenant and to no held user; note what was found and what failed.

    Raises TenantHeld.
    """
    for store in journal.erasure.stores:
        try:
            seen.found += await _remove_from(store, journal, seen)
        except TenantHeld:
            raise
        except MemnetError as error:
            seen.failing[store.value] = error.code.value


async def _remove_from(store: Store, journal: _Journal, seen: _Pass) -> int:
    service, scope = journal.service, TenantScope(journal.erasure.tenant_id)
    if store is Store.BLOBS:
        return await _remove_blobs(scope, seen, service)
    if store is Store.INDEX:
        return await erase_tenant_index(scope.tenant_id, seen.left, search=service.search)
    return await service.queue.purge(scope)


async def _remove_blobs(scope: TenantScope, seen: _Pass, service: Service) -> int:
    """One after the other, in name order: without its release a legal hold would be in force again.

    Raises TenantHeld as soon as a legal hold is on the tenant.
    """
    found = 0
    cursor: str | None = None
    while True:
        page = await service.user_storage.list(scope, limit=PAGE, cursor=cursor)
        # After the listing: a hold whose record is listed is in force by now.
        await _check_hold(scope.tenant_id, service)
        for one in page.items:
            user = user_of(scope, one.name)
            if user is not None and await seen.holds(user, service):
                continue
            if one.kept_until is not None:
                seen.kept.append(one)
                continue
            found += 1
            try:
                await service.user_storage.delete(scope, one, known_at=seen.known_at)
            except StoreConflict:
                continue
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _end(journal: _Journal, seen: _Pass) -> Erased:
    service = journal.service
    try:
        key = await service.signing.newest()
    except (VaultUnavailable, DecryptionFailed) as error:
        return await journal.fail({VAULT: error.code.value})
    await _check_hold(journal.erasure.tenant_id, service)
    now, salt = service.clock.now(), service.ids.secret(SALT_BYTES)
    await journal.note(signed(journal.erasure, left=seen.left, kept=seen.kept, finished_at=now, salt=salt, key=key))
    return Erased.FINISHED
