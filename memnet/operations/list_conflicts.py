"""List a user's conflicts, each with what was there, what was proposed, and what is there now."""

import asyncio

from memnet.domain.conflict import Conflict, ConflictStatus, Versions
from memnet.domain.document import UserScope
from memnet.domain.errors import ConflictNotFound
from memnet.domain.record import RecordKey, RecordKind
from memnet.operations.read_conflict import HeldConflict, read_conflict
from memnet.ports import Page
from memnet.stores import Vault

PAGE = 25
"""The most of one page: each conflict is read, opened, and holds two versions of a document."""


async def list_conflicts(
    scope: UserScope, *, status: ConflictStatus | None, limit: int, cursor: str | None, vault: Vault
) -> Page[tuple[Conflict, Versions | None]]:
    """Return those of one status, or all, in the order of their ids; a page may be short, and empty in between.

    Raises InvalidCursor, HistoryBroken, VaultUnavailable, Unavailable.
    """
    page = await vault.records.list(scope, RecordKind.CONFLICTS, limit=min(limit, PAGE), cursor=cursor)
    found = await asyncio.gather(*(_read(key, vault) for key in page.items))
    rows = [
        (held.conflict, held.versions) for held in found if held is not None and status in (None, held.conflict.status)
    ]
    return Page(rows, page.next_cursor)


async def _read(key: RecordKey, vault: Vault) -> HeldConflict | None:
    try:
        return await read_conflict(key.scope, key.name, vault=vault)
    except ConflictNotFound:
        return None
