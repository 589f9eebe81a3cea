"""List a user's conflicts, each with what was there, what was proposed, and what is there now."""

import asyncio

from memnet.domain.core.errors import ConflictNotFound
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.replay.conflict import Conflict, ConflictStatus, Versions
from memnet.operations.replay.read_conflict import HeldConflict, read_conflict
from memnet.ports import Page
from memnet.stores import Vault

PAGE = 25
"""The most of one page: each conflict is read, opened, and holds two versions of a document."""


async def list_conflicts(
    scope: UserScope, *, status: ConflictStatus | None, limit: int, cursor: str | None, vault: Vault
) -> Page[tuple[Conflict, Versions | None]]:
    """Return those of one status, or all, in the order of their ids; a page may be short, and empty in between.

    Raises InvalidCursor, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    page = await vault.records.list(scope, ItemKind.CONFLICTS, limit=min(limit, PAGE), cursor=cursor)
    found = await asyncio.gather(*(_read(key, vault) for key in page.items))
    rows = [
        (held.conflict, held.versions) for held in found if held is not None and status in (None, held.conflict.status)
    ]
    return Page(rows, page.next_cursor)


async def _read(key: ItemKey, vault: Vault) -> HeldConflict | None:
    try:
        return await read_conflict(key.scope, key.name, vault=vault)
    except ConflictNotFound:
        return None
