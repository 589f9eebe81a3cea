"""Who read a snapshot back: a record of its own for every time, written before the snapshot is handed out."""

from dataclasses import dataclass
from datetime import UTC, datetime

from memnet.domain.document import Actor
from memnet.domain.json_text import canonical
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.snapshot import Snapshot
from memnet.domain.timestamps import to_text

_MOMENT = "%Y%m%dT%H%M%S.%fZ"


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
    """The record of a reading `now`. Names sort by time; `unique` keeps those of one moment apart."""
    moment = now.astimezone(UTC).strftime(_MOMENT)
    key = RecordKey(snapshot.scope, RecordKind.ACCESSES, f"{moment}-{unique}")
    return SnapshotAccess(key, to_text(now), actor, snapshot)


def accessed_at(key: RecordKey) -> str | None:
    """When the reading was that a record of this key tells of; None if `access_of` did not make the key."""
    try:
        return to_text(datetime.strptime(key.name.partition("-")[0], _MOMENT).replace(tzinfo=UTC))
    except ValueError:
        return None
