"""Sign what has become of an erasure."""

from collections.abc import Sequence

from memnet.domain.core.errors import Unavailable
from memnet.domain.governance.erasure import Erasure
from memnet.domain.governance.erasure_receipt import SALT_BYTES, Receipt, Remainder, make_receipt, read_receipt
from memnet.ports import StoreConflict
from memnet.service import Service


async def sign_erasure(erasure: Erasure, remains: Sequence[Remainder], service: Service) -> Receipt:
    """Create the receipt and return it, or the one that another process has created: it has proven the same.

    Raises VaultUnavailable, DecryptionFailed, Unavailable.
    """
    receipt = make_receipt(
        erasure,
        remains,
        finished_at=service.clock.now(),
        salt=service.ids.secret(SALT_BYTES),
        key=await service.signing.newest(),
    )
    tenant_id = erasure.scope.tenant_id
    try:
        await service.erasures.create_receipt(tenant_id, erasure.erasure_id, receipt)
    except StoreConflict:
        standing = await service.erasures.read_receipt(tenant_id, erasure.erasure_id)
        if standing is None:
            raise Unavailable(dependency="blob_storage") from None
        return read_receipt(standing)
    return read_receipt(receipt)
