"""The sealed copies of what retractions took out."""

from contextlib import suppress

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.withdrawn import PlannedItem, Withdrawal, WithdrawnCopy, copy_key, load_copy
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing


async def keep_copy(
    scope: UserScope,
    item: PlannedItem,
    withdrawal: Withdrawal,
    data: bytes,
    service: Service,
    *,
    rule: Kind,
    since: str,
    profile_id: str | None,
) -> None:
    """Seal and store the bytes of an item; the first copy is kept.

    The copy is kept as long as the item would be: by the rule of its kind and profile, counted from `since`. Raises
    ErasureRunning, VaultUnavailable, Unavailable.
    """
    key = copy_key(scope, withdrawal.retraction_id, item)
    if await service.records.read(key) is not None:
        return
    sealed = await KeyRing(service.vault).seal_member(key, data)
    copy = WithdrawnCopy(key, rule, since, profile_id, sealed)
    with suppress(StoreConflict):
        await service.records.write(key, copy.dump(), replaces=None)


async def read_copy(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> bytes | None:
    """Return the bytes of an item as they were; None if its copy is gone.

    Raises HistoryCorrupt, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    key = copy_key(scope, withdrawal.retraction_id, item)
    stored = await service.records.read(key)
    if stored is None:
        return None
    return await KeyRing(service.vault).unseal_member(key, load_copy(key, stored.data).sealed)
