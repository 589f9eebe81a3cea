"""A user's small records beside the documents: wrapped keys, sealed snapshots, replays, conflicts, accesses, heads."""

from dataclasses import dataclass
from enum import StrEnum

from memnet.domain.document import UserScope
from memnet.domain.identifiers import check_path


class RecordKind(StrEnum):
    """What a record is; the folder below the user's prefix."""

    KEYS = "keys"
    SNAPSHOTS = "snapshots"
    REPLAYS = "replays"
    CONFLICTS = "conflicts"
    ACCESSES = "accesses"
    IMPORTS = "imports"
    HEADS = "heads"


@dataclass(frozen=True, slots=True)
class RecordKey:
    """One record of one user; `name` is 1 to 8 segments joined by '/'. Raises InvalidIdentifier."""

    scope: UserScope
    kind: RecordKind
    name: str

    def __post_init__(self) -> None:
        check_path(self.name)

    @property
    def blob_name(self) -> str:
        """The name of the record's blob; unique to the user, the kind and the name."""
        return f"{self.scope.prefix}{self.kind}/{self.name}.json"
