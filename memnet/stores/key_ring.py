"""The data keys of users: stored wrapped by their tenant's key, and used here to seal and unseal."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import Json, StorageETag, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey
from memnet.domain.sealing import data_keys, sealing
from memnet.domain.sealing.data_keys import DataKeys, data_keys_key
from memnet.domain.sealing.sealing import KEY_BYTES, NONCE_BYTES, DataKey, WrappedKey
from memnet.paging import retry_conflicts
from memnet.ports import Clock, DataKeyCache, IdGenerator, TenantKeys
from memnet.stores.blobs import FenceCheck
from memnet.stores.user_items import ItemStore

ATTEMPTS = 4
"""The second attempt after a lost race finds the key of the winner."""


@dataclass(frozen=True, slots=True)
class Vault:
    """The store of the wrapped data keys, the keys that unwrap them, and the source of random bytes."""

    records: ItemStore
    keys: TenantKeys
    ids: IdGenerator
    clock: Clock
    cache: DataKeyCache | None = None
    """None: each call reads and unwraps the keys it needs."""


async def read_data_keys(scope: UserScope, *, records: ItemStore) -> tuple[DataKeys, StorageETag] | None:
    """Return a user's wrapped data keys and the tag that guards their next write; None if there are none.

    Nothing is unwrapped, so the key vault is not called. Raises DecryptionFailed, Unavailable.
    """
    stored = await records.read(data_keys_key(scope))
    return None if stored is None else (data_keys.load(stored.data), stored.storage_etag)


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The data keys of users.

    Each method raises DecryptionFailed if the user's keys cannot be unwrapped, VaultUnavailable, and Unavailable.
    """

    vault: Vault

    async def current(self, scope: UserScope) -> DataKey | None:
        """Read the key that seals new items, and cache it; None if the user has none."""
        found = await read_data_keys(scope, records=self.vault.records)
        if found is None:
            return None
        return self._cached(scope, await self.unwrap(scope, found[0].current), is_current=True)

    async def find_current(self, scope: UserScope) -> DataKey | None:
        """Return the cached key, else the stored one; None if the user has none."""
        known = None if self.vault.cache is None else self.vault.cache.current(scope)
        return known or await self.current(scope)

    async def first(self, scope: UserScope) -> DataKey | None:
        """Return the user's first key, which rotations keep; None if the user has none.

        The record is always read: a cached key must not outlive it.
        """
        found = await read_data_keys(scope, records=self.vault.records)
        if found is None:
            return None
        wrapped = found[0].keys[0]
        known = None if self.vault.cache is None else self.vault.cache.find(scope, wrapped.key_id)
        return known or self._cached(scope, await self.unwrap(scope, wrapped), is_current=False)

    async def get_or_create(self, scope: UserScope, *, checked: FenceCheck | None = None) -> DataKey:
        """Return the cached key, else the stored one, else create one; the write is as in `add`.

        A key is used only after it is stored: one that loses the race to be the first seals nothing.
        """
        return await retry_conflicts(partial(self._current_or_new, scope, checked), attempts=ATTEMPTS)

    async def _current_or_new(self, scope: UserScope, checked: FenceCheck | None) -> DataKey:
        return await self.find_current(scope) or await self.add(scope, None, None, checked=checked)

    async def add(
        self, scope: UserScope, after: DataKeys | None, tag: StorageETag | None, *, checked: FenceCheck | None = None
    ) -> DataKey:
        """Append a new key to the keys `after`, which were read with `tag`, and return it.

        The write relies on `checked`, or else checks the fence. Raises StoreConflict: the stored keys have changed
        since.
        """
        tenant_key = await self.vault.keys.newest(scope.tenant_id)
        data_key = DataKey(self.vault.ids.new(), self.vault.ids.secret(KEY_BYTES))
        wrapped = sealing.wrap(
            data_key,
            scope,
            tenant_key=tenant_key.secret,
            tenant_key_version=tenant_key.version,
            created_at=to_text(self.vault.clock.now()),
            nonce=self.vault.ids.secret(NONCE_BYTES),
        )
        grown = DataKeys([wrapped]) if after is None else after.followed_by(wrapped)
        await self.vault.records.write(data_keys_key(scope), data_keys.dump(grown), replaces=tag, checked=checked)
        return self._cached(scope, data_key, is_current=True)

    async def find(self, scope: UserScope, key_ids: Collection[str]) -> Mapping[str, DataKey]:
        """Return by id those of the keys that exist and can be unwrapped. Cached keys are not read again."""
        cache = self.vault.cache
        known = {key_id: cache.find(scope, key_id) for key_id in key_ids} if cache else {}
        found = {key_id: key for key_id, key in known.items() if key is not None}
        missing = sorted(set(key_ids) - found.keys())
        if not missing:
            return found
        try:
            stored = await read_data_keys(scope, records=self.vault.records)
        except DecryptionFailed:
            return found
        for wrapped in filter(None, map(stored[0].find, missing) if stored else ()):
            try:
                key = await self.unwrap(scope, wrapped)
            except DecryptionFailed:
                continue
            found[key.key_id] = self._cached(scope, key, is_current=False)
        return found

    async def unwrap(self, scope: UserScope, wrapped: WrappedKey) -> DataKey:
        """Unwrap a data key with the tenant's key."""
        tenant_key = await self.vault.keys.version(scope.tenant_id, wrapped.tenant_key_version)
        return sealing.unwrap(wrapped, scope, tenant_key=tenant_key.secret)

    async def seal(self, key: ItemKey, plaintext: bytes) -> bytes:
        """Encrypt an item with the user's current key, bound to the location `key`."""
        return self.seal_with(await self.get_or_create(key.scope), key, plaintext)

    def seal_with(self, data_key: DataKey, key: ItemKey, plaintext: bytes) -> bytes:
        """Encrypt an item with a key that was just found or created."""
        return sealing.seal(plaintext, key, data_key=data_key, nonce=self.vault.ids.secret(NONCE_BYTES))

    async def unseal(self, key: ItemKey, data: bytes) -> bytes:
        """Decrypt what `seal` returned for the item `key`, with any of the user's keys.

        The cache is not used: a key that was removed from storage decrypts nothing.
        """
        key_id = sealing.sealing_key_id(data)
        found = await read_data_keys(key.scope, records=self.vault.records)
        wrapped = found and found[0].find(key_id)
        if not wrapped:
            raise DecryptionFailed()
        return sealing.unseal(data, key, data_key=await self.unwrap(key.scope, wrapped))

    async def seal_member(self, key: ItemKey, plaintext: bytes) -> Json:
        """Encrypt the member `sealed` of the record `key`."""
        return orjson.loads(await self.seal(key, plaintext))

    async def unseal_member(self, key: ItemKey, sealed: Json) -> bytes:
        """Decrypt what `seal_member` returned for the record `key`."""
        return await self.unseal(key, canonical(sealed))

    def _cached(self, scope: UserScope, key: DataKey, *, is_current: bool) -> DataKey:
        if self.vault.cache is not None:
            self.vault.cache.remember(scope, key, is_current=is_current)
        return key
