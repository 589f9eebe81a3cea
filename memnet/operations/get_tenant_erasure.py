"""Tell how the erasure of a tenant stands."""

from memnet.domain.errors import ErasureNotFound
from memnet.domain.tenant_erasure import TenantErasure, load
from memnet.stores import Erasing


async def get_tenant_erasure(tenant_id: str, *, erasing: Erasing) -> TenantErasure:
    """Return it, with its receipt once it is over.

    Raises ErasureNotFound, InvalidIdentifier, HistoryBroken, Unavailable.
    """
    stored = await erasing.erasures.read_end(tenant_id)
    if stored is None:
        raise ErasureNotFound()
    return load(tenant_id, stored.data)
