"""A head: what it says, what it is chained to, and that no byte of it can be another."""

import base64
import hmac
import json

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from memnet.domain.audit import FIRST_HASH
from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.envelope import summarise
from memnet.domain.head import (
    content_key_ids,
    entry_of,
    going_back,
    head_key,
    is_signed,
    next_head,
    read_head,
    vouches,
)
from memnet.domain.head import standing as standing_of
from memnet.domain.json_text import canonical, digest
from memnet.domain.sealing import DataKey
from memnet.domain.signature import SigningKey
from tests.domain.head_samples import DATA_KEY, DATA_KEYS, KEY, SCOPE, THEN, entry, signed, signed_before, standing
from tests.domain.samples import KEY as DOCUMENT
from tests.domain.samples import History, op


def test_the_first_head_of_nothing_is_none() -> None:
    assert next_head(SCOPE, None, [], signed_at=THEN, key=KEY) is None


def test_a_head_says_what_every_document_has_come_to_and_is_read_as_it_was_written() -> None:
    head = signed(None, entry(2, "d2"), entry(1, "d1"))
    assert [one.doc_id for one in head.documents] == ["d1", "d2"]
    assert (head.sequence, head.previous_head_hash, head.signed_at) == (1, FIRST_HASH, THEN)
    assert head.key_id == KEY.public.key_id
    assert read_head(head.data) == head
    assert is_signed(head, KEY.public)
    assert not is_signed(head, SigningKey("v2", bytes(32)).public)


def test_anybody_can_verify_it_as_the_guide_says() -> None:
    """With nothing of this project but the guide's words."""
    members = json.loads(signed(None, entry(1)).data)
    signature = base64.b64decode(members.pop("signature"))
    text = json.dumps(members, sort_keys=True, separators=(",", ":"))
    Ed25519PublicKey.from_public_bytes(KEY.public.raw).verify(signature, b"memnet-head-1\n" + text.encode())


def test_heads_form_a_chain_and_nothing_new_is_no_head() -> None:
    first = signed(None, entry(1))
    assert next_head(SCOPE, first, [entry(1)], signed_at="later", key=KEY) is None
    second = signed(first, entry(2))
    assert (second.sequence, second.previous_head_hash) == (2, digest(first.data))


def test_heads_lie_in_the_order_of_their_chain() -> None:
    names = [head_key(SCOPE, number).blob_name for number in (1, 2, 10, 999_999)]
    assert names == sorted(names)
    assert names[0] == "tenants/t1/users/u1/heads/000000000001.json"


def test_an_entry_is_what_the_documents_blob_says() -> None:
    made = History()
    made.patch(op("add", "/content/a", value=1))
    head = made.patch(op("add", "/content/a", value=2))
    now = standing_of(DOCUMENT, head)
    assert now.content_hash == made.records[-1]["content_hash"]
    found = entry_of(now, None, data_key=DATA_KEY, keys={})
    assert (found.doc_id, found.sequence, found.record_hash) == ("doc-1", 2, head.commit.record_hash)
    assert (found.change_id, now.change_id) == (head.change_id(2), head.change_id(2))
    assert vouches(found, DOCUMENT.scope, made.records[-1]["content_hash"], DATA_KEYS)
    deleted = made.delete()
    assert summarise(deleted).deleted
    assert standing_of(DOCUMENT, deleted).content_hash == made.records[-1]["content_hash"]


def test_a_head_confirms_no_guess_without_the_key() -> None:
    """Neither a hash of the content nor anything else that follows from the content and what stands in clear."""
    content_hash = digest(canonical("4711"))
    head = signed(None, entry(1, content_hash=content_hash))
    said = orjson.loads(head.data)["documents"][0]
    assert set(said) == {
        "doc_id", "namespace", "path", "sequence", "record_hash", "content_code", "content_key_id",
    }  # fmt: skip
    assert content_hash.encode() not in head.data
    for secret in (b"", bytes(32), b"key-1"):
        guessed = entry(1, content_hash=content_hash, data_key=DataKey("key-1", secret))
        assert guessed.content_code != said["content_code"]


def test_the_code_is_what_the_page_says() -> None:
    """With nothing of this project but the decision's words."""
    one = entry(2, "d2")
    key = HKDF(SHA256(), 32, salt=None, info=b"memnet-head-content-1").derive(DATA_KEY.secret)
    text = json.dumps(["t1", "u1", "d2", 2, "c-d2-2"], separators=(",", ":"))
    assert one.content_code == hmac.new(key, text.encode(), "sha256").hexdigest()


def test_the_same_content_elsewhere_or_later_has_another_code() -> None:
    codes = [
        entry(1, content_hash="x").content_code,
        entry(2, content_hash="x").content_code,
        entry(1, "d2", content_hash="x").content_code,
        entry(1, content_hash="x", key=DocumentKey(UserScope("t1", "u2"), "projects", "d1.json")).content_code,
        entry(1, content_hash="x", data_key=DataKey("key-2", bytes(32))).content_code,
    ]
    assert len(set(codes)) == 5


def test_what_an_entry_says_of_a_content() -> None:
    one = entry(1)
    assert vouches(one, SCOPE, "c-d1-1", DATA_KEYS) is True
    assert vouches(one, SCOPE, "c-d1-2", DATA_KEYS) is False
    assert vouches(one, SCOPE, "c-d1-1", {}) is None
    assert vouches(entry(1, data_key=None), SCOPE, "c-d1-1", DATA_KEYS) is None
    (before,) = signed_before(standing(1)).documents
    assert vouches(before, SCOPE, "c-d1-1", {}) is True
    assert vouches(before, SCOPE, "c-d1-2", {}) is False


def test_an_entry_stays_as_it_was_signed_for_as_long_as_nothing_changes() -> None:
    """Also under a key that has been followed by another, or is gone: then nobody knows whether it is the same."""
    newer = DataKey("key-2", bytes(32))
    then = entry(1)
    for keys in (DATA_KEYS, {}):
        assert entry_of(standing(1), then, data_key=newer, keys=keys) is then
    assert entry_of(standing(1, content_hash="x"), then, data_key=newer, keys=DATA_KEYS).content_key_id == "key-2"
    assert entry_of(standing(2), then, data_key=newer, keys=DATA_KEYS) == entry(2, data_key=newer)
    (before,) = signed_before(standing(1)).documents
    for older in (before, entry(1, data_key=None)):
        assert entry_of(standing(1), older, data_key=DATA_KEY, keys={}) == then
    assert entry_of(standing(1), before, data_key=None, keys={}) == entry(1, data_key=None)


def test_a_head_without_a_code_is_read_as_it_was_written() -> None:
    head = signed(None, entry(1, data_key=None), entry(1, "d2"))
    assert read_head(head.data) == head
    assert content_key_ids([head, None]) == {"key-1"}


def test_a_head_of_before_is_read_and_followed() -> None:
    first = signed_before(standing(1), standing(2, "d2"))
    assert (first.version, [one.content_hash for one in first.documents]) == (1, ["c-d1-1", "c-d2-2"])
    assert is_signed(first, KEY.public)
    assert content_key_ids([first]) == set()
    assert going_back(first, [standing(1), standing(3, "d2")], {}) is None
    assert going_back(first, [standing(1, content_hash="x"), standing(3, "d2")], {}) is not None
    second = signed(first, entry(1), entry(3, "d2"))
    assert (second.version, second.sequence, second.previous_head_hash) == (2, 2, digest(first.data))
    assert b"content_hash" not in second.data


@pytest.mark.parametrize(
    "change",
    [
        {"content_hash": None},
        {"content_hash": 5},
        {"content_code": None, "content_key_id": None},
        {"content_code": "x", "content_key_id": "y"},
    ],
)
def test_an_entry_of_before_has_its_one_form(change: dict[str, object]) -> None:
    members = orjson.loads(signed_before(standing(1)).data)
    members["documents"][0] |= change
    assert read_head(canonical(members)) is None


@pytest.mark.parametrize("version", [True, 1.0, "1", 2])
def test_a_head_of_before_says_so_in_one_way(version: object) -> None:
    members = orjson.loads(signed_before(standing(1)).data)
    assert read_head(canonical(members)) is not None
    assert read_head(canonical(members | {"head_version": version})) is None


def test_no_flipped_byte_is_left_unnoticed() -> None:
    data = signed(None, entry(1), entry(12, "d2")).data
    for place in range(len(data)):
        altered = bytearray(data)
        altered[place] ^= 1
        head = read_head(bytes(altered))
        assert head is None or not is_signed(head, KEY.public), altered


@pytest.mark.parametrize(
    "change",
    [
        {"signature": 5},
        {"signature": "?"},
        {"sequence": "1"},
        {"sequence": True},
        {"documents": [5]},
        {"documents": {}},
        {"documents": [{}]},
        {"tenant_id": ".."},
        {"tenant_id": 5},
        {"signed_at": None},
        {"head_version": 1},
        {"head_version": 3},
        {"head_version": True},
        {"head_version": []},
        {"more": 1},
    ],
)
def test_other_members_are_no_head(change: dict[str, object]) -> None:
    members = orjson.loads(signed(None, entry(1)).data)
    assert read_head(canonical(members)) is not None
    assert read_head(canonical(members | change)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": 1.0},
        {"path": "../x"},
        {"namespace": 5},
        {"doc_id": None},
        {"content_hash": "x"},
        {"content_code": []},
        {"content_code": None},
        {"content_key_id": 5},
        {"content_key_id": None},
        {"x": 1},
    ],
)
def test_other_entries_are_no_head(change: dict[str, object]) -> None:
    members = orjson.loads(signed(None, entry(1)).data)
    members["documents"][0] |= change
    assert read_head(canonical(members)) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"5", b"\xff", b"{}"])
def test_other_bytes_are_no_head(data: bytes) -> None:
    assert read_head(data) is None


def test_a_white_space_more_is_no_head() -> None:
    assert read_head(signed(None, entry(1)).data + b"\n") is None


def test_what_goes_on_does_not_go_back() -> None:
    head = signed(None, entry(3, "d1"), entry(1, "d2"))
    assert going_back(None, [standing(1)], {}) is None
    for keys in (DATA_KEYS, {}):
        assert going_back(head, [standing(3, "d1"), standing(1, "d2")], keys) is None
        assert going_back(head, [standing(4, "d1"), standing(1, "d2"), standing(1, "d3")], keys) is None


@pytest.mark.parametrize(
    "now",
    [
        [standing(2, "d1"), standing(1, "d2")],
        [standing(1, "d2")],
        [standing(1, "d1x", key=DocumentKey(SCOPE, "projects", "d1.json")), standing(1, "d2")],
        [standing(3, "d1", key=DocumentKey(SCOPE, "projects", "d1x.json")), standing(1, "d2")],
        [standing(3, "d1", record_hash="other"), standing(1, "d2")],
        [standing(3, "d1", content_hash="other"), standing(1, "d2")],
    ],
)
def test_what_lies_behind_a_head_is_named(now) -> None:  # type: ignore[no-untyped-def]
    broken = going_back(signed(None, entry(3, "d1"), entry(1, "d2")), now, DATA_KEYS)
    assert broken is not None
    assert broken.details["change_id"] == "d1-000000000003"


def test_a_head_is_for_its_user_alone() -> None:
    members = orjson.loads(signed(None, entry(1)).data)
    moved = read_head(canonical(members | {"user_id": "u2"}))
    assert moved is not None
    assert moved.scope == UserScope("t1", "u2")
    assert not is_signed(moved, KEY.public)
