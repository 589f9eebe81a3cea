"""Sign for every user whose documents have changed since the newest head."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import groupby

from memnet.domain.document import UserScope
from memnet.domain.errors import ErasureRunning, HistoryBroken, Unavailable, VaultUnavailable
from memnet.operations.read_stored_records import PARALLEL
from memnet.operations.sign_head import Signed, sign_head
from memnet.ports import AuditLog, Clock, DocumentStore, ErasureStore, ListedDocument, RecordStore, SigningKeys

PAGE = 1000
log = logging.getLogger(__name__)


@dataclass(slots=True)
class SignReport:
    """What a run saw: users, and what became of their heads. Nothing is signed for `broken` ones: what is stored does
    not follow from what was signed before."""

    users: int = 0
    signed: int = 0
    unchanged: int = 0
    postponed: int = 0
    broken: int = 0


async def sign_heads(
    *,
    documents: DocumentStore,
    audit: AuditLog,
    records: RecordStore,
    keys: SigningKeys,
    clock: Clock,
    erasures: ErasureStore,
) -> SignReport:
    """Sign heads beside any number of writers and other signers; a user that fails does not stop the others.

    Lists all documents, and for each user the heads. Raises VaultUnavailable or SealBroken if there is no key to sign
    with, Unavailable if the listing fails.
    """
    report = SignReport()
    gate = asyncio.Semaphore(PARALLEL)
    await keys.newest()

    async def one(scope: UserScope, listed: list[ListedDocument]) -> None:
        async with gate:
            try:
                outcome = await sign_head(
                    scope,
                    listed=listed,
                    documents=documents,
                    audit=audit,
                    records=records,
                    keys=keys,
                    clock=clock,
                    erasures=erasures,
                )
            except (Unavailable, VaultUnavailable, ErasureRunning):
                outcome = Signed.POSTPONED
            except HistoryBroken:
                if await _is_being_erased(scope, documents):
                    report.postponed += 1
                    return
                log.exception("a user's documents do not follow from what was signed", extra={"user": scope.prefix})
                report.broken += 1
                return
        report.signed += outcome is Signed.SIGNED
        report.unchanged += outcome is Signed.UNCHANGED
        report.postponed += outcome is Signed.POSTPONED

    async for users in _users(documents):
        report.users += len(users)
        await asyncio.gather(*(one(scope, listed) for scope, listed in users))
    return report


async def _is_being_erased(scope: UserScope, documents: DocumentStore) -> bool:
    """Whether it is an erasure that takes away what was signed; if that cannot be told, it is not."""
    try:
        await documents.check(scope)
    except ErasureRunning:
        return True
    except Unavailable:
        return False
    return False


async def _users(documents: DocumentStore) -> AsyncIterator[list[tuple[UserScope, list[ListedDocument]]]]:
    """All users with all their documents, some at a time. The rows of a user follow one another, over pages, too."""
    waiting: list[ListedDocument] = []
    cursor: str | None = None
    while True:
        page = await documents.list_all(limit=PAGE, cursor=cursor)
        waiting += page.items
        users = [(scope, list(rows)) for scope, rows in groupby(waiting, key=lambda row: row.key.scope)]
        cursor = page.next_cursor
        if cursor is None:
            yield users
            return
        waiting = users[-1][1] if users else []
        yield users[:-1]
