"""Open the journal of a user's erasure, and start the erasure unless a legal hold forbids it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import Erasure, Found, begin_batch, end_batch, kind_of, started
from memnet.operations.governance.legal_holds import holds_covering
from memnet.ports import StoreConflict
from memnet.service import Service

PARALLEL = 16


@dataclass(slots=True)
class ErasureJournal:
    """The record of a running erasure as it was read or written last."""

    service: Service
    erasure: Erasure
    tag: StorageETag
    known_at: datetime
    """Before that it was read or written. Whatever is removed is dated so: who was overtaken since, or stood still,
    removes nothing late."""
    kept: Sequence[Found] = ()
    """What the last whole listing showed as deleted and still recoverable."""

    async def note(self, erasure: Erasure) -> None:
        """Write it, if it says anything new. Raises StoreConflict if another process has, Unavailable."""
        if erasure == self.erasure:
            return
        before = self.service.clock.now()
        self.tag = await self.service.erasures.write(erasure.scope, erasures.dump(erasure), replaces=self.tag)
        self.erasure, self.known_at = erasure, before

    async def remove(self, batch: Sequence[Found]) -> None:
        """Remove this and count each once, whatever happens meanwhile. Raises StoreConflict, Unavailable."""
        await self.note(begin_batch(self.erasure, batch))
        await self.finish_batch()

    async def finish_batch(self) -> None:
        """Remove what was written down and may not be gone; what has become something else is left, and not counted.

        Raises StoreConflict if another process has taken the erasure over, Unavailable.
        """
        kept: list[Found] = []
        gate = asyncio.Semaphore(PARALLEL)

        async def one(found: Found) -> None:
            async with gate:
                try:
                    await self.service.user_storage.delete(self.erasure.scope, found, known_at=self.known_at)
                except StoreConflict:
                    kept.append(found)

        holds = [found for found in self.erasure.batch if kind_of(self.erasure.scope, found.name) == "holds"]
        others = [found for found in self.erasure.batch if found not in holds]
        outcomes = await asyncio.gather(*map(one, others), return_exceptions=True)
        # All end before a failure goes up: none may go on behind the caller's back.
        for outcome in outcomes:
            if outcome is not None:
                raise outcome
        for found in holds:
            # The oldest first: without its release a hold would be in force again.
            await one(found)
        await self.note(end_batch(self.erasure, kept))


async def resume_erasure(scope: UserScope, service: Service) -> ErasureJournal | None:
    """Return the journal of the user's erasure; None if there is none.


    An erasure that has not started starts here, in one conditional write of its journal. If a legal hold covers the
    user, or the erasure has its receipt already, it is withdrawn instead: its fence goes, and nothing was touched.

    Raises:
        StoreConflict: another process has changed the journal.
        HistoryCorrupt: the journal or a legal hold cannot be read.
        Unavailable.
    """
    before = service.clock.now()
    stored = await service.erasures.read(scope)
    if stored is None:
        return None
    journal = ErasureJournal(service, erasures.load(scope, stored.data), stored.storage_etag, before)
    if journal.erasure.started_at is None and await _is_withdrawn(journal):
        await service.erasures.lift(scope, tag=journal.tag)
        return None
    await journal.note(started(journal.erasure, service.clock.now()))
    return journal


async def _is_withdrawn(journal: ErasureJournal) -> bool:
    service, erasure = journal.service, journal.erasure
    if await service.erasures.read_receipt(erasure.scope.tenant_id, erasure.erasure_id) is not None:
        # It ended between two reads of the process that put up this fence. What the user has stored since stays.
        return True
    return bool(await holds_covering(erasure.scope, holds=service.holds))
