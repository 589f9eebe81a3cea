"""Sealed records: AES-256-GCM under the user's data key, which is itself sealed by the tenant's key.

What is sealed opens in its own place alone: the associated data (NIST SP 800-38D) names the blob and the key, so
that altered, moved and exchanged bytes are refused. Nonces and keys are given in; 96 random bits a nonce suffice for
2**32 records of one data key (SP 800-38D, section 8.3).
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.stored_form import Reading

VERSION = 1
KEY_BYTES = 32
NONCE_BYTES = 12


class Place(Protocol):
    """The location that sealed data is bound to."""

    @property
    def blob_name(self) -> str:
        """The name of the blob, which says whose it is."""
        ...


@dataclass(frozen=True, slots=True)
class DataKey:
    """The key that a user's records are sealed with, in the clear: it is never stored like this, nor kept for long."""

    key_id: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key as it is stored: sealed by one version of the tenant's key, worthless without the vault."""

    key_id: str
    tenant_key_version: str
    created_at: str
    """When the data key was made; a new wrapping does not change it."""
    nonce: bytes
    ciphertext: bytes


def wrap(
    data_key: DataKey, scope: UserScope, *, tenant_key: bytes, tenant_key_version: str, created_at: str, nonce: bytes
) -> WrappedKey:
    """Seal a data key with the tenant's key, for this user alone."""
    context = _key_context(scope, data_key.key_id, tenant_key_version, created_at)
    ciphertext = _cipher(tenant_key).encrypt(nonce, data_key.secret, context)
    return WrappedKey(data_key.key_id, tenant_key_version, created_at, nonce, ciphertext)


def unwrap(wrapped: WrappedKey, scope: UserScope, *, tenant_key: bytes) -> DataKey:
    """Open a wrapped data key. Raises DecryptionFailed if it is another user's, was altered, or the key is another
    one."""
    context = _key_context(scope, wrapped.key_id, wrapped.tenant_key_version, wrapped.created_at)
    return DataKey(wrapped.key_id, _opened(tenant_key, wrapped.nonce, wrapped.ciphertext, context))


def seal(plaintext: bytes, place: Place, *, data_key: DataKey, nonce: bytes) -> bytes:
    """Return the JSON of the sealed bytes, bound to the location `place`."""
    ciphertext = _cipher(data_key.secret).encrypt(nonce, plaintext, _record_context(place, data_key.key_id))
    return _dump(data_key.key_id, nonce, ciphertext)


@dataclass(frozen=True, slots=True)
class Sealed:
    """The parts of sealed bytes."""

    key_id: str
    nonce: bytes
    ciphertext: bytes

    def unseal(self, place: Place, keys: Mapping[str, DataKey]) -> bytes:
        """Return the plaintext of what lies in `place`. Raises DecryptionFailed without the key, or if altered."""
        data_key = keys.get(self.key_id)
        if data_key is None:
            raise DecryptionFailed()
        return _opened(data_key.secret, self.nonce, self.ciphertext, _record_context(place, self.key_id))


def parts_of(data: bytes) -> Sealed | None:
    """Return the parts of what `seal` wrote; None for other bytes."""
    try:
        return Sealed(*_load(data))
    except DecryptionFailed:
        return None


def sealing_key_id(data: bytes) -> str:
    """Return the id of the data key that seals these bytes. Raises DecryptionFailed if they are not sealed data."""
    return _load(data)[0]


def unseal(data: bytes, place: Place, *, data_key: DataKey) -> bytes:
    """Return the plaintext of what lies in `place`. Raises DecryptionFailed for anything but what `seal` wrote for
    it."""
    key_id, nonce, ciphertext = _load(data)
    return _opened(data_key.secret, nonce, ciphertext, _record_context(place, key_id))


def open_values(
    ciphertext: Json, place: Place, keys: Mapping[str, DataKey], *, names: Set[str], values_hash: str
) -> dict[str, Any]:
    """Return exactly the sealed members `names`. Raises DecryptionFailed without the key, or if altered or moved."""
    key_id, nonce, sealed = _load(canonical(ciphertext))
    data_key = keys.get(key_id)
    if data_key is None:
        raise DecryptionFailed()
    text = _opened(data_key.secret, nonce, sealed, _record_context(place, key_id))
    values: Any = orjson.loads(text)
    if not isinstance(values, dict) or values.keys() != names or sha256_hex(text) != values_hash:
        raise DecryptionFailed()
    return values


def data_key_ids(ciphertexts: Iterable[Json]) -> set[str]:
    """Return the ids of the data keys that sealed these values; unreadable ciphertext is skipped."""
    return data_key_ids_of(map(canonical, ciphertexts))


def data_key_ids_of(sealed: Iterable[bytes]) -> set[str]:
    """Return the ids of the data keys that sealed these items; unreadable ones are skipped."""
    found = set()
    for data in sealed:
        try:
            found.add(sealing_key_id(data))
        except DecryptionFailed:
            continue
    return found


def to_base64(data: bytes) -> str:
    """Bytes as a JSON string."""
    return b64encode(data).decode("ascii")


def from_base64(text: Any) -> bytes:
    """Decode the output of `to_base64`. Raises ValueError, TypeError."""
    return b64decode(text, validate=True)


def _dump(key_id: str, nonce: bytes, ciphertext: bytes) -> bytes:
    members = {"sealed": VERSION, "key_id": key_id, "nonce": to_base64(nonce), "ciphertext": to_base64(ciphertext)}
    return canonical(members)


def _load(data: bytes) -> tuple[str, bytes, bytes]:
    """The parts. Only the one form that `_dump` writes is read, so that no bit is outside of what is checked."""
    with Reading(DecryptionFailed()):
        members: Json = orjson.loads(data)
        parts = members["key_id"], from_base64(members["nonce"]), from_base64(members["ciphertext"])
    if not isinstance(parts[0], str) or _dump(*parts) != data:
        raise DecryptionFailed()
    return parts


def _opened(secret: bytes, nonce: bytes, ciphertext: bytes, context: bytes) -> bytes:
    try:
        return _cipher(secret).decrypt(nonce, ciphertext, context)
    except (InvalidTag, ValueError) as error:
        # ValueError: a nonce or a key of another length, so not what was written.
        raise DecryptionFailed() from error


def _cipher(secret: bytes) -> AESGCM:
    """The library takes shorter keys, too, which are not AES-256. Raises ValueError."""
    if len(secret) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    return AESGCM(secret)


def _record_context(place: Place, key_id: str) -> bytes:
    return canonical(["record", VERSION, place.blob_name, key_id])


def _key_context(scope: UserScope, key_id: str, tenant_key_version: str, created_at: str) -> bytes:
    return canonical(["data key", VERSION, scope.tenant_id, scope.user_id, key_id, tenant_key_version, created_at])
