"""The data keys of a user, wrapped, in one record: the last one seals, the others open what they sealed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.json_types import members_of
from memnet.domain.core.scope import SEGMENT, UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.sealing.sealing import WrappedKey, from_base64, to_base64

NAME = "data"
"""One record a user: what rotates the keys replaces it as a whole, on condition that it still is what was read."""


@dataclass(frozen=True, slots=True)
class DataKeys:
    """The record; there is at least one key in it."""

    keys: Sequence[WrappedKey]

    @property
    def current(self) -> WrappedKey:
        """The key that new records are sealed with."""
        return self.keys[-1]

    def find(self, key_id: str) -> WrappedKey | None:
        """The key of that id, or None."""
        return next((key for key in self.keys if key.key_id == key_id), None)

    def followed_by(self, key: WrappedKey) -> "DataKeys":
        """The same with a new current key."""
        return replace(self, keys=[*self.keys, key])


def data_keys_key(scope: UserScope) -> ItemKey:
    """Where a user's data keys are stored."""
    return ItemKey(scope, ItemKind.KEYS, NAME)


def dump(data_keys: DataKeys) -> bytes:
    """Write the record."""
    rows = [
        {**members_of(key), "nonce": to_base64(key.nonce), "ciphertext": to_base64(key.ciphertext)}
        for key in data_keys.keys
    ]
    return canonical({"data_keys": rows})


def load(data: bytes) -> DataKeys:
    """Read what `dump` wrote, and nothing else. Raises DecryptionFailed."""
    with Reading(DecryptionFailed()):
        rows = orjson.loads(data)["data_keys"]
        found = DataKeys([_wrapped(**row) for row in rows])
    if not found.keys or dump(found) != data:
        raise DecryptionFailed()
    return found


def _wrapped(key_id: str, tenant_key_version: str, created_at: str, nonce: str, ciphertext: str) -> WrappedKey:
    """Ids that are no identifiers are refused here, before a vault is asked for them."""
    if not (SEGMENT.fullmatch(key_id) and SEGMENT.fullmatch(tenant_key_version)):
        raise ValueError("not an id")
    return WrappedKey(key_id, tenant_key_version, created_at, from_base64(nonce), from_base64(ciphertext))
