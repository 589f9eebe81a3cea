"""Request, get and run the erasures of tenants: first every user's, then the tenant's own data."""

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from memnet.domain.core.errors import (
    DecryptionFailed,
    ErasureNotFound,
    ErasureRunning,
    HistoryCorrupt,
    MemnetError,
    TenantHeld,
    Unavailable,
    VaultUnavailable,
)
from memnet.domain.core.scope import Actor, StorageETag, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.events.event import load as load_event
from memnet.domain.governance.erasure import Found, Status, Store, TenantScope, user_of
from memnet.domain.governance.erasure_receipt import SALT_BYTES
from memnet.domain.governance.tenant_erasure import (
    TenantErasure,
    dump,
    fence_read,
    is_proven,
    load,
    resumed,
    scanned,
    signed,
    starting,
)
from memnet.operations.governance.erase_user import INDEX_PAGE, VAULT, Erased
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.legal_holds import check_tenant_hold, holds_covering
from memnet.paging import bounded, pages, retry_conflicts
from memnet.ports import IndexMissing, StoreConflict
from memnet.service import Service
from memnet.stores import Search, find_indexes

PAGE = 250
ATTEMPTS = 4
MAX_PASSES = 3
"""Scans of one run: one that deletes, and two that find nothing."""
USERS, HOLD = "users", "legal_hold"
"""Failing parts of an erasure that are not stores."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Journal:
    """The record of the erasure, as this process last read or wrote it."""

    service: Service
    erasure: TenantErasure
    tag: StorageETag

    async def note(self, erasure: TenantErasure) -> None:
        """Write the record if it has changed. Raises StoreConflict if another process has written it, Unavailable."""
        if erasure == self.erasure:
            return
        self.tag = await self.service.erasures.write_end(
            erasure.tenant_id, dump(erasure), replaces=self.tag, runs=erasure.receipt is None
        )
        self.erasure = erasure

    async def fail(self, failing: Mapping[str, str]) -> Erased:
        """Record the failing parts."""
        await self.note(replace(self.erasure, failing=dict(failing), clean_scans=0))
        return Erased.FAILING


@dataclass(slots=True)
class _Pass:
    """The findings of one pass over the tenant."""

    known_at: datetime
    """The moment before the holds were read; deletions are dated with it."""
    held: dict[UserScope, bool] = field(default_factory=dict)
    found: int = 0
    kept: list[Found] = field(default_factory=list)
    failing: dict[str, str] = field(default_factory=dict)

    async def holds(self, scope: UserScope, service: Service) -> bool:
        """Return whether a legal hold covers the user. Raises HistoryCorrupt, Unavailable."""
        # A hold may have been placed since the last read.
        if not self.held.get(scope):
            self.held[scope] = bool(await holds_covering(scope, service))
        return self.held[scope]

    @property
    def left(self) -> Sequence[UserScope]:
        """The users under a hold."""
        return [scope for scope, is_held in self.held.items() if is_held]


async def request_tenant_erasure(tenant_id: str, service: Service, *, actor: Actor) -> TenantErasure:
    """Create the tenant's fence: within `look_every` every process refuses to write for the tenant, permanently.

    `erase_tenant` does the rest. A repeated request returns the same erasure; one that ended partial runs again.

    Raises:
        TenantHeld: a legal hold is on the tenant.
        VaultUnavailable, DecryptionFailed: no receipt could be signed.
        InvalidIdentifier, HistoryCorrupt, Unavailable.
    """
    await service.signing.newest()

    async def request() -> TenantErasure:
        stored = await service.erasures.read_end(tenant_id)
        found = None if stored is None else load(tenant_id, stored.data)
        if found is not None and found.status is not Status.PARTIAL:
            return found
        await check_tenant_hold(tenant_id, service)
        now = service.clock.now()
        if found is None:
            requested = TenantErasure(
                tenant_id=tenant_id,
                erasure_id=service.ids.new(),
                requested_by=actor.principal,
                accepted_at=to_text(now),
                stores=tuple(Store),
            )
        else:
            requested = resumed(found, by=actor.principal, at=now)
        tag = None if stored is None else stored.storage_etag
        await service.erasures.write_end(tenant_id, dump(requested), replaces=tag, runs=True)
        return requested

    return await retry_conflicts(request, attempts=ATTEMPTS)


async def get_tenant_erasure(tenant_id: str, service: Service) -> TenantErasure:
    """Return the erasure of a tenant, with its receipt once it has ended.

    Raises ErasureNotFound, InvalidIdentifier, HistoryCorrupt, Unavailable.
    """
    stored = await service.erasures.read_end(tenant_id)
    if stored is None:
        raise ErasureNotFound()
    return load(tenant_id, stored.data)


async def erase_tenants(service: Service) -> Counter[Erased]:
    """Run every running erasure of a tenant; return the number of each result. A failure does not stop the others.

    Raises Unavailable if they cannot be listed.
    """
    found = Counter[Erased]()
    for tenant_id in await service.erasures.list_ending():
        try:
            found[await erase_tenant(tenant_id, service)] += 1
        except (Unavailable, HistoryCorrupt) as error:
            log.error("tenant_erasure_failed tenant=%s error=%s", tenant_id, error.code)
            found[Erased.FAILING] += 1
        except Exception:
            log.exception("tenant_erasure_crashed")
            found[Erased.FAILING] += 1
    return found


async def erase_tenant(tenant_id: str, service: Service) -> Erased:
    """Continue the tenant's erasure; several processes may, at once and after a crash.

    It requests the erasure of each user that no legal hold covers, and waits until none of them runs. Then it deletes
    all data except that of users on hold, until two consecutive scans of all stores find nothing. Its receipt is
    complete or partial; a partial one names the users on hold by salted hashes, and a new request runs it again. A hold
    on the tenant pauses it.

    Raises:
        HistoryCorrupt: the record cannot be read.
        Unavailable: the record cannot be written.
    """
    stored = await service.erasures.read_end(tenant_id)
    if stored is None:
        return Erased.NOTHING
    journal = _Journal(service, load(tenant_id, stored.data), stored.storage_etag)
    if journal.erasure.receipt is not None:
        return Erased.NOTHING
    try:
        await journal.note(fence_read(journal.erasure, service.clock.now()))
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
    await check_tenant_hold(tenant_id, service)
    known_at = journal.erasure.known_everywhere_at(service.erasure_quiescence)
    if known_at is None or service.clock.now() < known_at:
        return Erased.WAITING
    for _ in range(MAX_PASSES):
        await check_tenant_hold(tenant_id, service)
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


async def _users_run(journal: _Journal, seen: _Pass) -> bool:
    """Request the erasure of each user that has none and that no hold covers; return whether any runs.

    Raises StoreConflict, HistoryCorrupt, Unavailable.
    """
    service, tenant_id = journal.service, journal.erasure.tenant_id
    # Read before the users are listed: a user who is neither here nor listed has been erased.
    running = await service.erasures.erasing(tenant_id)
    is_any = bool(running)
    failed: list[UserScope] = []
    counted = journal.erasure.starting
    async for page in pages(partial(service.users.list_users, tenant_id), PAGE):
        found = [scope for scope in page if scope not in running]
        held = await bounded(partial(seen.holds, service=service), found)
        free = [scope for scope, is_held in zip(found, held, strict=True) if not is_held]
        if free:
            # Their ids are recorded first: a process that takes over counts none of them again.
            ids = [*counted, *(scope.user_id for scope in (*failed, *free))]
            await journal.note(starting(journal.erasure, ids))
            begun = await bounded(partial(_begin, journal=journal, seen=seen), free)
            failed += [scope for scope, is_begun in zip(free, begun, strict=True) if not is_begun]
            is_any = True
    return is_any


async def _begin(scope: UserScope, journal: _Journal, seen: _Pass) -> bool:
    """Request the user's erasure; return whether it runs or has ended."""
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
    """Delete the data of the tenant and of no held user from every store; record counts and failures.

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
    """Delete blobs one by one in name order: without its release a legal hold would be in force again.

    Raises TenantHeld as soon as a legal hold is on the tenant.
    """
    found = 0
    async for page in pages(partial(service.user_storage.list, scope), PAGE):
        # After the listing: a hold whose record is listed is in force by now.
        await check_tenant_hold(scope.tenant_id, service)
        for one in page:
            user = user_of(scope, one.name)
            if user is not None and await seen.holds(user, service):
                continue
            if one.kept_until is not None:
                seen.kept.append(one)
                continue
            found += 1
            with suppress(StoreConflict):
                await service.user_storage.delete(scope, one, known_at=seen.known_at)
    return found


async def erase_tenant_index(tenant_id: str, held: Collection[UserScope], *, search: Search) -> int:
    """Delete a tenant's documents from every index, except those of the users in `held`; return how many were found.

    Raises Unavailable if one cannot be deleted; repeat the call to continue.
    """
    found = 0
    for name in await find_indexes(search=search):
        after: str | None = None
        while True:
            try:
                hits = await search.index.list(name, tenant_id, limit=INDEX_PAGE, after=after)
                events = {hit.key: load_event(hit.data) for hit in hits}
                keys = [key for key, event in events.items() if event is None or event.key.scope not in held]
                if keys and await search.index.delete(name, keys):
                    raise Unavailable(dependency="search")
            except IndexMissing:
                break
            found += len(keys)
            if len(hits) < INDEX_PAGE:
                break
            after = hits[-1].key
    return found


async def _end(journal: _Journal, seen: _Pass) -> Erased:
    service = journal.service
    try:
        key = await service.signing.newest()
    except (VaultUnavailable, DecryptionFailed) as error:
        return await journal.fail({VAULT: error.code.value})
    await check_tenant_hold(journal.erasure.tenant_id, service)
    now, salt = service.clock.now(), service.ids.secret(SALT_BYTES)
    await journal.note(signed(journal.erasure, left=seen.left, kept=seen.kept, finished_at=now, salt=salt, key=key))
    return Erased.FINISHED
