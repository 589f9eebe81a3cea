"""List the erasures of a tenant."""

from collections.abc import AsyncIterator, Sequence

from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import Erasure
from memnet.domain.governance.erasure_receipt import Receipt, read_receipt
from memnet.service import Service

PAGE = 1000


async def list_erasures(tenant_id: str, service: Service) -> tuple[Sequence[Erasure], Sequence[Receipt]]:
    """Return those that run, the oldest first, and the receipts of those that are over, the newest first.

    Raises InvalidIdentifier, HistoryCorrupt if one cannot be read, Unavailable.
    """
    running: list[Erasure] = []
    for scope in await service.erasures.erasing(tenant_id):
        stored = await service.erasures.read(scope)
        if stored is not None:
            running.append(erasures.load(scope, stored.data))
    over = [receipt async for receipt in _receipts(tenant_id, service)]
    return (
        sorted(running, key=lambda one: (one.accepted_at, one.erasure_id)),
        sorted(over, key=lambda receipt: str(receipt.members["finished_at"]), reverse=True),
    )


async def _receipts(tenant_id: str, service: Service) -> AsyncIterator[Receipt]:
    cursor: str | None = None
    while True:
        page = await service.erasures.list_receipts(tenant_id, limit=PAGE, cursor=cursor)
        for erasure_id in page.items:
            data = await service.erasures.read_receipt(tenant_id, erasure_id)
            if data is not None:
                yield read_receipt(data)
        cursor = page.next_cursor
        if cursor is None:
            return
