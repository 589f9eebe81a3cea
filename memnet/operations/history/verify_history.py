"""Check a user's chains of records, and the signed heads that say up to where they went."""

import asyncio
from collections.abc import Sequence

from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import PublicKeys, by_id
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.history.checkpoint_verification import (
    CheckpointReport,
    StoredCheckpoint,
    changes_of,
    check_checkpoints,
)
from memnet.domain.history.reconstruction import VerifiedHistory
from memnet.operations.history.audit_records import PARALLEL
from memnet.operations.history.rebuild_documents import rebuild_documents
from memnet.service import Service
from memnet.stores import RecordStore

PAGE = 1000


async def verify_history(
    scope: UserScope, service: Service, *, public_keys: PublicKeys | None = None, expected: bytes | None = None
) -> tuple[CheckpointReport, Sequence[VerifiedHistory]]:
    """Return what is to be said of the heads, and of every history the first fault that itself or a head shows.

    Signatures are checked with `public_keys`, else with those of `keys`. `expected` is a head that was kept elsewhere.
    Writers and signers may continue meanwhile. Raises Unavailable, VaultUnavailable, DecryptionFailed.
    """
    # The heads first: a change that is signed between two reads must be in what is read second.
    stored = await _heads(scope, service.records)
    if public_keys is None and (stored or expected is not None):
        public_keys = by_id(await service.signing.public_keys())
    given = [*(one.data for one in stored), expected or b""]
    histories = await rebuild_documents(scope, service, wanted=changes_of(given))
    return check_checkpoints(scope, stored, histories, public_keys=public_keys, expected=expected)


async def _heads(scope: UserScope, records: RecordStore) -> list[StoredCheckpoint]:
    gate = asyncio.Semaphore(PARALLEL)
    found: list[StoredCheckpoint] = []
    cursor: str | None = None

    async def one(key: ItemKey) -> StoredCheckpoint:
        async with gate:
            stored = await records.read(key)
        return StoredCheckpoint(key.name, stored.data if stored else b"")

    while True:
        page = await records.list(scope, ItemKind.HEADS, limit=PAGE, cursor=cursor)
        found += await asyncio.gather(*map(one, page.items))
        cursor = page.next_cursor
        if cursor is None:
            return found
