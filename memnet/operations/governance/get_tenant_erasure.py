"""Tell how the erasure of a tenant stands."""

from memnet.domain.core.errors import ErasureNotFound
from memnet.domain.governance.tenant_erasure import TenantErasure, load
from memnet.service import Service


async def get_tenant_erasure(tenant_id: str, service: Service) -> TenantErasure:
    """Return it, with its receipt once it is over.

    Raises ErasureNotFound, InvalidIdentifier, HistoryCorrupt, Unavailable.
    """
    stored = await service.erasures.read_end(tenant_id)
    if stored is None:
        raise ErasureNotFound()
    return load(tenant_id, stored.data)
