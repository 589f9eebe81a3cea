"""The sealed copies of what retractions took out."""

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.withdrawn import PlannedItem, Withdrawal, WithdrawnCopy, copy_key, load_copy
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
    """Seal and store the bytes of an item that is about to be taken out.

    It replaces an earlier copy: the undo of another retraction can have brought the item back since, with more in it.
    The copy is kept as long as the item would be: by the rule of its kind and profile, counted from `since`. Raises
    StoreConflict, ErasureRunning, VaultUnavailable, Unavailable.
    """
    key = copy_key(scope, withdrawal.retraction_id, item)
    stored = await service.records.read(key)
    sealed = await KeyRing(service.vault).seal_member(key, data)
    copy = WithdrawnCopy(key, rule, since, profile_id, sealed)
    await service.records.write(key, copy.dump(), replaces=None if stored is None else stored.storage_etag)


async def read_copy(scope: UserScope, item: PlannedItem, withdrawal: Withdrawal, service: Service) -> bytes | None:
    """Return the bytes of an item as they were; None if its copy is gone.

    Raises HistoryCorrupt, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    key = copy_key(scope, withdrawal.retraction_id, item)
    stored = await service.records.read(key)
    if stored is None:
        return None
    return await KeyRing(service.vault).unseal_member(key, load_copy(key, stored.data).sealed)
