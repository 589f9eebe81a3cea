"""What governing the memory takes: the legal holds, who has anything stored, and erasure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memnet.domain.document import StorageETag, UserScope
from memnet.domain.erasure import Found, Whose
from memnet.domain.hold import HoldKey, HoldPlace
from memnet.ports.storage import Page, StoredDocument


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


class Fences(Protocol):
    """Whose memory is being erased: of them nothing is written until their receipts stand. Of a tenant that was ended
    nothing is written ever again.
    """

    async def check(self, scope: UserScope) -> None:
        """Ask the store (one round trip). Raises ErasureRunning while the user's memory is erased, Unavailable, and
        TenantEnded as `check_tenant` does.
        """
        ...

    async def check_tenant(self, tenant_id: str) -> None:
        """Look for the end of the tenant; a process goes by its last look for up to `look_every`.

        Raises TenantEnded from when the tenant's erasure was requested, InvalidIdentifier, Unavailable.
        """
        ...

    async def erasing(self, tenant_id: str | None) -> frozenset[UserScope]:
        """Return the users whose memory is being erased, of one tenant or of all, as the store has it.

        Raises InvalidIdentifier, Unavailable.
        """
        ...


class ErasureStore(Fences, Protocol):
    """The erasures that run, each a fence and its own journal in one record, and the receipts of those that are over.

    Both lie outside of the users' prefixes.
    """

    async def read(self, scope: UserScope) -> StoredDocument | None:
        """Read the user's fence; None if there is none. Raises Unavailable."""
        ...

    async def write(self, scope: UserScope, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write the fence iff its tag still is `replaces` (None: iff there is none); return the new tag.

        Raises StoreConflict, and Unavailable when the outcome is unknown.
        """
        ...

    async def lift(self, scope: UserScope, *, tag: StorageETag) -> None:
        """Remove the fence iff it still is the one of that tag; a missing one is fine.

        Raises StoreConflict if it is another one, Unavailable when the outcome is unknown.
        """
        ...

    async def read_end(self, tenant_id: str) -> StoredDocument | None:
        """Read the record of a tenant's end; None if there is none. Raises InvalidIdentifier, Unavailable."""
        ...

    async def write_end(self, tenant_id: str, data: bytes, *, replaces: StorageETag | None, runs: bool) -> StorageETag:
        """Write that record iff its tag still is `replaces` (None: iff there is none); return the new tag.

        `runs` is what `list_ending` goes by. Raises StoreConflict, InvalidIdentifier, and Unavailable when the outcome
        is unknown.
        """
        ...

    async def list_ending(self) -> Sequence[str]:
        """Return the tenants whose erasure runs. Raises Unavailable."""
        ...

    async def create_receipt(self, tenant_id: str, erasure_id: str, data: bytes) -> None:
        """Create the receipt, which is never changed. Raises StoreConflict if there is one, Unavailable."""
        ...

    async def read_receipt(self, tenant_id: str, erasure_id: str) -> bytes | None:
        """Read a receipt; None if there is none. Raises InvalidIdentifier, Unavailable."""
        ...

    async def list_receipts(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the ids of a tenant's erasures that have a receipt. Raises InvalidIdentifier, InvalidCursor,
        Unavailable.
        """
        ...


class UserStorage(Protocol):
    """Everything that the stores hold of one user, or of a whole tenant: below its prefix, and the marks and changes of
    holds outside of it; with the versions, the snapshots and the soft-deleted blobs that the storage keeps. Fences and
    receipts are not among it.
    """

    async def list(self, scope: Whose, *, limit: int, cursor: str | None) -> Page[Found]:
        """List it, the user's keys first; pages may be short or empty. Raises InvalidCursor, Unavailable."""
        ...

    async def delete(self, scope: Whose, found: Found, *, known_at: datetime) -> None:
        """Remove what `list` has found iff it still is that; a missing one is fine.

        A blob goes with its snapshots; where the storage keeps versions, it is listed as one of them afterwards.

        It does not take effect much later than `known_at`, the moment at which the caller knew that it may be removed:
        Azure Storage refuses it 15 minutes after. Raises StoreConflict if something else stands there, ValueError for a
        name that is not the user's, Unavailable when the outcome is unknown.
        """
        ...
