"""Sign for every user whose documents have changed since the newest head."""

import asyncio
import logging
from dataclasses import dataclass

from memnet.domain.document import UserScope
from memnet.domain.errors import ErasureRunning, HistoryBroken, Unavailable, VaultUnavailable
from memnet.operations.list_users import list_users
from memnet.operations.read_stored_records import PARALLEL
from memnet.operations.sign_head import Signed, sign_head
from memnet.ports import Clock, SigningKeys
from memnet.stores import (
    AuditLog,
    DocumentStore,
    ErasureStore,
    RecordStore,
    UserDirectory,
)

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
    users: UserDirectory,
    documents: DocumentStore,
    audit: AuditLog,
    records: RecordStore,
    keys: SigningKeys,
    clock: Clock,
    erasures: ErasureStore,
) -> SignReport:
    """Sign heads beside any number of writers and other signers; a user that fails does not stop the others.

    Goes through the users, not the documents: a user whose documents are all gone still has heads, and counts as
    broken unless an erasure explains it. Each user costs a listing of documents, one of heads, and a read. Raises
    VaultUnavailable or SealBroken if there is no key to sign with, Unavailable if the users cannot be listed.
    """
    report = SignReport()
    gate = asyncio.Semaphore(PARALLEL)
    await keys.newest()

    async def one(scope: UserScope) -> None:
        async with gate:
            try:
                outcome = await sign_head(
                    scope,
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
                if await _is_being_erased(scope, erasures):
                    report.postponed += 1
                    return
                log.exception("a user's documents do not follow from what was signed", extra={"user": scope.prefix})
                report.broken += 1
                return
        report.signed += outcome is Signed.SIGNED
        report.unchanged += outcome is Signed.UNCHANGED
        report.postponed += outcome is Signed.POSTPONED

    async for scopes in list_users(None, users=users):
        report.users += len(scopes)
        await asyncio.gather(*map(one, scopes))
    return report


async def _is_being_erased(scope: UserScope, erasures: ErasureStore) -> bool:
    """Whether it is an erasure of the user that takes away what was signed; if that cannot be told, it is not.

    The end of the tenant does not count: it lasts, and leaves held users as they are.
    """
    try:
        return await erasures.read(scope) is not None
    except Unavailable:
        return False
