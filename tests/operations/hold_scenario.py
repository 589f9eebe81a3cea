"""Legal holds on memory adapters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import Actor
from memnet.domain.governance.legal_hold import HoldChange, HoldKey, HoldTarget
from memnet.operations.governance.legal_holds import HoldStatus, get_hold, list_holds, place_hold, release_hold
from memnet.ports import StoreConflict
from memnet.stores import Blobs, ErasureStore, HoldStore
from tests.memory_blobs import memory_blobs
from tests.services import service_of

ON_USER, ON_TENANT = HoldTarget("t1", "u1"), HoldTarget("t1")
LEGAL, OTHER = Actor("svc-legal", frozenset()), Actor("svc-other", frozenset())


class TroubledHolds(HoldStore):
    """A store whose next write may be lost, or applied and not confirmed."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs)
        self.trouble = ""

    async def create(self, key: HoldKey, data: bytes) -> None:
        trouble, self.trouble = self.trouble, ""
        if trouble == "lost":
            raise Unavailable()
        await super().create(key, data)
        if trouble == "unconfirmed":
            raise Unavailable()
        if trouble == "repeated":
            raise StoreConflict


@dataclass
class HoldWorld:
    """The parts of a service that holds need."""

    clock: FrozenClock = field(default_factory=FrozenClock)

    def __post_init__(self) -> None:
        blobs = memory_blobs(self.clock)
        self.holds, self.erasures = TroubledHolds(blobs), ErasureStore(blobs)

        self.service = service_of(holds=self.holds, erasures=self.erasures, clock=self.clock)

    async def place(self, reason: str, target: HoldTarget = ON_USER, actor: Actor = LEGAL) -> HoldStatus:
        return await place_hold(target, reason, self.service, actor=actor)

    async def release(self, reason: str, target: HoldTarget = ON_USER) -> HoldStatus:
        return await release_hold(target, reason, self.service, actor=LEGAL)

    async def get(self, target: HoldTarget = ON_USER) -> HoldStatus:
        return await get_hold(target, self.service)

    async def list(self, tenant_id: str = "t1") -> Sequence[HoldChange]:
        return await list_holds(tenant_id, self.service)


def history_of(status: HoldStatus) -> list[tuple[str, str]]:
    """(action, reason) of every change."""
    return [(change.action.value, change.reason) for change in status.changes]
