"""Check a user's chains of records, and the signed heads that say up to where they went."""

import asyncio
from collections.abc import Sequence

from memnet.domain.document import UserScope
from memnet.domain.head_check import HeadsChecked, StoredHead, changes_of, check_heads
from memnet.domain.history import Rebuilt
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.signature import PublicKeys, by_id
from memnet.operations.audit_records import PARALLEL
from memnet.operations.rebuild_documents import rebuild_documents
from memnet.service import Service
from memnet.stores import RecordStore

PAGE = 1000


async def verify_history(
    scope: UserScope, service: Service, *, public_keys: PublicKeys | None = None, expected: bytes | None = None
) -> tuple[HeadsChecked, Sequence[Rebuilt]]:
    """Return what is to be said of the heads, and of every history the first fault that itself or a head shows.

    Signatures are checked with `public_keys`, else with those of `keys`. `expected` is a head that was kept elsewhere.
    Writers and signers may continue meanwhile. Raises Unavailable, VaultUnavailable, SealBroken.
    """
    # The heads first: a change that is signed between two reads must be in what is read second.
    stored = await _heads(scope, service.records)
    if public_keys is None and (stored or expected is not None):
        public_keys = by_id(await service.signing.public_keys())
    given = [*(one.data for one in stored), expected or b""]
    histories = await rebuild_documents(scope, service, wanted=changes_of(given))
    return check_heads(scope, stored, histories, public_keys=public_keys, expected=expected)


async def _heads(scope: UserScope, records: RecordStore) -> list[StoredHead]:
    gate = asyncio.Semaphore(PARALLEL)
    found: list[StoredHead] = []
    cursor: str | None = None

    async def one(key: RecordKey) -> StoredHead:
        async with gate:
            stored = await records.read(key)
        return StoredHead(key.name, stored.data if stored else b"")

    while True:
        page = await records.list(scope, RecordKind.HEADS, limit=PAGE, cursor=cursor)
        found += await asyncio.gather(*map(one, page.items))
        cursor = page.next_cursor
        if cursor is None:
            return found
