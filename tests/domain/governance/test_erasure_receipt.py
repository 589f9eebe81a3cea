"""The receipt of an erasure: what it says, what it must not, and that no byte of it can be another."""

import base64
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core import signature
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import SigningKey
from memnet.domain.governance.erasure import INDEXED, MESSAGES, Erasure, begin_batch, counted, end_batch, scanned
from memnet.domain.governance.erasure_receipt import (
    PURPOSE,
    SALT_BYTES,
    Remainder,
    Status,
    ended,
    is_signed,
    make_receipt,
    read_receipt,
    receipt_name,
    recoverable,
    running,
    user_hash,
    withheld,
)
from memnet.domain.history import checkpoint
from memnet.domain.sealing.sealing import to_base64
from tests.domain.erasure_samples import KEY, THEN, WHOSE, erasure, found

SALT = bytes(range(SALT_BYTES))
FINISHED = datetime(2026, 1, 1, 0, 17, tzinfo=UTC)
HELD = Remainder("audit", 41, "legal_hold", "tenant")
SECRET = "the-very-private-project"


def done() -> Erasure:
    """One that removed something of a name that tells something."""
    begun = begin_batch(erasure(), found(f"{WHOSE.prefix}documents/projects/{SECRET}.json"))
    return scanned(scanned(counted(end_batch(begun), {INDEXED: 2, MESSAGES: 1}), clean=True), clean=True)


def receipt(*remains: Remainder, of: Erasure | None = None, key: SigningKey = KEY) -> bytes:
    """The receipt of `done`."""
    return make_receipt(done() if of is None else of, remains, finished_at=FINISHED, salt=SALT, key=key)


def resigned(members: dict[str, Any], purpose: str = PURPOSE, key: SigningKey = KEY) -> bytes:
    """Other members, signed by whoever has the key, for another purpose if that is said."""
    unsigned = {name: value for name, value in members.items() if name != "signature"}
    signed = signature.sign(key, purpose, canonical(unsigned))
    return canonical(unsigned | {"signature": to_base64(signed)})


def test_a_receipt_is_read_as_it_was_made() -> None:
    told = read_receipt(receipt())
    assert told.data == receipt()
    assert told.status is Status.COMPLETE
    assert is_signed(told, KEY.public)
    assert not is_signed(told, SigningKey("v2", bytes(32)).public)
    assert told.members == {
        "receipt_version": 1,
        "erasure_id": done().erasure_id,
        "tenant_id": WHOSE.tenant_id,
        "user_hash": user_hash(WHOSE, SALT),
        "salt": to_base64(SALT),
        "status": "complete",
        "requested_by": "svc-privacy",
        "accepted_at": THEN,
        "finished_at": "2026-01-01T00:17:00.000000Z",
        "stores": ["blobs", "index", "queues"],
        "removed": {"documents": 1, "index_documents": 2, "messages": 1},
        "remaining": [],
        "clean_scans": 2,
        "recoverable_until": None,
        "last_head_sha256": None,
        "key_id": KEY.public.key_id,
        "signature": told.members["signature"],
    }


def test_what_remains_makes_it_partial_and_is_said() -> None:
    told = read_receipt(receipt(HELD, Remainder("holds", 1, "legal_hold", "user", until=THEN)))
    assert told.status is Status.PARTIAL
    common = {"reason": "legal_hold"}
    assert told.members["remaining"] == [
        {"kind": "audit", "count": 41, "covers": "tenant", "until": None, **common},
        {"kind": "holds", "count": 1, "covers": "user", "until": THEN, **common},
    ]
    assert is_signed(told, KEY.public)


def test_until_when_the_storage_keeps_what_was_deleted_is_said() -> None:
    kept = recoverable(
        WHOSE,
        [
            *found(f"{WHOSE.prefix}events/live.json"),
            *(
                replace(one, copy=copy, kept_until=FINISHED + timedelta(days=days))
                for days, copy in ((3, ""), (7, "snapshot=2026-01-01T00:00:00.0000000Z"))
                for one in found(f"{WHOSE.prefix}documents/projects/{SECRET}.json")
            ),
        ],
    )
    until = "2026-01-08T00:17:00.000000Z"
    assert kept == [Remainder("documents", 2, "soft_delete", None, until)]
    told = read_receipt(receipt(*kept))
    assert (told.status, told.members["recoverable_until"]) == (Status.PARTIAL, until)


def test_anybody_can_verify_it_as_the_guide_says() -> None:
    """With nothing of this project but the guide's words."""
    members = json.loads(receipt())
    given_ = base64.b64decode(members.pop("signature"))
    text = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    Ed25519PublicKey.from_public_bytes(KEY.public.raw).verify(given_, b"memnet-erasure-1\n" + text.encode())
    ids = json.dumps([WHOSE.tenant_id, WHOSE.user_id], separators=(",", ":")).encode()
    assert hashlib.sha256(base64.b64decode(members["salt"]) + ids).hexdigest() == members["user_hash"]


@pytest.mark.parametrize("data", [receipt(), receipt(HELD, Remainder("audit", 1, "soft_delete", None, THEN))])
def test_no_flipped_bit_is_left_unnoticed(data: bytes) -> None:
    for place in range(len(data)):
        for bit in range(8):
            altered = bytearray(data)
            altered[place] ^= 1 << bit
            try:
                told = read_receipt(bytes(altered))
            except HistoryCorrupt:
                continue
            assert not is_signed(told, KEY.public), altered


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=4), st.integers(0, 4))
def test_nothing_is_put_in_or_taken_out_unnoticed(place: int, put: bytes, taken: int) -> None:
    data = receipt(HELD)
    place %= len(data) + 1
    altered = data[:place] + put + data[place + taken :]
    if altered == data:
        return
    try:
        told = read_receipt(altered)
    except HistoryCorrupt:
        return
    assert not is_signed(told, KEY.public)


@pytest.mark.parametrize("data", [receipt(), receipt(HELD)])
def test_it_holds_neither_the_user_s_id_nor_a_word_of_what_was_there(data: bytes) -> None:
    assert SECRET.encode() not in data
    assert WHOSE.user_id.encode() not in data
    assert WHOSE.prefix.encode() not in data
    # Nor what could be looked up without the salt.
    for ids in (WHOSE.user_id, f"{WHOSE.tenant_id}/{WHOSE.user_id}", canonical([WHOSE.tenant_id, WHOSE.user_id])):
        plain = hashlib.sha256(ids if isinstance(ids, bytes) else ids.encode())
        assert plain.hexdigest().encode() not in data


def test_it_is_of_its_very_user_alone() -> None:
    told = read_receipt(receipt())
    assert told.is_of(WHOSE)
    for tenant, user in (
        (WHOSE.tenant_id, f"{WHOSE.user_id}0"),
        (WHOSE.tenant_id, WHOSE.user_id[:-1]),
        (WHOSE.tenant_id, WHOSE.user_id.upper()),
        (f"{WHOSE.tenant_id}0", WHOSE.user_id),
        (WHOSE.user_id, WHOSE.tenant_id),
    ):
        assert not told.is_of(UserScope(tenant, user))


def test_no_two_users_and_no_two_salts_share_a_hash() -> None:
    scopes = [UserScope(tenant, user) for tenant in ("a", "ab", "a.b") for user in ("c", "bc", "b.c")]
    salts = [SALT, bytes(SALT_BYTES)]
    assert len({user_hash(scope, salt) for scope in scopes for salt in salts}) == len(scopes) * len(salts)


def test_a_signature_for_another_purpose_is_none() -> None:
    members = orjson.loads(receipt())
    assert resigned(members) == receipt()
    for purpose in (checkpoint.PURPOSE, "memnet-erasure", "memnet-erasure-2", ""):
        assert not is_signed(read_receipt(resigned(members, purpose)), KEY.public)


def test_another_user_s_receipt_is_another() -> None:
    other = erasure(UserScope(WHOSE.tenant_id, "u2"))
    members = orjson.loads(receipt(of=other))
    assert not read_receipt(canonical(members)).is_of(WHOSE)
    moved = canonical(members | {"user_hash": user_hash(WHOSE, SALT)})
    assert read_receipt(moved).is_of(WHOSE)
    assert not is_signed(read_receipt(moved), KEY.public)


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"receipt_version": 2},
        {"receipt_version": True},
        {"receipt_version": "1"},
        {"status": "running"},
        {"status": "done"},
        {"status": None},
        {"salt": 5},
        {"salt": "?"},
        {"salt": ""},
        {"salt": to_base64(SALT) + "\n"},
        {"signature": None},
        {"signature": "?"},
        {"signature": to_base64(b"x" * 63)},
        {"removed": []},
        {"removed": {"documents": "1"}},
        {"remaining": {}},
        {"remaining": ["audit"]},
        {"remaining": [{"kind": "audit"}]},
        {"stores": None},
        {"tenant_id": None},
        {"erasure_id": ["x"]},
        {"key_id": 5},
        {"accepted_at": None},
        {"finished_at": 5},
        {"clean_scans": "2"},
    ],
    ids=str,
)
def test_other_members_are_no_receipt(change: dict[str, object]) -> None:
    members = orjson.loads(receipt())
    with pytest.raises(HistoryCorrupt):
        read_receipt(canonical(members | change))


def test_a_member_less_is_no_receipt() -> None:
    members = orjson.loads(receipt())
    for name in members:
        with pytest.raises(HistoryCorrupt):
            read_receipt(canonical({other: value for other, value in members.items() if other != name}))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"5", b"\xff", b"{}", receipt() + b"\n", b" " + receipt(), receipt()[:-1]]
)
def test_other_bytes_are_no_receipt(data: bytes) -> None:
    with pytest.raises(HistoryCorrupt):
        read_receipt(data)


def test_complete_and_something_remains_do_not_go_together() -> None:
    """Whoever has the key signs what `make_receipt` makes; anything else is not read."""
    whole, part = orjson.loads(receipt()), orjson.loads(receipt(HELD))
    for members in (whole | {"status": "partial"}, part | {"status": "complete"}):
        with pytest.raises(HistoryCorrupt):
            read_receipt(resigned(members))


def test_a_receipt_lies_in_its_tenant_under_its_id() -> None:
    assert receipt_name("t1", "e1") == "erasures/t1/e1.json"
    for tenant, erasure_id in (("t1/x", "e"), ("..", "e"), ("t1", "../e"), ("t1", "a/b"), ("t1", "")):
        with pytest.raises(InvalidIdentifier):
            receipt_name(tenant, erasure_id)


def test_when_it_settles_is_known_once_it_has_started() -> None:
    assert running(erasure(), timedelta(minutes=16)).settled_at is not None
    assert running(erasure(started_at=None), timedelta(minutes=16)).settled_at is None


def test_under_a_hold_something_always_remains() -> None:
    assert withheld({"events": 2, "audit": 1}, "user") == [
        Remainder("audit", 1, "legal_hold", "user"),
        Remainder("events", 2, "legal_hold", "user"),
    ]
    assert withheld({}, "tenant") == [Remainder("late_writes", 0, "legal_hold", "tenant")]


def test_one_that_runs_is_told_with_what_keeps_it() -> None:
    one = erasure(removed={"keys": 1}, failing={"index": "SEARCH_UNAVAILABLE"}, batch=found(f"{WHOSE.prefix}events/e"))
    told = running(one, timedelta(minutes=16)).members()
    assert told == {
        "erasure_id": one.erasure_id,
        "status": "running",
        "accepted_at": THEN,
        "removed": {"keys": 1},
        "failing": {"index": "SEARCH_UNAVAILABLE"},
        "settled_at": "2026-01-01T00:16:00.000000Z",
        "receipt": None,
    }


@pytest.mark.parametrize(("remaining", "status"), [((), "complete"), ((HELD,), "partial")])
def test_one_that_is_over_is_told_with_its_receipt(remaining: tuple[Remainder, ...], status: str) -> None:
    stands = read_receipt(receipt(*remaining))
    told = ended(stands).members()
    assert told == {
        "erasure_id": done().erasure_id,
        "status": status,
        "accepted_at": THEN,
        "removed": {"documents": 1, "index_documents": 2, "messages": 1},
        "failing": {},
        "settled_at": None,
        "receipt": stands.members,
    }
    # What is told is what is verified.
    assert is_signed(read_receipt(canonical(told["receipt"])), KEY.public)
