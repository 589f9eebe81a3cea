"""The values of a baseline: sealed they say nothing, opened they are what the document held."""

from base64 import b64decode
from dataclasses import replace
from hashlib import sha256
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import DecryptionFailed, HistoryCorrupt
from memnet.domain.core.scope import UserScope
from memnet.domain.documents.audit_record import BrokenChain
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline import Baseline
from memnet.domain.history.baseline_values import BaselineLocation, data_key_ids, opened, seal
from memnet.domain.history.reconstruction import VersionAt
from memnet.domain.sealing.sealing import DataKey
from tests.domain.rebuilding import baseline_after, rebuild
from tests.domain.samples import KEY, SCOPE, History, op

DATA_KEY = DataKey("key-1", bytes(range(32)))
KEYS = {"key-1": DATA_KEY}
SALT, NONCE = b"s" * 32, bytes(12)
PLACE = BaselineLocation(SCOPE, "doc-1-000000000002")


def life() -> History:
    made = History()
    made.patch(op("add", "/content/a", value="Lives in Lisbon"))
    made.patch(op("add", "/content/b", value=[1, 2.5, None]))
    made.delete()
    made.patch(op("add", "/content/c", value=None))
    return made


LIFE = life()


def at(number: int = 2) -> Baseline:
    return baseline_after(LIFE.records, number, "p")


def sealed(number: int = 2, place: BaselineLocation = PLACE) -> Baseline:
    return seal(at(number), place, data_key=DATA_KEY, salt=SALT, nonce=NONCE)


def members() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(baselines.dump(sealed()))
    return found


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_what_is_sealed_is_read_and_opens_to_what_it_was(number: int) -> None:
    place = BaselineLocation(SCOPE, f"doc-1-{number:012d}")
    stored = baselines.load(baselines.dump(sealed(number, place)))
    assert stored == sealed(number, place)
    assert stored is not None
    assert (stored.content, stored.is_sealed, data_key_ids(stored)) == (None, True, {"key-1"})
    found = opened(stored, place, KEYS)
    assert (found, found.is_sealed, data_key_ids(found)) == (at(number), False, set())
    with pytest.raises(DecryptionFailed):
        opened(found, place, KEYS)


def test_what_lies_there_neither_says_nor_confirms_what_the_document_held() -> None:
    data = baselines.dump(sealed())
    content = at().content
    assert b"Lisbon" in baselines.dump(at())
    guesses = [content, {"content": content}, {"content": content, "clear_hash": "", "values_salt": ""}]
    for guess in (b"Lisbon", *(sha256(canonical(each)).hexdigest().encode() for each in guesses)):
        assert guess not in data
    assert members().keys() & {"content", "content_hash"} == set()
    salted = orjson.loads(baselines.dump(seal(at(), PLACE, data_key=DATA_KEY, salt=b"t" * 32, nonce=NONCE)))
    assert members()["values_hash"] != salted["values_hash"]


def test_it_opens_as_the_page_says() -> None:
    """With nothing of this project but the decision's words."""
    part = members()["sealed"]
    context = f'["record",1,"{SCOPE.prefix}audit/doc-1-000000000002.baseline","key-1"]'.encode()
    text = AESGCM(DATA_KEY.secret).decrypt(b64decode(part["nonce"]), b64decode(part["ciphertext"]), context)
    assert sha256(text).hexdigest() == members()["values_hash"]
    assert orjson.loads(text)["content"] == at().content


def test_what_stays_in_clear_is_what_the_chain_needs() -> None:
    found = sealed()
    assert (found.sequence, found.record_hash, found.etag) == (at().sequence, at().record_hash, at().etag)
    version = found.version()
    assert version == replace(at().version(), change=found.version().change, content=None)


def test_what_is_not_opened_is_nowhere_taken_for_content() -> None:
    with pytest.raises(BrokenChain, match="do not open"):
        sealed().fold()
    fault = rebuild("doc-1", KEY, LIFE.records[2:], LIFE.head, sealed()).fault
    assert fault == "doc-1-000000000002: the values of the baseline do not open"
    with pytest.raises(HistoryCorrupt) as caught:
        VersionAt(2, LIFE.head, sealed())
    assert caught.value.details["change_id"] == "doc-1-000000000002"


@pytest.mark.parametrize(
    "place", [BaselineLocation(UserScope("t1", "u2"), PLACE.change_id), BaselineLocation(SCOPE, "d-2")]
)
def test_it_opens_in_its_own_place_alone(place: BaselineLocation) -> None:
    with pytest.raises(DecryptionFailed):
        opened(sealed(), place, KEYS)


def test_it_takes_its_own_key() -> None:
    for keys in ({}, {"key-1": DataKey("key-1", bytes(32))}, {"key-2": DATA_KEY}):
        with pytest.raises(DecryptionFailed):
            opened(sealed(), PLACE, keys)


@pytest.mark.parametrize(
    "member", ["actor", "created_at", "etag", "profile_id", "record_hash", "schema_id", "timestamp", "values_hash"]
)
def test_no_unencrypted_member_can_be_altered(member: str) -> None:
    forged = baselines.load(canonical(members() | {member: "forged"}))
    assert forged is not None
    with pytest.raises(DecryptionFailed):
        opened(forged, PLACE, KEYS)


def test_who_has_the_key_and_puts_other_values_there_is_held_against_their_hash() -> None:
    other = seal(replace(at(), content={"forged": 1}), PLACE, data_key=DATA_KEY, salt=SALT, nonce=NONCE)
    assert other.sealed is not None
    mixed = canonical(members() | {"sealed": other.sealed.ciphertext})
    with pytest.raises(DecryptionFailed):
        opened(baselines.load(mixed), PLACE, KEYS)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", [None, 5, "x", [], {}, {"key_id": 5}])
def test_what_is_no_ciphertext_does_not_open(part: object) -> None:
    forged = baselines.load(canonical(members() | {"sealed": part}))
    assert forged is not None
    assert data_key_ids(forged) == set()
    with pytest.raises(DecryptionFailed):
        opened(forged, PLACE, KEYS)


@pytest.mark.parametrize(
    "change", [{"content": {}}, {"content_hash": "x"}, {"baseline_version": 1}, {"values_hash": 5}]
)
def test_it_has_one_form(change: dict[str, object]) -> None:
    assert baselines.load(canonical(members() | change)) is None


@pytest.mark.parametrize("member", ["sealed", "values_hash", "deleted", "etag"])
def test_it_lacks_nothing(member: str) -> None:
    assert baselines.load(canonical({name: value for name, value in members().items() if name != member})) is None


def test_an_open_one_is_written_for_archives() -> None:
    written = orjson.loads(baselines.dump(at()))
    assert (written["baseline_version"], written["content"]) == (3, at().content)
    assert written["content_hash"] == sha256_hex(canonical(at().content))
    assert len(written) == 22
