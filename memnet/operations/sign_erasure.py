"""Sign what has become of an erasure."""

from collections.abc import Sequence

from memnet.domain.erasure import Erasure
from memnet.domain.erasure_receipt import SALT_BYTES, Receipt, Remainder, make_receipt, read_receipt
from memnet.domain.errors import Unavailable
from memnet.ports import StoreConflict
from memnet.stores import Erasing


async def sign_erasure(erasure: Erasure, remains: Sequence[Remainder], *, erasing: Erasing) -> Receipt:
    """Create the receipt and return it, or the one that another process has created: it has proven the same.

    Raises VaultUnavailable, SealBroken, Unavailable.
    """
    receipt = make_receipt(
        erasure,
        remains,
        finished_at=erasing.clock.now(),
        salt=erasing.ids.secret(SALT_BYTES),
        key=await erasing.signing.newest(),
    )
    tenant_id = erasure.scope.tenant_id
    try:
        await erasing.erasures.create_receipt(tenant_id, erasure.erasure_id, receipt)
    except StoreConflict:
        standing = await erasing.erasures.read_receipt(tenant_id, erasure.erasure_id)
        if standing is None:
            raise Unavailable(dependency="blob_storage") from None
        return read_receipt(standing)
    return read_receipt(receipt)
