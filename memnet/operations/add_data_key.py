"""Give a user a new data key, wrapped by the tenant's newest key."""

from memnet.domain import data_keys, sealing
from memnet.domain.data_keys import DataKeys, data_keys_key
from memnet.domain.document import StorageETag, UserScope
from memnet.domain.sealing import KEY_BYTES, NONCE_BYTES, DataKey
from memnet.domain.timestamps import to_text
from memnet.stores import Vault


async def add_data_key(scope: UserScope, after: DataKeys | None, tag: StorageETag | None, *, vault: Vault) -> DataKey:
    """Put a fresh key behind the keys `after`, which were read with `tag`, and return it; the others stay as they are.

    Raises StoreConflict if they are not the newest any more, VaultUnavailable, Unavailable when the outcome is unknown.
    """
    tenant_key = await vault.keys.newest(scope.tenant_id)
    data_key = DataKey(vault.ids.new(), vault.ids.secret(KEY_BYTES))
    wrapped = sealing.wrap(
        data_key,
        scope,
        tenant_key=tenant_key.secret,
        tenant_key_version=tenant_key.version,
        created_at=to_text(vault.clock.now()),
        nonce=vault.ids.secret(NONCE_BYTES),
    )
    grown = DataKeys([wrapped]) if after is None else after.followed_by(wrapped)
    await vault.records.write(data_keys_key(scope), data_keys.dump(grown), replaces=tag)
    if vault.cache is not None:
        vault.cache.remember(scope, data_key, is_current=True)
    return data_key
