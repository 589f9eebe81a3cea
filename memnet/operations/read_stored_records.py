"""Read the audit records of one document as they are stored, their values sealed."""

import asyncio
from collections.abc import Mapping

from memnet.domain.audit import read_record
from memnet.domain.document import UserScope
from memnet.domain.envelope import Envelope, Record
from memnet.domain.errors import HistoryBroken
from memnet.stores import AuditLog

PARALLEL = 16


async def read_stored_records(
    scope: UserScope, head: Envelope, first: int, last: int, *, audit: AuditLog
) -> Mapping[str, Record]:
    """Return the records of changes `first` to `last` by change and in order, those in the document's outbox included.

    No key is needed; it is enough to follow the chain. Raises HistoryBroken with a record that is missing or is not
    what was written, Unavailable.
    """
    waiting = {record["change_id"]: record for record in head.commit.outbox}
    gate = asyncio.Semaphore(PARALLEL)

    async def one(change_id: str) -> Record:
        if change_id in waiting:
            return waiting[change_id]
        async with gate:
            data = await audit.read(scope, change_id)
        record = None if data is None else read_record(data)
        if record is None:
            raise HistoryBroken(change_id=change_id)
        return record

    changes = [head.change_id(number) for number in range(first, last + 1)]
    return dict(zip(changes, await asyncio.gather(*map(one, changes)), strict=True))
