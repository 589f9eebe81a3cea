"""The record of a user's wrapped keys: read unchanged, or refused."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.sealing.data_keys import DataKeys, data_keys_key, dump, load
from memnet.domain.sealing.sealing import WrappedKey
from tests.domain.snapshot_samples import SCOPE

FIRST = WrappedKey("key-1", "v1", "2026-02-14T20:00:00.000000Z", b"nonce nonce!", b"ciphertext")
SECOND = WrappedKey("key-2", "v2", "2026-02-15T20:00:00.000000Z", b"other nonce!", b"other")
BOTH = DataKeys([FIRST]).followed_by(SECOND)


def test_they_lie_in_one_record_of_their_user() -> None:
    assert data_keys_key(SCOPE).blob_name == "tenants/t1/users/u1/keys/data.json"


def test_the_last_one_is_current_and_all_are_found() -> None:
    assert BOTH.current == SECOND
    assert [BOTH.find(key_id) for key_id in ("key-1", "key-2", "key-3")] == [FIRST, SECOND, None]
    assert load(dump(BOTH)) == BOTH


@given(st.integers(min_value=0, max_value=len(dump(BOTH)) * 8 - 1))
def test_a_flipped_bit_is_refused_or_changes_what_is_checked_later(bit: int) -> None:
    flipped = bytearray(dump(BOTH))
    flipped[bit // 8] ^= 1 << bit % 8
    try:
        assert load(bytes(flipped)) != BOTH
    except DecryptionFailed:
        return


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"data_keys":[]}', b'{"data_keys":[1]}', b'{"data_keys":[{}]}'])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DecryptionFailed):
        load(data)


@pytest.mark.parametrize(
    "changes",
    [{"tenant_key_version": "../secrets"}, {"key_id": 7}, {"key_id": "a b"}, {"nonce": "?"}, {"x": 1}],
)
def test_a_row_of_another_form_is_refused(changes: dict[str, object]) -> None:
    (row,) = orjson.loads(dump(DataKeys([FIRST])))["data_keys"]
    with pytest.raises(DecryptionFailed):
        load(canonical({"data_keys": [{**row, **changes}]}))
