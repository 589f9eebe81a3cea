"""The ports that erasing a user or a tenant takes, together."""

from dataclasses import dataclass
from datetime import timedelta

from memnet.domain.erasure import Store
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
    """Where anything of a user can be, who forbids it, who signs for it, and how long late writers are waited for."""

    erasures: ErasureStore
    storage: UserStorage
    users: UserDirectory
    documents: DocumentStore
    records: RecordStore
    holds: HoldStore
    search: Search | None
    queue: MessageQueue | None
    signing: SigningKeys | None
    clock: Clock
    ids: IdGenerator
    settle: timedelta
    """How long after its fence was first seen, or a hold stopped it, what was begun before may still arrive."""

    @property
    def stores(self) -> tuple[Store, ...]:
        """The stores that this process knows of."""
        configured = {Store.BLOBS: True, Store.INDEX: self.search is not None, Store.QUEUES: self.queue is not None}
        return tuple(store for store in Store if configured[store])
