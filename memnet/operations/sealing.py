"""Rotate keys: wrap every data key of a tenant with a new tenant key, or add a data key for one user."""

import logging
from dataclasses import dataclass
from functools import partial

from memnet.domain.core.errors import DecryptionFailed, ErasureRunning, Unavailable
from memnet.domain.core.scope import UserScope, check_identifier
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.sealing import data_keys, sealing
from memnet.domain.sealing.data_keys import DataKeys, data_keys_key
from memnet.domain.sealing.sealing import NONCE_BYTES, WrappedKey
from memnet.paging import bounded, pages, retry_conflicts
from memnet.ports import TenantKey
from memnet.stores import KeyRing, Vault, read_data_keys

ATTEMPTS = 100
"""Each lost race is another writer's stored key, so this ends; concurrent rotations of one user are rare."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class RotationReport:
    """The result of a rotation; `version` is the tenant key's version, None if there was nothing to wrap."""

    version: str | None = None
    users: int = 0
    rewrapped: int = 0
    """Users with a data key that was wrapped again, or who have a new one."""
    postponed: int = 0
    """Users whose keys could not be written. Their keys remain usable, and the next run wraps them."""
    broken: int = 0
    """Users whose keys cannot be unwrapped."""


async def rotate_keys(
    tenant_id: str, user_id: str | None = None, *, vault: Vault, resume: bool = False, accept_loss: bool = False
) -> RotationReport:
    """Create a version of the tenant's key and wrap all data keys with it; or, for one user, add a data key.

    Older data keys remain and decrypt what they sealed; sealed data is not rewritten. Every key remains usable when a
    rotation is interrupted, and any number of rotations and writers may run at the same time. With `resume` no version
    is created: data keys that the newest one does not wrap yet are wrapped. A user without data keys gets none.

    A user whose keys cannot be unwrapped cannot be written for. With `accept_loss` the one user gets a new data key:
    data sealed with the older keys stays unreadable unless the tenant's key is restored. Raises InvalidIdentifier,
    VaultUnavailable, Unavailable; DecryptionFailed: the keys of the one user cannot be unwrapped.
    """
    if user_id is not None:
        renew = partial(_renew, UserScope(tenant_id, user_id), vault, accept_loss)
        renewed = int(await retry_conflicts(renew, attempts=ATTEMPTS))
        return RotationReport(users=renewed, rewrapped=renewed)
    listing = partial(vault.records.list_of_tenant, check_identifier("tenant_id", tenant_id), ItemKind.KEYS)
    report = RotationReport()
    async for page in pages(listing):
        if page:
            break
    else:
        return report
    target = await (vault.keys.newest(tenant_id) if resume else vault.keys.rotate(tenant_id))
    report.version = target.version

    # List from the beginning again: a user may have been added between the first listing and the new version.
    async for page in pages(listing):
        await bounded(partial(_rewrap_and_count, target=target, vault=vault, report=report), page)
    return report


async def _renew(scope: UserScope, vault: Vault, accept_loss: bool) -> bool:
    """Add a data key after the existing ones; return whether there were any."""
    found = await read_data_keys(scope, records=vault.records)
    if found is None:
        return False
    if not accept_loss:
        # A key that cannot be unwrapped must not be hidden behind a new one.
        await KeyRing(vault).unwrap(scope, found[0].current)
    await KeyRing(vault).add(scope, *found)
    return True


async def _rewrap_and_count(key: ItemKey, target: TenantKey, vault: Vault, report: RotationReport) -> None:
    report.users += 1
    try:
        rewrapped = await retry_conflicts(partial(_rewrap, key.scope, target, vault), attempts=ATTEMPTS)
        report.rewrapped += rewrapped
    except (Unavailable, ErasureRunning):
        report.postponed += 1
    except DecryptionFailed:
        log.error("data keys cannot be unwrapped", extra={"keys": key.blob_name})
        report.broken += 1


async def _rewrap(scope: UserScope, target: TenantKey, vault: Vault) -> bool:
    """Wrap the keys that `target` does not wrap yet; return whether there were any."""
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
    """Wrap one key with `target`. An older key that cannot be unwrapped is a loss already accepted: it stays."""
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
