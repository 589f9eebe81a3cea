"""Name the items of a user: keys, snapshots, replays, conflicts, accesses, checkpoints, usage, withdrawn items."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from memnet.domain.core.scope import UserScope, check_path
from memnet.domain.core.timestamps import to_text

_MOMENT = "%Y%m%dT%H%M%S.%fZ"


class ItemKind(StrEnum):
    """The kind of an item; the folder below the user's prefix."""

    KEYS = "keys"
    SNAPSHOTS = "snapshots"
    REPLAYS = "replays"
    CONFLICTS = "conflicts"
    ACCESSES = "accesses"
    IMPORTS = "imports"
    HEADS = "heads"
    USAGE = "usage"
    RETRACTIONS = "retractions"
    WITHDRAWN = "withdrawn"
    """The closed sources, and sealed copies of what retractions took out."""


@dataclass(frozen=True, slots=True)
class ItemKey:
    """One item of one user; `name` is 1 to 8 segments joined by '/'. Raises InvalidIdentifier."""

    scope: UserScope
    kind: ItemKind
    name: str

    def __post_init__(self) -> None:
        check_path(self.name)

    @property
    def blob_name(self) -> str:
        """The name of the item's blob; unique to the user, the kind and the name."""
        return f"{self.scope.prefix}{self.kind}/{self.name}.json"


def dated_key(scope: UserScope, kind: ItemKind, now: datetime, unique: str) -> ItemKey:
    """Return the key of an item created `now`, with a `unique` suffix. Names sort by time."""
    return ItemKey(scope, kind, f"{now.astimezone(UTC).strftime(_MOMENT)}-{unique}")


def dated_at(key: ItemKey) -> str | None:
    """Return when the item was created, or None if `dated_key` did not make the key."""
    try:
        return to_text(datetime.strptime(key.name.partition("-")[0], _MOMENT).replace(tzinfo=UTC))
    except ValueError:
        return None
