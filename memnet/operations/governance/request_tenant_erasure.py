"""Accept that all that is stored of a tenant is to be erased, and that the tenant ends."""

from memnet.domain.core.errors import TenantHeld, Unavailable
from memnet.domain.core.scope import Actor
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance.erasure import Store
from memnet.domain.governance.tenant_erasure import TenantErasure, TenantStatus, dump, load, resumed
from memnet.operations.governance.legal_holds import is_tenant_held
from memnet.ports import StoreConflict
from memnet.service import Service

ATTEMPTS = 4


async def request_tenant_erasure(tenant_id: str, service: Service, *, actor: Actor) -> TenantErasure:
    """Put the tenant's fence up: within `look_every` every process refuses to write for the tenant, for good.

    The rest is `erase_tenant`. A tenant ends once, so a repeated request is answered with how its erasure stands;
    one that ended partial runs again. Raises TenantHeld while a legal hold is on the tenant, VaultUnavailable or
    DecryptionFailed if no receipt could be signed, InvalidIdentifier, HistoryCorrupt, Unavailable.
    """
    await service.signing.newest()
    for _ in range(ATTEMPTS):
        stored = await service.erasures.read_end(tenant_id)
        found = None if stored is None else load(tenant_id, stored.data)
        if found is not None and found.status is not TenantStatus.PARTIAL:
            return found
        if await is_tenant_held(tenant_id, holds=service.holds):
            raise TenantHeld()
        now = service.clock.now()
        if found is None:
            asked = TenantErasure(
                tenant_id=tenant_id,
                erasure_id=service.ids.new(),
                requested_by=actor.principal,
                accepted_at=to_text(now),
                stores=tuple(Store),
            )
        else:
            asked = resumed(found, by=actor.principal, at=now)
        try:
            tag = None if stored is None else stored.storage_etag
            await service.erasures.write_end(tenant_id, dump(asked), replaces=tag, runs=True)
        except StoreConflict:
            continue
        return asked
    raise Unavailable(dependency="blob_storage")
