"""Replace keys: the tenant's, by wrapping every data key anew, or the data key of one user."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from memnet.domain.core.errors import DecryptionFailed, ErasureRunning, Unavailable
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.core.user_item import ItemKind
from memnet.domain.sealing import data_keys, sealing
from memnet.domain.sealing.data_keys import DataKeys, data_keys_key
from memnet.domain.sealing.sealing import NONCE_BYTES, WrappedKey
from memnet.ports import StoreConflict, TenantKey
from memnet.stores import RecordStore, Vault
from memnet.stores.key_ring import KeyRing, read_data_keys

PAGE = 1000
AT_ONCE = 16
ATTEMPTS = 100
"""Every lost race is somebody else's key that was stored, so it ends; rotating one user at once is rare."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class RotationReport:
    """What a rotation came to; `version` is the tenant's key's, None if there was nothing for it to wrap."""

    version: str | None = None
    users: int = 0
    rewrapped: int = 0
    """Users some of whose data keys were wrapped anew, or who got a new one."""
    postponed: int = 0
    """Users whose keys could not be written, for now or because they are being erased; they still open, and the next
    run takes those that are left.
    """
    broken: int = 0
    """Users whose keys do not open."""


async def rotate_keys(
    tenant_id: str, user_id: str | None = None, *, vault: Vault, resume: bool = False, accept_loss: bool = False
) -> RotationReport:
    """Make a new version of the tenant's key and wrap the data keys of all its users with it; or, for one user, a new
    data key that everything is sealed with from now on.

    Older data keys stay and open what they sealed; nothing that is sealed is written again. A rotation that was
    interrupted leaves every key usable; with `resume` no version is made, and what the newest one does not wrap yet is
    wrapped. Any number may run at once, beside any number of writers: everything opens all the time, and one more run
    with `resume` has all keys under the newest version. Whoever has no data keys is left without.

    A user whose keys do not open cannot be written for. With `accept_loss` the one user gets a new data key all the
    same: what the older ones sealed stays closed, unless the tenant's key comes back.

    Raises InvalidIdentifier, DecryptionFailed for the keys of the one user, VaultUnavailable, and Unavailable if the
    listing, or the one user's record, fails.
    """
    if user_id is not None:
        renewed = int(await _renew(UserScope(tenant_id, user_id), vault, accept_loss))
        return RotationReport(users=renewed, rewrapped=renewed)
    check_identifier("tenant_id", tenant_id)
    report = RotationReport()
    if not await _has_users(tenant_id, vault.records):
        return report
    target = await (vault.keys.newest(tenant_id) if resume else vault.keys.rotate(tenant_id))
    report.version = target.version
    # From the beginning: a user may have come between the first look and the new version.
    async for scopes in _users(tenant_id, vault.records):
        # All end before a failure goes up: none may go on writing behind the caller's back.
        outcomes = await asyncio.gather(
            *(_rewrap_of(scope, target, vault, report) for scope in scopes), return_exceptions=True
        )
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
    return report


async def _has_users(tenant_id: str, records: RecordStore) -> bool:
    cursor: str | None = None
    while True:
        page = await records.list_of_tenant(tenant_id, ItemKind.KEYS, limit=PAGE, cursor=cursor)
        if page.items or page.next_cursor is None:
            return bool(page.items)
        cursor = page.next_cursor


async def _users(tenant_id: str, records: RecordStore) -> AsyncIterator[Sequence[UserScope]]:
    """The users who have data keys, some at a time. Raises Unavailable."""
    cursor: str | None = None
    while True:
        page = await records.list_of_tenant(tenant_id, ItemKind.KEYS, limit=PAGE, cursor=cursor)
        scopes = [key.scope for key in page.items]
        for start in range(0, len(scopes), AT_ONCE):
            yield scopes[start : start + AT_ONCE]
        cursor = page.next_cursor
        if cursor is None:
            return


async def _renew(scope: UserScope, vault: Vault, accept_loss: bool) -> bool:
    """Say whether there was a key to follow."""
    for _ in range(ATTEMPTS):
        found = await read_data_keys(scope, records=vault.records)
        if found is None:
            return False
        if not accept_loss:
            # What cannot be opened must not be hidden behind a new key.
            await KeyRing(vault).unwrap(scope, found[0].current)
        try:
            await KeyRing(vault).add(scope, *found)
        except StoreConflict:
            continue
        return True
    raise Unavailable(dependency="blob_storage")


async def _rewrap_of(scope: UserScope, target: TenantKey, vault: Vault, report: RotationReport) -> None:
    report.users += 1
    try:
        for _ in range(ATTEMPTS):
            try:
                rewrapped = await _rewrap(scope, target, vault)
            except StoreConflict:
                continue
            report.rewrapped += rewrapped
            return
        report.postponed += 1
    except (Unavailable, ErasureRunning):
        report.postponed += 1
    except DecryptionFailed:
        log.error("data keys do not open", extra={"keys": data_keys_key(scope).blob_name})
        report.broken += 1


async def _rewrap(scope: UserScope, target: TenantKey, vault: Vault) -> bool:
    """Wrap what `target` does not wrap yet and what opens; say whether there was any."""
    found = await read_data_keys(scope, records=vault.records)
    if found is None:
        return False
    keys = [await _under(scope, key, target, vault, is_current=key is found[0].current) for key in found[0].keys]
    if keys == list(found[0].keys):
        return False
    await vault.records.write(data_keys_key(scope), data_keys.dump(DataKeys(keys)), replaces=found[1])
    return True


async def _under(
    scope: UserScope, wrapped: WrappedKey, target: TenantKey, vault: Vault, *, is_current: bool
) -> WrappedKey:
    """Of an older key that does not open any more the loss was accepted: it stays as it is, and keeps no other one."""
    if wrapped.tenant_key_version == target.version:
        return wrapped
    try:
        data_key = await KeyRing(vault).unwrap(scope, wrapped)
    except DecryptionFailed:
        if is_current:
            raise
        return wrapped
    return sealing.wrap(
        data_key,
        scope,
        tenant_key=target.secret,
        tenant_key_version=target.version,
        created_at=wrapped.created_at,
        nonce=vault.ids.secret(NONCE_BYTES),
    )
