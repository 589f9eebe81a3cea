"""Find the receipts of a user's erasures."""

import asyncio
from collections.abc import Sequence

from memnet.domain.document import UserScope
from memnet.domain.erasure_receipt import Receipt, is_signed, read_receipt
from memnet.domain.errors import HistoryBroken, InvalidIdentifier
from memnet.domain.signature import PublicKeys
from memnet.stores import ErasureStore

PAGE = 1000
PARALLEL = 16


async def find_receipts(scope: UserScope, *, erasures: ErasureStore, public_keys: PublicKeys) -> Sequence[Receipt]:
    """Return those that are signed with one of the keys; what else lies there proves nothing, and is left out.

    Reads all receipts of the tenant, for none says in clear whose it is. Raises Unavailable.
    """
    gate = asyncio.Semaphore(PARALLEL)

    async def one(erasure_id: str) -> Receipt | None:
        async with gate:
            try:
                data = await erasures.read_receipt(scope.tenant_id, erasure_id)
                receipt = None if data is None else read_receipt(data)
            except (InvalidIdentifier, HistoryBroken):
                return None
        if receipt is None or not receipt.is_of(scope) or receipt.members["tenant_id"] != scope.tenant_id:
            return None
        key = public_keys.get(receipt.members["key_id"])
        # A copy under another name would count twice what was removed once.
        is_own = receipt.members["erasure_id"] == erasure_id
        return receipt if is_own and key is not None and is_signed(receipt, key) else None

    found: list[Receipt] = []
    cursor: str | None = None
    while True:
        page = await erasures.list_receipts(scope.tenant_id, limit=PAGE, cursor=cursor)
        found += [receipt for receipt in await asyncio.gather(*map(one, page.items)) if receipt is not None]
        cursor = page.next_cursor
        if cursor is None:
            return found
