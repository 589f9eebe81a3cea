"""Accept that all that is stored of a user is to be erased."""

from memnet.domain import erasure as erasures
from memnet.domain.document import Actor, UserScope
from memnet.domain.erasure import Erasure, begun, erasure_id_of, stopped
from memnet.domain.erasure_receipt import ErasureStatus, over, read_receipt, running
from memnet.domain.errors import ErasureRunning, HistoryBroken, Unavailable, VaultUnavailable
from memnet.domain.json_text import digest
from memnet.operations.count_remaining import count_remaining
from memnet.operations.fence_documents import fence_documents
from memnet.operations.find_holds import find_holds
from memnet.operations.open_erasure import ErasureJournal, open_erasure
from memnet.operations.read_newest_head import read_newest_head
from memnet.operations.sign_erasure import sign_erasure
from memnet.ports import StoreConflict
from memnet.stores import Erasing

ATTEMPTS = 4


async def request_erasure(scope: UserScope, *, idempotency_key: str, actor: Actor, erasing: Erasing) -> ErasureStatus:
    """Put the fence up, then empty the documents: from the answer on every write for the user is refused, until the
    receipt stands. The rest is `erase_user`.

    The same request again is the same erasure, whether it runs or is over. Under a legal hold it is over at once, and
    nothing is touched. Raises ErasureRunning, which names it, while another one runs; VaultUnavailable or SealBroken if
    no receipt could be signed; HistoryBroken, Unavailable: the same request again goes on.
    """
    if erasing.signing is None:
        raise VaultUnavailable()
    await erasing.signing.newest()
    erasure_id = erasure_id_of(scope, idempotency_key)
    for _ in range(ATTEMPTS):
        try:
            journal = await open_erasure(scope, erasing=erasing)
            if journal is None:
                ended = await _end_at_once(scope, erasure_id, actor, erasing)
                if ended is not None:
                    return ended
                journal = await _put_up(scope, erasure_id, actor, erasing)
            if journal is None:
                continue
            if journal.erasure.erasure_id != erasure_id:
                raise ErasureRunning(erasure_id=journal.erasure.erasure_id)
            await _fence(journal)
        except StoreConflict:
            continue
        return running(journal.erasure, erasing.settle)
    raise Unavailable(dependency="blob_storage")


async def _end_at_once(scope: UserScope, erasure_id: str, actor: Actor, erasing: Erasing) -> ErasureStatus | None:
    """The erasure if it is over already, or if a hold keeps it from beginning."""
    data = await erasing.erasures.read_receipt(scope.tenant_id, erasure_id)
    if data is not None:
        return over(read_receipt(data))
    holds = await find_holds(scope, holds=erasing.holds)
    if not holds:
        return None
    asked = await _asked(scope, erasure_id, actor, erasing)
    remains = await count_remaining(scope, holds[0].covers, erasing=erasing)
    return over(await sign_erasure(asked, remains, erasing=erasing))


async def _put_up(scope: UserScope, erasure_id: str, actor: Actor, erasing: Erasing) -> ErasureJournal | None:
    """Put the fence up; None if it has to be looked at again. Raises StoreConflict."""
    data = erasures.dump(await _asked(scope, erasure_id, actor, erasing))
    tag = await erasing.erasures.write(scope, data, replaces=None)
    if await erasing.erasures.read_receipt(scope.tenant_id, erasure_id) is not None:
        # This very erasure has ended between the two reads: nothing that came after it is to go.
        await erasing.erasures.lift(scope, tag=tag)
        return None
    return await open_erasure(scope, erasing=erasing)


async def _fence(journal: ErasureJournal) -> None:
    """Empty the documents, unless a hold has come. Raises StoreConflict."""
    erasing, erasure = journal.erasing, journal.erasure
    holds = await find_holds(erasure.scope, holds=erasing.holds)
    if holds:
        await journal.note(stopped(erasure, holds[0].covers, erasing.clock.now()))
    if journal.erasure.stopped_at is None:
        await fence_documents(erasure.scope, known_at=journal.known_at, documents=erasing.documents)


async def _asked(scope: UserScope, erasure_id: str, actor: Actor, erasing: Erasing) -> Erasure:
    return begun(
        scope,
        erasure_id,
        by=actor.principal,
        at=erasing.clock.now(),
        stores=erasing.stores,
        settle=erasing.settle,
        last_head_sha256=await _last_head(scope, erasing),
    )


async def _last_head(scope: UserScope, erasing: Erasing) -> str | None:
    try:
        head = await read_newest_head(scope, records=erasing.records)
    except HistoryBroken:
        return None
    return None if head is None else digest(head.data)
