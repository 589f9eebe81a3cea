"""The ports that erasing a user or a tenant takes, together."""

from dataclasses import dataclass
from datetime import timedelta

from memnet.ports.governance import ErasureStore, HoldStore, UserDirectory, UserStorage
from memnet.ports.searching import Search
from memnet.ports.signing import SigningKeys
from memnet.ports.storage import DocumentStore, RecordStore
from memnet.ports.surroundings import Clock, IdGenerator
from memnet.ports.work import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasing:
    """Where anything of a user can be, who forbids it, who signs for it, and how long late writers are waited for."""

    erasures: ErasureStore
    storage: UserStorage
    users: UserDirectory
    documents: DocumentStore
    records: RecordStore
    holds: HoldStore
    search: Search
    queue: MessageQueue
    signing: SigningKeys
    clock: Clock
    ids: IdGenerator
    settle: timedelta
    """How long after its fence was first seen a write that was begun before may still arrive."""
