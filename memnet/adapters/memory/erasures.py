"""ErasureStore in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Sequence

from memnet.adapters.memory.tags import Tags
from memnet.domain import cursor as cursors
from memnet.domain.document import StorageETag, UserScope
from memnet.domain.erasure_receipt import receipt_name, receipts_of
from memnet.domain.errors import ErasureRunning, TenantEnded
from memnet.domain.identifiers import check_identifier
from memnet.domain.tenant_erasure import ENDED, ended_name
from memnet.ports import Page, StoreConflict, StoredDocument


class MemoryErasureStore:
    """The ErasureStore port for tests; errors as the port says, except that it is never unavailable.

    The other memory stores are given it to ask before they create anything.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._fences: dict[UserScope, StoredDocument] = {}
        self._receipts: dict[str, bytes] = {}
        self._ends: dict[str, tuple[StoredDocument, bool]] = {}
        self._tags = Tags()

    async def check(self, scope: UserScope) -> None:
        """Look for the user's fence. Raises ErasureRunning, TenantEnded."""
        await self.check_tenant(scope.tenant_id)
        if scope in self._fences:
            raise ErasureRunning()

    async def check_tenant(self, tenant_id: str) -> None:
        """Look for the end of the tenant, each time. Raises TenantEnded, InvalidIdentifier."""
        if await self.read_end(tenant_id) is not None:
            raise TenantEnded()

    async def read_end(self, tenant_id: str) -> StoredDocument | None:
        """Read the record of a tenant's end. Raises InvalidIdentifier."""
        name = ended_name(tenant_id)
        await asyncio.sleep(0)
        return self._ends[name][0] if name in self._ends else None

    async def write_end(self, tenant_id: str, data: bytes, *, replaces: StorageETag | None, runs: bool) -> StorageETag:
        """Write it conditionally. Raises StoreConflict, InvalidIdentifier."""
        stored = await self.read_end(tenant_id)
        if (stored.storage_etag if stored else None) != replaces:
            raise StoreConflict
        tag = self._tags.make()
        self._ends[ended_name(tenant_id)] = StoredDocument(data, tag), runs
        return tag

    async def list_ending(self) -> Sequence[str]:
        """List the records that run."""
        await asyncio.sleep(0)
        return [name.removeprefix(ENDED).removesuffix(".json") for name, (_, runs) in self._ends.items() if runs]

    async def erasing(self, tenant_id: str | None) -> frozenset[UserScope]:
        """List the fences. Raises InvalidIdentifier."""
        if tenant_id is not None:
            check_identifier("tenant_id", tenant_id)
        await asyncio.sleep(0)
        return frozenset(scope for scope in self._fences if tenant_id in (None, scope.tenant_id))

    async def read(self, scope: UserScope) -> StoredDocument | None:
        """Read the user's fence."""
        await asyncio.sleep(0)
        return self._fences.get(scope)

    async def write(self, scope: UserScope, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write the fence conditionally. Raises StoreConflict."""
        await asyncio.sleep(0)
        stored = self._fences.get(scope)
        if (stored.storage_etag if stored else None) != replaces:
            raise StoreConflict
        tag = self._tags.make()
        self._fences[scope] = StoredDocument(data, tag)
        return tag

    async def lift(self, scope: UserScope, *, tag: StorageETag) -> None:
        """Remove the fence conditionally. Raises StoreConflict."""
        await asyncio.sleep(0)
        stored = self._fences.get(scope)
        if stored is not None and stored.storage_etag != tag:
            raise StoreConflict
        self._fences.pop(scope, None)

    async def create_receipt(self, tenant_id: str, erasure_id: str, data: bytes) -> None:
        """Create the receipt. Raises StoreConflict."""
        name = receipt_name(tenant_id, erasure_id)
        await asyncio.sleep(0)
        if name in self._receipts:
            raise StoreConflict
        self._receipts[name] = data

    async def read_receipt(self, tenant_id: str, erasure_id: str) -> bytes | None:
        """Read a receipt. Raises InvalidIdentifier."""
        name = receipt_name(tenant_id, erasure_id)
        await asyncio.sleep(0)
        return self._receipts.get(name)

    async def list_receipts(self, tenant_id: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List a tenant's receipts. Raises InvalidIdentifier, InvalidCursor."""
        prefix = receipts_of(tenant_id)
        after = "" if cursor is None else cursors.decode(prefix, cursor)
        await asyncio.sleep(0)
        found = sorted(name for name in self._receipts if name.startswith(prefix) and name > after)
        ids = [name.removeprefix(prefix).removesuffix(".json") for name in found[:limit]]
        return Page(ids, cursors.encode(prefix, found[limit - 1]) if len(found) > limit else None)
