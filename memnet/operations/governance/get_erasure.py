"""Tell how an erasure stands."""

from memnet.domain.core.errors import ErasureNotFound
from memnet.domain.core.identifiers import check_identifier
from memnet.domain.core.scope import UserScope
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure_receipt import ErasureStatus, ended, read_receipt, running
from memnet.service import Service


async def get_erasure(scope: UserScope, erasure_id: str, service: Service) -> ErasureStatus:
    """Return it, with its receipt once nothing of the user is left, the fence included.

    Raises InvalidIdentifier, ErasureNotFound, also for an erasure of another user, HistoryCorrupt, Unavailable.
    """
    check_identifier("erasure_id", erasure_id)
    stored = await service.erasures.read(scope)
    found = erasures.load(scope, stored.data) if stored else None
    if found is not None and found.erasure_id == erasure_id:
        return running(found, service.erasure_quiescence)
    data = await service.erasures.read_receipt(scope.tenant_id, erasure_id)
    receipt = None if data is None else read_receipt(data)
    if receipt is None or not receipt.is_of(scope):
        raise ErasureNotFound()
    return ended(receipt)
