"""Accept the erasure of everything that is stored of a user."""

from memnet.domain import erasure as erasures
from memnet.domain.document import Actor, UserScope
from memnet.domain.erasure import Erasure, Store, begun, erasure_id_of
from memnet.domain.erasure_receipt import ErasureStatus, over, read_receipt, running
from memnet.domain.errors import ErasureRunning, HistoryBroken, Unavailable
from memnet.domain.json_text import digest
from memnet.operations.count_remaining import count_remaining
from memnet.operations.fence_documents import fence_documents
from memnet.operations.legal_holds import holds_covering
from memnet.operations.open_erasure import open_erasure
from memnet.operations.sign_erasure import sign_erasure
from memnet.operations.sign_heads import read_newest_head
from memnet.ports import StoreConflict
from memnet.stores import Erasing

ATTEMPTS = 8


async def request_erasure(scope: UserScope, *, idempotency_key: str, actor: Actor, erasing: Erasing) -> ErasureStatus:
    """Put up the fence, start the erasure and empty the documents; `erase_user` does the rest.

    From the answer until the receipt, every write for the user is refused. The same request again is the same erasure,
    while it runs and afterwards. Under a legal hold the erasure ends at once as partial, and nothing is touched; a hold
    that comes after the start is refused.

    Raises:
        ErasureRunning: another erasure of the user runs; the error names it.
        VaultUnavailable, SealBroken: no receipt could be signed.
        HistoryBroken, Unavailable: the same request again continues.
    """
    await erasing.signing.newest()
    erasure_id = erasure_id_of(scope, idempotency_key)
    for _ in range(ATTEMPTS):
        try:
            journal = await open_erasure(scope, erasing=erasing)
            if journal is None:
                ended = await _end_at_once(scope, erasure_id, actor, erasing)
                if ended is not None:
                    return ended
                asked = erasures.dump(await _asked(scope, erasure_id, actor, erasing))
                await erasing.erasures.write(scope, asked, replaces=None)
                continue
        except StoreConflict:
            continue
        if journal.erasure.erasure_id != erasure_id:
            raise ErasureRunning(erasure_id=journal.erasure.erasure_id)
        await fence_documents(scope, known_at=journal.known_at, documents=erasing.documents)
        return running(journal.erasure, erasing.settle)
    raise Unavailable(dependency="blob_storage")


async def _end_at_once(scope: UserScope, erasure_id: str, actor: Actor, erasing: Erasing) -> ErasureStatus | None:
    """Return the erasure if it has a receipt, or if a legal hold keeps it from starting."""
    data = await erasing.erasures.read_receipt(scope.tenant_id, erasure_id)
    if data is not None:
        return over(read_receipt(data))
    holds = await holds_covering(scope, holds=erasing.holds)
    if not holds:
        return None
    asked = await _asked(scope, erasure_id, actor, erasing)
    remains = await count_remaining(scope, holds[0].covers, erasing=erasing)
    return over(await sign_erasure(asked, remains, erasing=erasing))


async def _asked(scope: UserScope, erasure_id: str, actor: Actor, erasing: Erasing) -> Erasure:
    return begun(
        scope,
        erasure_id,
        by=actor.principal,
        at=erasing.clock.now(),
        stores=tuple(Store),
        settle=erasing.settle,
        last_head_sha256=await _last_head(scope, erasing),
    )


async def _last_head(scope: UserScope, erasing: Erasing) -> str | None:
    try:
        head = await read_newest_head(scope, records=erasing.records)
    except HistoryBroken:
        return None
    return None if head is None else digest(head.data)
