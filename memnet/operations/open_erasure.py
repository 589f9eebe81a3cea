"""Take up a running erasure where its record says it is."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memnet.domain import erasure as erasures
from memnet.domain.document import StorageETag, UserScope
from memnet.domain.erasure import Erasure, Found, Store, begin_batch, end_batch, extended, kind_of, standing
from memnet.ports import StoreConflict
from memnet.stores import Erasing

PARALLEL = 16


@dataclass(slots=True)
class ErasureJournal:
    """The record of a running erasure as it was read or written last."""

    erasing: Erasing
    erasure: Erasure
    tag: StorageETag
    known_at: datetime
    """Before that it was read or written. Whatever is removed is dated so: who was overtaken since, or stood still,
    removes nothing late."""
    kept: Sequence[Found] = ()
    """What the last whole listing showed as deleted and still recoverable."""

    @property
    def unknown(self) -> Sequence[Store]:
        """The stores of the erasure that this process does not know: it can neither empty nor scan them."""
        return [store for store in self.erasure.stores if store not in self.erasing.stores]

    async def note(self, erasure: Erasure) -> None:
        """Write it, if it says anything new. Raises StoreConflict if another process has, Unavailable."""
        if erasure == self.erasure:
            return
        before = self.erasing.clock.now()
        self.tag = await self.erasing.erasures.write(erasure.scope, erasures.dump(erasure), replaces=self.tag)
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
                    await self.erasing.storage.delete(self.erasure.scope, found, known_at=self.known_at)
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


async def open_erasure(scope: UserScope, *, erasing: Erasing) -> ErasureJournal | None:
    """Read the record, and note when the fence was first seen and the stores that only this process knows.

    Returns None if there is no erasure of this user.

    Raises StoreConflict if another process is at it, HistoryBroken if the record cannot be read, Unavailable.
    """
    before = erasing.clock.now()
    stored = await erasing.erasures.read(scope)
    if stored is None:
        return None
    journal = ErasureJournal(erasing, erasures.load(scope, stored.data), stored.storage_etag, before)
    await journal.note(extended(standing(journal.erasure, erasing.clock.now()), erasing.stores))
    return journal
