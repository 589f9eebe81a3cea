"""Place, release, get and list legal holds on users and tenants, and find those that cover a user.

A hold and an erasure of the same user exclude each other (docs/decisions/0044). Each writes before it reads: the hold
is recorded before the erasure's fence is read, and the fence is written before the holds are read.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, TenantEnded, TenantHeld, UserHeld
from memnet.domain.core.scope import Actor, Json, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance import legal_hold as holds
from memnet.domain.governance import tenant_erasure
from memnet.domain.governance.erasure import Status
from memnet.domain.governance.legal_hold import HoldAction, HoldChange, HoldTarget, targets_over
from memnet.paging import bounded, retry_conflicts, rows
from memnet.ports import StoreConflict
from memnet.service import Service

ATTEMPTS = 8
PAGE = 5000


@dataclass(frozen=True, slots=True)
class HoldStatus:
    """The holds that cover a user or a tenant, and every change of its own hold, the oldest first."""

    covering: Sequence[HoldChange]
    changes: Sequence[HoldChange]

    def to_json(self) -> Json:
        """Return the members of the response."""
        return {
            "held": bool(self.covering),
            "holds": holds_to_json(self.covering),
            "changes": [change.to_json() for change in self.changes],
        }


def holds_to_json(covering: Sequence[HoldChange]) -> list[Json]:
    """Return holds in force as members of a response."""
    return [{"covers": one.covers, "reason": one.reason, "actor": one.actor, "since": one.at} for one in covering]


async def place_hold(target: HoldTarget, reason: str, service: Service, *, actor: Actor) -> HoldStatus:
    """Keep all data of a user, or of every user of a tenant, until the hold is released.

    The change is recorded create-only; repeated with the same reason, the call changes nothing. A hold on a tenant does
    not stop an erasure of a single user that has started.

    Raises:
        ErasureRunning: an erasure of the user has started; the hold is not in force.
        TenantEnded: the tenant's erasure is complete.
        HistoryCorrupt, Unavailable.
    """

    async def place() -> None:
        newest = await _newest(target, service)
        if newest is None or not newest.holds or newest.reason != reason:
            await _check_tenant(target.tenant_id, service)
            await _exclude_erasure(target, service)
            newest = await _record(target, newest, HoldAction.PLACED, reason, actor, service)
        try:
            await _exclude_erasure(target, service)
        except ErasureRunning:
            # A newer change belongs to another request, which checks for the erasure itself.
            with suppress(StoreConflict):
                await _record(target, newest, HoldAction.RELEASED, reason, actor, service)
            raise

    await retry_conflicts(place, attempts=ATTEMPTS)
    return await get_hold(target, service)


async def release_hold(target: HoldTarget, reason: str, service: Service, *, actor: Actor) -> HoldStatus:
    """Release the hold on a user or a tenant, and return which holds still cover it; without a hold, change nothing.

    Releasing a tenant's hold does not release those of its users, nor the other way round. Raises HistoryCorrupt,
    Unavailable.
    """

    async def release() -> None:
        newest = await _newest(target, service)
        if newest is not None and newest.holds:
            await _record(target, newest, HoldAction.RELEASED, reason, actor, service)

    await retry_conflicts(release, attempts=ATTEMPTS)
    return await get_hold(target, service)


async def get_hold(target: HoldTarget, service: Service) -> HoldStatus:
    """Return the holds that cover a user or a tenant, and the history of its own hold.

    A hold on a tenant covers its users. No hold covers a user whose erasure has started. Raises HistoryCorrupt,
    Unavailable.
    """
    changes = await _changes(target, service)
    covering = changes[-1:]
    if target.user_id is not None:
        newest = await _newest(HoldTarget(target.tenant_id), service)
        covering += [] if newest is None else [newest]
    in_force = [change for change in covering if change.holds]
    return HoldStatus([] if in_force and await _is_erased(target, service) else in_force, changes)


async def list_holds(tenant_id: str, service: Service) -> Sequence[HoldChange]:
    """List the holds in force on a tenant and on its users: the tenant's own first, then by user.

    Raises InvalidIdentifier, HistoryCorrupt, Unavailable.
    """
    keys = [key async for key in rows(partial(service.holds.list_of_tenant, tenant_id), PAGE)]
    found = [await _newest(target, service) for target in dict.fromkeys(key.target for key in keys)]
    in_force = [change for change in found if change is not None and change.holds]
    return [change for change in in_force if not await _is_erased(change.key.target, service)]


async def holds_covering(scope: UserScope, service: Service) -> Sequence[HoldChange]:
    """Return the recorded holds over a user, its own first, then the tenant's.

    Retention and erasure call it before they delete anything. Raises Unavailable; HistoryCorrupt: the changes cannot be
    read or were altered, so that no caller may assume there is no hold.
    """
    newest = await bounded(partial(_newest, service=service), targets_over(scope))
    return [change for change in newest if change is not None and change.holds]


async def check_user_hold(scope: UserScope, service: Service) -> None:
    """Raise UserHeld while a legal hold covers the user; HistoryCorrupt, Unavailable."""
    if await holds_covering(scope, service):
        raise UserHeld()


async def check_tenant_hold(tenant_id: str, service: Service) -> None:
    """Raise TenantHeld while a legal hold is on the tenant itself; InvalidIdentifier, HistoryCorrupt, Unavailable."""
    newest = await _newest(HoldTarget(tenant_id), service)
    if newest is not None and newest.holds:
        raise TenantHeld()


async def _record(
    target: HoldTarget, newest: HoldChange | None, action: HoldAction, reason: str, actor: Actor, service: Service
) -> HoldChange:
    """Create the change that follows `newest`. Raises StoreConflict if there is one already, Unavailable."""
    key, previous = holds.following(newest, target)
    change = HoldChange(key, action, reason, actor.principal, to_text(service.clock.now()), previous)
    await service.holds.create(key, holds.dump(change))
    return change


async def _check_tenant(tenant_id: str, service: Service) -> None:
    """Raise TenantEnded if the tenant's erasure is complete; HistoryCorrupt, Unavailable."""
    stored = await service.erasures.read_end(tenant_id)
    if stored is not None and tenant_erasure.load(tenant_id, stored.data).status is Status.COMPLETE:
        raise TenantEnded()


async def _exclude_erasure(target: HoldTarget, service: Service) -> None:
    """Delete the fence of an erasure that has not started, so that it reads the holds again before it starts.

    Raises ErasureRunning if it has started, StoreConflict if it is starting now, HistoryCorrupt, Unavailable.
    """
    if target.user_id is None:
        return
    scope = UserScope(target.tenant_id, target.user_id)
    stored = await service.erasures.read(scope)
    if stored is None:
        return
    found = erasures.load(scope, stored.data)
    if found.started_at is not None:
        raise ErasureRunning(erasure_id=found.erasure_id)
    await service.erasures.lift(scope, tag=stored.storage_etag)


async def _is_erased(target: HoldTarget, service: Service) -> bool:
    """Return whether an erasure of the user has started: a hold recorded since came too late for it."""
    if target.user_id is None:
        return False
    return await service.erasures.has_started(UserScope(target.tenant_id, target.user_id))


async def _newest(target: HoldTarget, service: Service) -> HoldChange | None:
    changes = await _changes(target, service)
    return changes[-1] if changes else None


async def _changes(target: HoldTarget, service: Service) -> list[HoldChange]:
    """Return every remaining change, the oldest first.

    Raises HistoryCorrupt if one cannot be read, is missing or was altered, Unavailable.
    """
    keys = [key async for key in rows(partial(service.holds.list, target), PAGE)]
    found = list(zip(keys, await bounded(service.holds.read, keys), strict=True))
    if target.user_id is not None:
        # An erasure deletes the oldest changes first; the newest one counts.
        while len(found) > 1 and found[0][1] is None:
            del found[0]
    changes: list[HoldChange] = []
    for key, data in found:
        if data is None:
            raise HistoryCorrupt("A stored legal hold is missing.", hold=key.blob_name)
        changes.append(holds.load(key, data))
    holds.check_row(changes)
    return changes
