"""Legal holds on memory adapters."""

from dataclasses import dataclass, field
from typing import Any

from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.document import Actor, UserScope
from memnet.domain.errors import Unavailable
from memnet.domain.hold import HoldKey
from memnet.operations.place_hold import place_hold
from memnet.operations.place_tenant_hold import place_tenant_hold
from memnet.operations.release_hold import release_hold
from memnet.operations.release_tenant_hold import release_tenant_hold
from memnet.operations.tell_hold import HoldStatus
from memnet.ports import StoreConflict
from memnet.stores import Blobs, ErasureStore, HoldStore
from tests.memory_blobs import memory_blobs

SCOPE = UserScope("t1", "u1")
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
    """All ports a hold operation takes."""

    clock: FrozenClock = field(default_factory=FrozenClock)

    def __post_init__(self) -> None:
        blobs = memory_blobs(self.clock)
        self.holds, self.erasures = TroubledHolds(blobs), ErasureStore(blobs)

    def ports(self, actor: Actor = LEGAL) -> dict[str, Any]:
        return {"actor": actor, "holds": self.holds, "erasures": self.erasures, "clock": self.clock}

    async def place(self, reason: str, scope: UserScope = SCOPE, actor: Actor = LEGAL) -> HoldStatus:
        return await place_hold(scope, reason, **self.ports(actor))

    async def release(self, reason: str, scope: UserScope = SCOPE) -> HoldStatus:
        return await release_hold(scope, reason, **self.ports())

    async def place_on_tenant(self, reason: str, tenant_id: str = "t1") -> HoldStatus:
        return await place_tenant_hold(tenant_id, reason, **self.ports())

    async def release_from_tenant(self, reason: str, tenant_id: str = "t1") -> HoldStatus:
        return await release_tenant_hold(tenant_id, reason, **self.ports())


def told(status: HoldStatus) -> list[tuple[str, str]]:
    """(action, reason) of every change."""
    return [(change.action.value, change.reason) for change in status.changes]
