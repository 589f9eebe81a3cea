"""What is sealed opens for its user, in its place, with its key, unaltered; and in no other case."""

from base64 import b64decode

import orjson
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.replay.snapshot import snapshot_key
from memnet.domain.sealing.sealing import DataKey, WrappedKey, seal, sealing_key_id, unseal, unwrap, wrap
from tests.domain.snapshot_samples import SCOPE, snapshot

DATA_KEY = DataKey("key-1", bytes(range(32)))
TENANT_KEY = bytes(range(32, 64))
NONCE = bytes(range(12))
KEY = snapshot().key
SEALED = seal(snapshot().dump(), KEY, data_key=DATA_KEY, nonce=NONCE)

OTHER_PLACES = [
    snapshot_key(UserScope("t1", "u2"), "c_1", "s_1"),
    snapshot_key(UserScope("t2", "u1"), "c_1", "s_1"),
    snapshot_key(SCOPE, "c_2", "s_1"),
    snapshot_key(SCOPE, "c_1", "s_2"),
    ItemKey(SCOPE, ItemKind.REPLAYS, "c_1/s_1"),
    ItemKey(SCOPE, ItemKind.SNAPSHOTS, "c_1"),
]


def wrapped(data_key: DataKey = DATA_KEY, scope: UserScope = SCOPE) -> WrappedKey:
    return wrap(data_key, scope, tenant_key=TENANT_KEY, tenant_key_version="v1", created_at="now", nonce=NONCE)


@given(st.binary(max_size=2000), st.binary(min_size=32, max_size=32), st.binary(min_size=12, max_size=12))
def test_whatever_is_sealed_opens(plaintext: bytes, secret: bytes, nonce: bytes) -> None:
    data_key = DataKey("k", secret)
    assert unseal(seal(plaintext, KEY, data_key=data_key, nonce=nonce), KEY, data_key=data_key) == plaintext


def test_it_is_aes_256_gcm_bound_to_the_blob_and_the_key_by_name() -> None:
    """Written by hand: stored data must remain readable when this code has changed."""
    members = orjson.loads(SEALED)
    assert members.keys() == {"sealed", "key_id", "nonce", "ciphertext"}
    assert (members["sealed"], members["key_id"], b64decode(members["nonce"])) == (1, "key-1", NONCE)
    context = b'["record",1,"tenants/t1/users/u1/snapshots/c_1/s_1.json","key-1"]'
    plaintext = AESGCM(DATA_KEY.secret).decrypt(NONCE, b64decode(members["ciphertext"]), context)
    assert plaintext == snapshot().dump()


@given(st.integers(min_value=0, max_value=len(SEALED) * 8 - 1))
def test_no_bit_may_be_flipped(bit: int) -> None:
    flipped = bytearray(SEALED)
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DecryptionFailed):
        unseal(bytes(flipped), KEY, data_key=DATA_KEY)


@given(st.integers(min_value=0, max_value=len(SEALED) - 1))
def test_nothing_may_be_missing_or_added(length: int) -> None:
    for data in (SEALED[:length], SEALED[:length] + b" " + SEALED[length:]):
        with pytest.raises(DecryptionFailed):
            unseal(data, KEY, data_key=DATA_KEY)


@pytest.mark.parametrize("place", OTHER_PLACES, ids=lambda place: place.blob_name)
def test_it_does_not_open_in_another_place(place: ItemKey) -> None:
    with pytest.raises(DecryptionFailed):
        unseal(SEALED, place, data_key=DATA_KEY)


@given(st.binary(max_size=64))
def test_it_does_not_open_with_another_key(secret: bytes) -> None:
    with pytest.raises(DecryptionFailed):
        unseal(SEALED, KEY, data_key=DataKey("key-1", secret))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"null", b"[]", b'"x"', b"{}", b'{"sealed":1}', snapshot().dump(), b"\xff", b"\x00" * 99]
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DecryptionFailed):
        sealing_key_id(data)


@pytest.mark.parametrize("changes", [{"sealed": 2}, {"key_id": 7}, {"nonce": 7}, {"nonce": ""}, {"extra": 1}])
def test_another_form_is_refused(changes: dict[str, object]) -> None:
    data = canonical({**orjson.loads(SEALED), **changes})
    with pytest.raises(DecryptionFailed):
        unseal(data, KEY, data_key=DATA_KEY)


def test_a_data_key_opens_for_its_user_with_its_tenants_key() -> None:
    assert unwrap(wrapped(), SCOPE, tenant_key=TENANT_KEY) == DATA_KEY
    assert DATA_KEY.secret not in wrapped().ciphertext


@pytest.mark.parametrize("scope", [UserScope("t1", "u2"), UserScope("t2", "u1")])
def test_a_data_key_does_not_open_for_another_user(scope: UserScope) -> None:
    with pytest.raises(DecryptionFailed):
        unwrap(wrapped(), scope, tenant_key=TENANT_KEY)


@given(st.binary(max_size=64))
def test_a_data_key_does_not_open_with_another_tenant_key(secret: bytes) -> None:
    with pytest.raises(DecryptionFailed):
        unwrap(wrapped(), SCOPE, tenant_key=secret)


@pytest.mark.parametrize(
    ("name", "value"),
    [("key_id", "key-2"), ("tenant_key_version", "v2"), ("created_at", "then"), ("nonce", b""), ("ciphertext", b"x")],
)
def test_no_part_of_a_wrapped_key_may_be_altered(name: str, value: object) -> None:
    parts = {part: getattr(wrapped(), part) for part in WrappedKey.__dataclass_fields__}
    with pytest.raises(DecryptionFailed):
        unwrap(WrappedKey(**{**parts, name: value}), SCOPE, tenant_key=TENANT_KEY)


def test_a_key_of_another_length_seals_nothing() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        seal(b"", KEY, data_key=DataKey("k", bytes(16)), nonce=NONCE)


def test_the_repr_of_a_key_hides_it() -> None:
    assert repr(DATA_KEY) == "DataKey(key_id='key-1')"
