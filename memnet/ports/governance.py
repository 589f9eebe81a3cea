"""What governing the memory takes: the legal holds, and who has anything stored."""

from typing import Protocol

from memnet.domain.document import UserScope
from memnet.domain.hold import HoldKey, HoldPlace
from memnet.ports.storage import Page


class HoldStore(Protocol):
    """The changes of legal holds: created once, never changed, never removed."""

    async def create(self, key: HoldKey, data: bytes) -> None:
        """Create a change. Raises StoreConflict if there is one, Unavailable when the outcome is unknown."""
        ...

    async def read(self, key: HoldKey) -> bytes | None:
        """Read one change; None if there is none. Raises Unavailable."""
        ...

    async def list(self, place: HoldPlace, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of the hold on one place, the oldest first. Raises InvalidCursor, Unavailable."""
        ...

    async def list_of_tenant(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[HoldKey]:
        """List the changes of all holds of a tenant, place by place, each from its oldest on.

        Raises InvalidIdentifier, InvalidCursor, Unavailable.
        """
        ...


class UserDirectory(Protocol):
    """Whose memory is stored: one entry a user, however much of it there is."""

    async def list_tenants(self, *, limit: int, cursor: str | None) -> Page[str]:
        """List the tenants of which anything is stored, in name order. Raises InvalidCursor, Unavailable."""
        ...

    async def list_users(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[UserScope]:
        """List the users of a tenant of whom anything is stored, in name order.

        Raises InvalidIdentifier, InvalidCursor, Unavailable.
        """
        ...
