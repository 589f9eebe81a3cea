"""Who read a snapshot back: a record of its own for every time, written before the snapshot is handed out."""

from dataclasses import dataclass
from datetime import datetime

from memnet.domain.document import Actor
from memnet.domain.json_text import canonical
from memnet.domain.record import RecordKey, RecordKind, dated_key
from memnet.domain.snapshot import Snapshot
from memnet.domain.timestamps import to_text


@dataclass(frozen=True, slots=True)
class SnapshotAccess:
    """One reading. It names the snapshot and holds nothing of it."""

    key: RecordKey
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
    return SnapshotAccess(dated_key(snapshot.scope, RecordKind.ACCESSES, now, unique), to_text(now), actor, snapshot)
