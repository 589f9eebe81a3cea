"""Who read a snapshot back: a record of its own for every time, written before the snapshot is handed out."""

from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Actor
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind, dated_key
from memnet.domain.replay.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SnapshotAccess:
    """One reading. It names the snapshot and holds nothing of it."""

    key: ItemKey
    accessed_at: str
    actor: Actor
    snapshot: Snapshot

    def dump(self) -> bytes:
        """The record, as it is stored and listed."""
        return canonical(
            {
                "access_id": self.key.name,
                "accessed_at": self.accessed_at,
                "principal": self.actor.principal,
                "roles": sorted(self.actor.roles),
                "conversation_id": self.snapshot.conversation_id,
                "snapshot_id": self.snapshot.snapshot_id,
                "snapshot_uri": self.snapshot.uri,
            }
        )


def access_of(snapshot: Snapshot, actor: Actor, now: datetime, unique: str) -> SnapshotAccess:
    """The record of a reading `now`; `unique` keeps those of one moment apart."""
    return SnapshotAccess(dated_key(snapshot.scope, ItemKind.ACCESSES, now, unique), to_text(now), actor, snapshot)
