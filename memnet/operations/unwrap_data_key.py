"""Open a user's wrapped data key with the tenant's key."""

from memnet.domain import sealing
from memnet.domain.document import UserScope
from memnet.domain.sealing import DataKey, WrappedKey
from memnet.ports import TenantKeys


async def unwrap_data_key(scope: UserScope, wrapped: WrappedKey, *, keys: TenantKeys) -> DataKey:
    """Return the key. Raises SealBroken if it is not this user's or was altered, VaultUnavailable."""
    tenant_key = await keys.version(scope.tenant_id, wrapped.tenant_key_version)
    return sealing.unwrap(wrapped, scope, tenant_key=tenant_key.secret)
