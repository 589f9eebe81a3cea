"""AuditLog in a dict. Every call yields to the event loop first, so that races show."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

from memnet.adapters.memory.erasures import MemoryErasureStore
from memnet.domain import cursor as cursors
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken
from memnet.domain.identifiers import check_identifier
from memnet.ports import Page, Vault


class MemoryAuditLog:
    """The AuditLog port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, vault: Vault, *, fences: MemoryErasureStore | None = None) -> None:
        """Start empty; `vault` seals the records' values, nothing is created for users who have a fence in `fences`."""
        self.vault = vault
        self._fences = fences
        self._records: dict[str, bytes] = {}

    async def append(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the record. Raises HistoryBroken, InvalidIdentifier."""
        await self._append(scope, _name(scope, change_id), data, change_id)

    def stands(self, scope: UserScope, change_id: str) -> bool:
        """Say whether the record stands."""
        return _name(scope, change_id) in self._records

    async def read(self, scope: UserScope, change_id: str) -> bytes | None:
        """Read one record. Raises InvalidIdentifier."""
        return await self._read(_name(scope, change_id))

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List change ids in name order. Raises InvalidCursor."""
        return await self._list(f"{scope.prefix}audit/", prefix, limit, cursor)

    async def delete(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove one record; dates are not looked at. Raises InvalidIdentifier."""
        await self._delete(_name(scope, change_id))

    async def append_baseline(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the baseline of a change. Raises HistoryBroken, InvalidIdentifier."""
        await self._append(scope, _name(scope, change_id, "baselines"), data, change_id)

    async def read_baseline(self, scope: UserScope, change_id: str) -> bytes | None:
        """Read the baseline of a change. Raises InvalidIdentifier."""
        return await self._read(_name(scope, change_id, "baselines"))

    async def list_baselines(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List the changes that have a baseline in name order. Raises InvalidCursor."""
        return await self._list(f"{scope.prefix}baselines/", prefix, limit, cursor)

    async def delete_baseline(self, scope: UserScope, change_id: str, *, known_at: datetime | None = None) -> None:
        """Remove the baseline of a change; dates are not looked at. Raises InvalidIdentifier."""
        await self._delete(_name(scope, change_id, "baselines"))

    def names(self) -> Sequence[str]:
        """The names of all that is stored."""
        return tuple(self._records)

    def holdings(self) -> Mapping[str, object]:
        """All that is stored, by name."""
        return self._records

    def drop(self, name: str) -> None:
        """Take the record or baseline of this name out; a missing one is fine."""
        self._records.pop(name, None)

    async def _append(self, scope: UserScope, name: str, data: bytes, change_id: str) -> None:
        if self._fences is not None:
            await self._fences.check(scope)
        await asyncio.sleep(0)
        if self._records.setdefault(name, data) != data:
            raise HistoryBroken(change_id=change_id)

    async def _read(self, name: str) -> bytes | None:
        await asyncio.sleep(0)
        return self._records.get(name)

    async def _delete(self, name: str) -> None:
        await asyncio.sleep(0)
        self._records.pop(name, None)

    async def _list(self, start: str, prefix: str, limit: int, cursor: str | None) -> Page[str]:
        after = "" if cursor is None else cursors.decode(start + prefix, cursor)
        await asyncio.sleep(0)
        found = sorted(name for name in self._records if name.startswith(start + prefix) and name > after)
        ids = [name.removeprefix(start).removesuffix(".json") for name in found[:limit]]
        more = len(found) > limit
        return Page(ids, cursors.encode(start + prefix, found[limit - 1]) if more else None)


def _name(scope: UserScope, change_id: str, folder: str = "audit") -> str:
    return f"{scope.prefix}{folder}/{check_identifier('change_id', change_id)}.json"
