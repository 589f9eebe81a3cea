"""AuditLog in a dict. Every call yields to the event loop first, so that races show."""

import asyncio

from memnet.domain import cursor as cursors
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken
from memnet.domain.identifiers import check_identifier
from memnet.ports import Page


class MemoryAuditLog:
    """The AuditLog port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self) -> None:
        """Start empty."""
        self._records: dict[str, bytes] = {}

    async def append(self, scope: UserScope, change_id: str, data: bytes) -> None:
        """Create the record. Raises HistoryBroken, InvalidIdentifier."""
        name = _name(scope, change_id)
        await asyncio.sleep(0)
        if self._records.setdefault(name, data) != data:
            raise HistoryBroken(change_id=change_id)

    def stands(self, scope: UserScope, change_id: str) -> bool:
        """Say whether the record stands."""
        return _name(scope, change_id) in self._records

    async def read(self, scope: UserScope, change_id: str) -> bytes | None:
        """Read one record. Raises InvalidIdentifier."""
        name = _name(scope, change_id)
        await asyncio.sleep(0)
        return self._records.get(name)

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[str]:
        """List change ids in name order. Raises InvalidCursor."""
        start = f"{scope.prefix}audit/"
        after = "" if cursor is None else cursors.decode(start + prefix, cursor)
        await asyncio.sleep(0)
        found = sorted(name for name in self._records if name.startswith(start + prefix) and name > after)
        ids = [name.removeprefix(start).removesuffix(".json") for name in found[:limit]]
        more = len(found) > limit
        return Page(ids, cursors.encode(start + prefix, found[limit - 1]) if more else None)


def _name(scope: UserScope, change_id: str) -> str:
    return f"{scope.prefix}audit/{check_identifier('change_id', change_id)}.json"
