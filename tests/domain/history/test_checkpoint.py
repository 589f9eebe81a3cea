"""A head: what it says, what it is chained to, and that no byte of it can be another."""

import base64
import json
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import SigningKey
from memnet.domain.documents.audit_record import FIRST_HASH
from memnet.domain.history.checkpoint import (
    CheckpointEntry,
    checkpoint_entry,
    checkpoint_key,
    find_regression,
    is_signed,
    next_checkpoint,
    read_checkpoint,
)
from tests.domain.head_samples import KEY, SCOPE, THEN, entry, signed
from tests.domain.samples import KEY as DOCUMENT
from tests.domain.samples import History, op


def test_the_first_head_of_nothing_is_none() -> None:
    assert next_checkpoint(SCOPE, None, [], signed_at=THEN, key=KEY) is None


def test_a_checkpoint_has_the_state_of_every_document_and_is_read_unchanged() -> None:
    head = signed(None, entry(2, "d2"), entry(1, "d1"))
    assert [one.doc_id for one in head.documents] == ["d1", "d2"]
    assert (head.sequence, head.previous_head_hash, head.signed_at) == (1, FIRST_HASH, THEN)
    assert head.key_id == KEY.public.key_id
    assert read_checkpoint(head.data) == head
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
    assert next_checkpoint(SCOPE, first, [entry(1)], signed_at="later", key=KEY) is None
    second = signed(first, entry(2))
    assert (second.sequence, second.previous_head_hash) == (2, sha256_hex(first.data))


def test_heads_lie_in_the_order_of_their_chain() -> None:
    names = [checkpoint_key(SCOPE, number).blob_name for number in (1, 2, 10, 999_999)]
    assert names == sorted(names)
    assert names[0] == "tenants/t1/users/u1/heads/000000000001.json"


def test_no_flipped_byte_is_left_unnoticed() -> None:
    data = signed(None, entry(1), entry(12, "d2")).data
    for place in range(len(data)):
        altered = bytearray(data)
        altered[place] ^= 1
        head = read_checkpoint(bytes(altered))
        assert head is None or not is_signed(head, KEY.public), altered


@pytest.mark.parametrize(
    "change",
    [
        {"signature": "?"},
        {"sequence": True},
        {"documents": [5]},
        {"tenant_id": ".."},
        {"signed_at": None},
        {"head_version": 2},
        {"head_version": []},
        {"more": 1},
    ],
)
def test_other_members_are_no_head(change: dict[str, object]) -> None:
    members = orjson.loads(signed(None, entry(1)).data)
    assert read_checkpoint(canonical(members)) is not None
    assert read_checkpoint(canonical(members | change)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": 1.0},
        {"path": "../x"},
        {"doc_id": None},
        {"x": 1},
    ],
)
def test_other_entries_are_no_head(change: dict[str, object]) -> None:
    members = orjson.loads(signed(None, entry(1)).data)
    members["documents"][0] |= change
    assert read_checkpoint(canonical(members)) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"5", b"\xff", b"{}", signed(None, entry(1)).data + b"\n"])
def test_other_bytes_are_no_head(data: bytes) -> None:
    assert read_checkpoint(data) is None


@pytest.mark.parametrize(
    "now",
    [
        [entry(2, "d1"), entry(1, "d2")],
        [entry(1, "d2")],
        [entry(1, "d1x", path="d1.json"), entry(1, "d2")],
        [entry(3, "d1", path="d1x.json"), entry(1, "d2")],
        [entry(3, "d1", record_hash="other"), entry(1, "d2")],
    ],
)
def test_what_lies_behind_a_head_is_named(now: Any) -> None:
    broken = find_regression(signed(None, entry(3, "d1"), entry(1, "d2")), now)
    assert broken is not None
    assert broken.details["change_id"] == "d1-000000000003"


def test_a_head_is_for_its_user_alone() -> None:
    members = orjson.loads(signed(None, entry(1)).data)
    moved = read_checkpoint(canonical(members | {"user_id": "u2"}))
    assert moved is not None
    assert moved.scope == UserScope("t1", "u2")
    assert not is_signed(moved, KEY.public)


def test_an_entry_is_what_the_documents_blob_says_and_nothing_of_its_content() -> None:
    made = History()
    made.patch(op("add", "/content/a", value=1))
    head = made.patch(op("add", "/content/a", value=2))
    found = checkpoint_entry(DOCUMENT, head)
    assert found == CheckpointEntry("doc-1", "n", "d.json", 2, head.commit.record_hash)
    assert found.change_id == head.change_id(2)
    (said,) = orjson.loads(signed(None, found).data)["documents"]
    assert set(said) == {"doc_id", "namespace", "path", "sequence", "record_hash"}
    deleted = made.delete()
    assert checkpoint_entry(DOCUMENT, deleted).sequence == 3


def test_a_document_with_new_changes_is_no_regression() -> None:
    head = signed(None, entry(3, "d1"), entry(1, "d2"))
    assert find_regression(None, [entry(1)]) is None
    assert find_regression(head, [entry(3, "d1"), entry(1, "d2")]) is None
    assert find_regression(head, [entry(4, "d1"), entry(1, "d2"), entry(1, "d3")]) is None
