"""The stores and ports that erasing a user or a tenant takes, together."""

from dataclasses import dataclass
from datetime import timedelta

from memnet.ports import Clock, IdGenerator, MessageQueue, SigningKeys
from memnet.stores.documents import DocumentStore
from memnet.stores.erasures import ErasureStore
from memnet.stores.event_index_register import Search
from memnet.stores.legal_holds import HoldStore
from memnet.stores.user_blobs import UserStorage
from memnet.stores.user_items import RecordStore
from memnet.stores.users import UserDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasing:
    """The stores that hold data of a user, the holds that forbid an erasure, and the keys that sign its receipt."""

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
