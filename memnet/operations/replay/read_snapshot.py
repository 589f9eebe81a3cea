"""Read a stored snapshot back: a privileged call that leaves a record of who made it."""

from memnet.domain.core.errors import SnapshotNotFound, Unavailable
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.replay import snapshot
from memnet.domain.replay.snapshot import Snapshot, snapshot_key
from memnet.domain.replay.snapshot_access_log import SnapshotAccess, access_of
from memnet.ports import StoreConflict
from memnet.stores import ItemStore, KeyRing, Vault


async def read_snapshot(
    scope: UserScope, conversation_id: str, snapshot_id: str, *, actor: Actor, vault: Vault
) -> Snapshot:
    """Open the snapshot, write down durably that `actor` read it, and only then return it.

    Raises InvalidIdentifier, SnapshotNotFound, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    key = snapshot_key(scope, conversation_id, snapshot_id)
    stored = await vault.records.read(key)
    if stored is None:
        raise SnapshotNotFound()
    found = snapshot.load(scope, await KeyRing(vault).unseal(key, stored.data))
    await _note(access_of(found, actor, vault.clock.now(), vault.ids.new()), vault.records)
    return found


async def _note(access: SnapshotAccess, records: ItemStore) -> None:
    try:
        await records.write(access.key, access.dump(), replaces=None)
    except StoreConflict:
        # The name is this call's alone: an earlier try of the same write was applied, or nothing is certain.
        stored = await records.read(access.key)
        if stored is None or stored.data != access.dump():
            raise Unavailable(dependency="blob_storage") from None
