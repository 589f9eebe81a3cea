"""Accept the erasure of everything that is stored of a user."""

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt, Unavailable
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import Erasure, Store, begun, erasure_id_of
from memnet.domain.governance.erasure_receipt import ErasureStatus, ended, read_receipt, running
from memnet.operations.governance.count_remaining import count_remaining
from memnet.operations.governance.fence_documents import fence_documents
from memnet.operations.governance.legal_holds import holds_covering
from memnet.operations.governance.resume_erasure import resume_erasure
from memnet.operations.governance.sign_erasure import sign_erasure
from memnet.operations.history.sign_checkpoints import read_newest_head
from memnet.ports import StoreConflict
from memnet.service import Service

ATTEMPTS = 8


async def request_erasure(scope: UserScope, service: Service, *, idempotency_key: str, actor: Actor) -> ErasureStatus:
    """Put up the fence, start the erasure and empty the documents; `erase_user` does the rest.

    From the answer until the receipt, every write for the user is refused. The same request again is the same erasure,
    while it runs and afterwards. Under a legal hold the erasure ends at once as partial, and nothing is touched; a hold
    that comes after the start is refused.

    Raises:
        ErasureRunning: another erasure of the user runs; the error names it.
        VaultUnavailable, DecryptionFailed: no receipt could be signed.
        HistoryCorrupt, Unavailable: the same request again continues.
    """
    await service.signing.newest()
    erasure_id = erasure_id_of(scope, idempotency_key)
    for _ in range(ATTEMPTS):
        try:
            journal = await resume_erasure(scope, service)
            if journal is None:
                ended = await _end_at_once(scope, erasure_id, actor, service)
                if ended is not None:
                    return ended
                asked = erasures.dump(await _asked(scope, erasure_id, actor, service))
                await service.erasures.write(scope, asked, replaces=None)
                continue
        except StoreConflict:
            continue
        if journal.erasure.erasure_id != erasure_id:
            raise ErasureRunning(erasure_id=journal.erasure.erasure_id)
        await fence_documents(scope, known_at=journal.known_at, documents=service.documents)
        return running(journal.erasure, service.erasure_quiescence)
    raise Unavailable(dependency="blob_storage")


async def _end_at_once(scope: UserScope, erasure_id: str, actor: Actor, service: Service) -> ErasureStatus | None:
    """Return the erasure if it has a receipt, or if a legal hold keeps it from starting."""
    data = await service.erasures.read_receipt(scope.tenant_id, erasure_id)
    if data is not None:
        return ended(read_receipt(data))
    holds = await holds_covering(scope, holds=service.holds)
    if not holds:
        return None
    asked = await _asked(scope, erasure_id, actor, service)
    remains = await count_remaining(scope, holds[0].covers, service)
    return ended(await sign_erasure(asked, remains, service))


async def _asked(scope: UserScope, erasure_id: str, actor: Actor, service: Service) -> Erasure:
    return begun(
        scope,
        erasure_id,
        by=actor.principal,
        at=service.clock.now(),
        stores=tuple(Store),
        settle=service.erasure_quiescence,
        last_head_sha256=await _last_head(scope, service),
    )


async def _last_head(scope: UserScope, service: Service) -> str | None:
    try:
        head = await read_newest_head(scope, records=service.records)
    except HistoryCorrupt:
        return None
    return None if head is None else sha256_hex(head.data)
