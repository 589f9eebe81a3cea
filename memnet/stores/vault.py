"""What sealing takes, together."""

from dataclasses import dataclass

from memnet.ports import Clock, DataKeyCache, IdGenerator, TenantKeys
from memnet.stores.user_items import RecordStore


@dataclass(frozen=True, slots=True)
class Vault:
    """Where the wrapped data keys are stored, what unwraps them, and fresh bytes."""

    records: RecordStore
    keys: TenantKeys
    ids: IdGenerator
    clock: Clock
    cache: DataKeyCache | None = None
    """None: the keys are read and unwrapped for every call."""
