"""The receipt of an erasure: its members, its signature, and that no altered byte passes."""

import base64
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from memnet.domain.core import signature
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import SigningKey
from memnet.domain.governance.erasure import (
    INDEXED,
    MESSAGES,
    Erasure,
    Status,
    begin_batch,
    counted,
    end_batch,
    scanned,
)
from memnet.domain.governance.erasure_receipt import (
    PURPOSE,
    SALT_BYTES,
    Remainder,
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
HELD = Remainder(kind="audit", count=41, reason="legal_hold", covers="tenant", until=None)
SECRET = "the-very-private-project"


def done() -> Erasure:
    """Return an erasure that deleted a document with a private name."""
    running = begin_batch(erasure(), found(f"{WHOSE.prefix}documents/projects/{SECRET}.json"))
    return scanned(scanned(counted(end_batch(running), {INDEXED: 2, MESSAGES: 1}), clean=True), clean=True)


def receipt(*remains: Remainder, of: Erasure | None = None, key: SigningKey = KEY) -> bytes:
    """Return the receipt of `done`."""
    return make_receipt(done() if of is None else of, remains, finished_at=FINISHED, salt=SALT, key=key)


def resigned(members: dict[str, Any], purpose: str = PURPOSE, key: SigningKey = KEY) -> bytes:
    """Return these members, signed again."""
    unsigned = {name: value for name, value in members.items() if name != "signature"}
    signed = signature.sign(key, purpose, canonical(unsigned))
    return canonical(unsigned | {"signature": to_base64(signed)})


def test_a_receipt_reads_back() -> None:
    parsed = read_receipt(receipt())
    assert parsed.data == receipt()
    assert parsed.status is Status.COMPLETE
    assert is_signed(parsed, KEY.public)
    assert not is_signed(parsed, SigningKey("v2", bytes(32)).public)
    assert parsed.members == {
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
        "signature": parsed.members["signature"],
    }


def test_remaining_data_makes_it_partial() -> None:
    parsed = read_receipt(
        receipt(HELD, Remainder(kind="holds", count=1, reason="legal_hold", covers="user", until=THEN))
    )
    assert parsed.status is Status.PARTIAL
    common = {"reason": "legal_hold"}
    assert parsed.members["remaining"] == [
        {"kind": "audit", "count": 41, "covers": "tenant", "until": None, **common},
        {"kind": "holds", "count": 1, "covers": "user", "until": THEN, **common},
    ]
    assert is_signed(parsed, KEY.public)


def test_soft_deleted_data_is_listed_with_its_expiry() -> None:
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
    assert kept == [Remainder(kind="documents", count=2, reason="soft_delete", covers=None, until=until)]
    parsed = read_receipt(receipt(*kept))
    assert (parsed.status, parsed.members["recoverable_until"]) == (Status.PARTIAL, until)


def test_it_can_be_verified_as_the_guide_says() -> None:
    """Without code of this project."""
    members = json.loads(receipt())
    given_ = base64.b64decode(members.pop("signature"))
    text = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    Ed25519PublicKey.from_public_bytes(KEY.public.raw).verify(given_, b"memnet-erasure-1\n" + text.encode())
    ids = json.dumps([WHOSE.tenant_id, WHOSE.user_id], separators=(",", ":")).encode()
    assert hashlib.sha256(base64.b64decode(members["salt"]) + ids).hexdigest() == members["user_hash"]


def test_every_flipped_bit_is_detected() -> None:
    data = receipt(HELD, Remainder(kind="audit", count=1, reason="soft_delete", covers=None, until=THEN))
    for place in range(len(data)):
        for bit in (0, 4, 7):
            altered = bytearray(data)
            altered[place] ^= 1 << bit
            try:
                parsed = read_receipt(bytes(altered))
            except HistoryCorrupt:
                continue
            assert not is_signed(parsed, KEY.public), altered


@pytest.mark.parametrize("data", [receipt(), receipt(HELD)])
def test_it_contains_no_user_id_and_no_content(data: bytes) -> None:
    assert SECRET.encode() not in data
    assert WHOSE.user_id.encode() not in data
    assert WHOSE.prefix.encode() not in data
    # Nor what could be looked up without the salt.
    for ids in (WHOSE.user_id, f"{WHOSE.tenant_id}/{WHOSE.user_id}", canonical([WHOSE.tenant_id, WHOSE.user_id])):
        plain = hashlib.sha256(ids if isinstance(ids, bytes) else ids.encode())
        assert plain.hexdigest().encode() not in data


def test_it_identifies_only_its_user() -> None:
    parsed = read_receipt(receipt())
    assert parsed.is_of(WHOSE)
    for tenant, user in (
        (WHOSE.tenant_id, f"{WHOSE.user_id}0"),
        (WHOSE.tenant_id, WHOSE.user_id[:-1]),
        (WHOSE.tenant_id, WHOSE.user_id.upper()),
        (f"{WHOSE.tenant_id}0", WHOSE.user_id),
        (WHOSE.user_id, WHOSE.tenant_id),
    ):
        assert not parsed.is_of(UserScope(tenant, user))


def test_user_hashes_are_unique() -> None:
    scopes = [UserScope(tenant, user) for tenant in ("a", "ab", "a.b") for user in ("c", "bc", "b.c")]
    salts = [SALT, bytes(SALT_BYTES)]
    assert len({user_hash(scope, salt) for scope in scopes for salt in salts}) == len(scopes) * len(salts)


def test_a_signature_for_another_purpose_is_invalid() -> None:
    members = orjson.loads(receipt())
    assert resigned(members) == receipt()
    for purpose in (checkpoint.PURPOSE, "memnet-erasure", "memnet-erasure-2", ""):
        assert not is_signed(read_receipt(resigned(members, purpose)), KEY.public)


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"receipt_version": 2},
        {"receipt_version": True},
        {"status": "done"},
        {"salt": 5},
        {"salt": "?"},
        {"salt": to_base64(SALT) + "\n"},
        {"signature": "?"},
        {"signature": to_base64(b"x" * 63)},
        {"removed": []},
        {"removed": {"documents": "1"}},
        {"remaining": {}},
        {"remaining": [{"kind": "audit"}]},
        {"remaining": [{"kind": "audit", "count": 1, "reason": "legal_hold", "covers": "user"}], "status": "partial"},
        {"stores": None},
        {"erasure_id": ["x"]},
        {"finished_at": 5},
        {"clean_scans": "2"},
    ],
    ids=str,
)
def test_other_members_are_refused(change: dict[str, object]) -> None:
    members = orjson.loads(receipt())
    with pytest.raises(HistoryCorrupt):
        read_receipt(canonical(members | change))
    for name in change.keys() & members.keys():
        with pytest.raises(HistoryCorrupt):
            read_receipt(canonical({other: value for other, value in members.items() if other != name}))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"5", b"\xff", b"{}", receipt() + b"\n", b" " + receipt(), receipt()[:-1]]
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(HistoryCorrupt):
        read_receipt(data)


def test_a_status_that_contradicts_the_remaining_data_is_refused() -> None:
    whole, part = orjson.loads(receipt()), orjson.loads(receipt(HELD))
    for members in (whole | {"status": "partial"}, part | {"status": "complete"}):
        with pytest.raises(HistoryCorrupt):
            read_receipt(resigned(members))


def test_the_blob_name_of_a_receipt() -> None:
    assert receipt_name("t1", "e1") == "erasures/t1/e1.json"
    for tenant, erasure_id in (("t1/x", "e"), ("..", "e"), ("t1", "../e"), ("t1", "a/b"), ("t1", "")):
        with pytest.raises(InvalidIdentifier):
            receipt_name(tenant, erasure_id)


def test_under_a_hold_data_always_remains() -> None:
    assert withheld({"events": 2, "audit": 1}, "user") == [
        Remainder(kind="audit", count=1, reason="legal_hold", covers="user", until=None),
        Remainder(kind="events", count=2, reason="legal_hold", covers="user", until=None),
    ]
    assert withheld({}, "tenant") == [
        Remainder(kind="late_writes", count=0, reason="legal_hold", covers="tenant", until=None)
    ]


def test_the_status_of_a_running_erasure_names_failing_stores() -> None:
    one = erasure(removed={"keys": 1}, failing={"index": "SEARCH_UNAVAILABLE"}, batch=found(f"{WHOSE.prefix}events/e"))
    parsed = running(one, timedelta(minutes=16)).to_json()
    assert parsed == {
        "erasure_id": one.erasure_id,
        "status": "running",
        "accepted_at": THEN,
        "removed": {"keys": 1},
        "failing": {"index": "SEARCH_UNAVAILABLE"},
        "settled_at": "2026-01-01T00:16:00.000000Z",
        "receipt": None,
    }


@pytest.mark.parametrize(("remaining", "status"), [((), "complete"), ((HELD,), "partial")])
def test_the_status_of_a_finished_erasure_has_the_receipt(remaining: tuple[Remainder, ...], status: str) -> None:
    signed_receipt = read_receipt(receipt(*remaining))
    parsed = ended(signed_receipt).to_json()
    assert parsed == {
        "erasure_id": done().erasure_id,
        "status": status,
        "accepted_at": THEN,
        "removed": {"documents": 1, "index_documents": 2, "messages": 1},
        "failing": {},
        "settled_at": None,
        "receipt": signed_receipt.members,
    }
    assert is_signed(read_receipt(canonical(parsed["receipt"])), KEY.public)
