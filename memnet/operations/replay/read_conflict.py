"""Read a conflict and open its three versions."""

from dataclasses import dataclass

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import ConflictNotFound, DecryptionFailed
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import Conflict, Versions, conflict_key
from memnet.stores import KeyRing, Vault


@dataclass(frozen=True, slots=True)
class HeldConflict:
    """A conflict as it stood, and the tag that guards its next write."""

    conflict: Conflict
    versions: Versions | None
    """None: the sealed part does not open any more."""
    tag: StorageETag


async def read_conflict(scope: UserScope, conflict_id: str, *, vault: Vault) -> HeldConflict:
    """Return it. Raises InvalidIdentifier, ConflictNotFound, HistoryCorrupt, VaultUnavailable, Unavailable."""
    key = conflict_key(scope, conflict_id)
    stored = await vault.records.read(key)
    if stored is None:
        raise ConflictNotFound()
    conflict = conflicts.load(stored.data)
    try:
        opened = await KeyRing(vault).unseal(key, canonical(conflict.sealed))
        versions = conflicts.load_versions(scope, opened)
    except DecryptionFailed:
        # Not raised: a conflict that nobody can read can still be listed and discarded.
        versions = None
    return HeldConflict(conflict, versions, stored.storage_etag)
