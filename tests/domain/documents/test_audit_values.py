"""The values of a record: sealed they say nothing, opened they are what was written, and the chain needs neither."""

from base64 import b64decode
from hashlib import sha256
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.documents import commit
from memnet.domain.documents.audit_record import BrokenChain, Fold, read_record, record_bytes, record_hash
from memnet.domain.documents.audit_values import (
    CLEAR,
    SALT_BYTES,
    VALUES,
    AuditRecordLocation,
    Sealing,
    data_key_ids,
    has_form,
    opened,
    public_view,
    seal,
)
from memnet.domain.sealing.sealing import DataKey
from tests.domain.samples import EVIDENCE, NOW, SCOPE, History, op, patch_command

DATA_KEY = DataKey("key-1", bytes(range(32)))
KEYS = {"key-1": DATA_KEY}
NONCE = bytes(12)
PLANTED = ("Lisbon", "msg-77", "asked by her", "key-of-ada", "2026-01-09", "pending_facts")


def life() -> History:
    made = History(data_key=DATA_KEY)
    made.patch(
        op("add", "/content/pending_facts", value="Lives in Lisbon"),
        evidence=EVIDENCE | {"message_ids": ["msg-77"]},
        idempotency_key="key-of-ada#rebase-1",
        source_time="2026-01-09T00:00:00Z",
    )
    made.patch(op("add", "/content/b", value=2))
    made.delete(note="asked by her")
    made.patch(op("add", "/content/c", value=None))
    return made


LIFE = life()
HEAD = LIFE.head
STORED = record_bytes(LIFE.records[0])


def place(record: Record) -> AuditRecordLocation:
    return AuditRecordLocation(SCOPE, record["change_id"])


def version(*ops: Any, salt: bytes = bytes(SALT_BYTES), **members: Any) -> Record:
    """The stored record of a first change."""
    made = History()
    command = patch_command(*ops, **members)
    sealing = Sealing(DATA_KEY, salt, NONCE)
    draft = made.decide(command, None)
    first = commit.next_version(None, command, draft, now=NOW, new_doc_id="doc-1", flushed=0, sealing=sealing)
    return first.commit.outbox[-1]


def test_every_member_is_clear_or_a_value() -> None:
    assert CLEAR.isdisjoint(VALUES)
    for record, one in zip(LIFE.records, LIFE.opened(), strict=True):
        assert record.keys() == CLEAR | {"sealed"}
        assert one.keys() == CLEAR | VALUES


def test_stored_bytes_say_nothing_of_what_was_said() -> None:
    stored = b"".join(map(record_bytes, LIFE.records))
    told_open = b"".join(map(record_bytes, LIFE.opened())).decode()
    for word in PLANTED:
        assert word in told_open
        assert word.encode() not in stored


def test_it_opens_by_hand() -> None:
    """Written out again: stored values must unseal and verify without this code."""
    record = orjson.loads(STORED)
    sealed = record.pop("sealed")
    context = f'["record",1,"tenants/t1/users/u1/audit/{record["change_id"]}","key-1"]'.encode()
    values = AESGCM(DATA_KEY.secret).decrypt(b64decode(sealed["nonce"]), b64decode(sealed["ciphertext"]), context)
    assert sha256(values).hexdigest() == record["values_hash"]
    assert sha256(canonical(record)).hexdigest() == LIFE.records[1]["previous_record_hash"]
    assert orjson.loads(values).keys() == VALUES


def test_the_chain_holds_without_any_key() -> None:
    """Also when the keys are destroyed: no operation needs a key to check that records follow one another."""
    named = [record["previous_record_hash"] for record in LIFE.records]
    hashes = [record_hash(record) for record in LIFE.records]
    assert [*named[1:], HEAD.commit.record_hash] == hashes
    assert hashes == [record_hash(record) for record in LIFE.opened()]


def test_the_hash_is_the_same_in_both_forms_and_for_any_ciphertext() -> None:
    record = LIFE.opened()[0]
    others = [seal(record, place(record), data_key=DataKey("k2", bytes(32)), nonce=bytes([n] * 12)) for n in range(3)]
    assert {record_hash(one) for one in (record, LIFE.records[0], *others)} == {record_hash(record)}
    assert len({record_bytes(one) for one in others}) == 3


@given(st.integers(min_value=0, max_value=len(STORED) * 8 - 1))
def test_no_bit_of_a_stored_record_may_be_flipped(bit: int) -> None:
    data = bytearray(STORED)
    data[bit // 8] ^= 1 << bit % 8
    found = read_record(bytes(data))
    if found is None or record_hash(found) != record_hash(LIFE.records[0]):
        return
    with pytest.raises(DecryptionFailed):
        opened(found, place(LIFE.records[0]), KEYS)


def test_it_opens_in_its_own_place_alone() -> None:
    first, second = LIFE.records[:2]
    for elsewhere in (
        AuditRecordLocation(UserScope("t1", "u2"), first["change_id"]),
        AuditRecordLocation(UserScope("t2", "u1"), first["change_id"]),
        place(second),
    ):
        with pytest.raises(DecryptionFailed):
            opened(first, elsewhere, KEYS)
    with pytest.raises(DecryptionFailed):
        opened({**first, "sealed": second["sealed"]}, place(first), KEYS)


def test_another_key_opens_nothing() -> None:
    for keys in ({}, {"key-1": DataKey("key-1", bytes(32))}, {"key-2": DATA_KEY}):
        with pytest.raises(DecryptionFailed):
            opened(LIFE.records[0], place(LIFE.records[0]), keys)


def test_values_other_than_the_hash_names_do_not_open() -> None:
    """The owner of the key can seal other values at the same location; the hash in clear detects it."""
    record = LIFE.opened()[0]
    forged = seal({**record, "note": "another"}, place(record), data_key=DATA_KEY, nonce=NONCE)
    assert record_hash(forged) == record_hash(record)
    with pytest.raises(DecryptionFailed):
        opened(forged, place(record), KEYS)


@pytest.mark.parametrize(
    "members",
    [
        {"sealed": None},
        {"sealed": {}},
        {"sealed": "text"},
        {"ops": []},
        {"more": 1},
    ],
)
def test_what_has_another_form_does_not_open(members: dict[str, Any]) -> None:
    record = {**LIFE.records[0], **members}
    with pytest.raises(DecryptionFailed):
        opened(record, place(record), KEYS)
    assert has_form(record) == (members.keys() == {"sealed"})


def test_a_form_between_the_two_is_no_record() -> None:
    one = LIFE.opened()[0]
    for record in (
        {**one, "sealed": LIFE.records[0]["sealed"]},
        {name: value for name, value in one.items() if name != "values_salt"},
        {name: value for name, value in LIFE.records[0].items() if name != "sealed"},
    ):
        assert read_record(record_bytes(record)) is None
    for record in (one, LIFE.records[0]):
        assert read_record(record_bytes(record)) == record


def test_a_record_that_is_still_sealed_or_has_other_values_breaks_the_chain() -> None:
    with pytest.raises(BrokenChain, match="do not open"):
        Fold("doc-1").take(LIFE.records[0])
    with pytest.raises(BrokenChain, match="not those that it names"):
        Fold("doc-1").take({**LIFE.opened()[0], "note": "another"})


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_no_clear_member_follows_from_what_was_said(one: str, other: str) -> None:
    """Who guesses content, evidence, note or key has nothing to hold the guess against: the salt is sealed, too."""

    def made(text: str, salt: bytes) -> Record:
        return version(
            op("add", "/content/a", value=text), salt=salt, evidence={"event_id": text}, idempotency_key=text
        )

    first, second = made(one, b"a" * SALT_BYTES), made(other, b"b" * SALT_BYTES)
    clear = CLEAR - {"values_hash", "post_etag"}
    assert {name: first[name] for name in clear} == {name: second[name] for name in clear}
    again = made(one, b"b" * SALT_BYTES)
    for name in ("values_hash", "post_etag"):
        assert first[name] != again[name]
    assert first["sealed"] != again["sealed"]


def test_the_public_view_has_neither_salt_nor_ciphertext() -> None:
    assert public_view(LIFE.opened()[0]).keys() == (CLEAR | VALUES) - {"values_salt"}


def test_which_keys_open_them() -> None:
    made = History(data_key=DataKey("other", bytes(32)))
    made.patch(op("add", "/content/a", value=1))
    broken = {**LIFE.records[1], "sealed": {"key_id": "third"}}
    assert data_key_ids([*LIFE.records, *made.records, broken, *LIFE.opened()]) == {"key-1", "other"}
