"""The heads against each other, and the histories against the heads."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.core.signature import SigningKey, by_id
from memnet.domain.documents.audit_record import Version
from memnet.domain.history.checkpoint import Checkpoint, CheckpointEntry
from memnet.domain.history.checkpoint_verification import CheckpointReport, StoredCheckpoint, check_checkpoints
from memnet.domain.history.reconstruction import VerifiedHistory
from tests.domain.head_samples import KEY, SCOPE, THEN, entry, signed

KEYS = by_id([KEY.public])
MALLORY = SigningKey("v1", b"m" * 32)


def version(sequence: int, doc_id: str = "d1") -> Version:
    change = {"sequence": sequence, "doc_id": doc_id, "timestamp": THEN}
    etag = ETag(f'"{sequence}"')
    return Version(change, etag, THEN, 1, f"r-{doc_id}-{sequence}", canonical({"content": sequence}))


def history(first: int, last: int, doc_id: str = "d1", fault: str | None = None) -> VerifiedHistory:
    key = DocumentKey(SCOPE, "projects", f"{doc_id}.json")
    return with_versions(VerifiedHistory(doc_id, key, 0, fault), [version(n, doc_id) for n in range(first, last + 1)])


def with_versions(one: VerifiedHistory, versions: list[Version]) -> VerifiedHistory:
    marks = {one.sequence: one.record_hash for one in versions}
    return replace(one, changes=len(versions), first=versions[0].sequence if versions else 1, marks=marks)


def chain(*states: tuple[CheckpointEntry, ...]) -> list[Checkpoint]:
    heads: list[Checkpoint] = []
    for state in states:
        heads.append(signed(heads[-1] if heads else None, *state))
    return heads


def stored(heads: list[Checkpoint]) -> list[StoredCheckpoint]:
    return [StoredCheckpoint(f"{head.sequence:012d}", head.data) for head in heads]


HEADS = chain((entry(1),), (entry(2), entry(1, "d2")), (entry(4), entry(1, "d2")))
HISTORIES = [history(1, 5), history(1, 1, "d2")]


def checked(lying: list[StoredCheckpoint], histories: list[VerifiedHistory] | None = None, **members: Any) -> Any:
    given = {"public_keys": KEYS, **members}
    return check_checkpoints(SCOPE, lying, HISTORIES if histories is None else histories, **given)


def faults(lying: list[StoredCheckpoint], histories: list[VerifiedHistory] | None = None, **members: Any) -> Any:
    heads, found = checked(lying, histories, **members)
    return heads.fault, [one.fault for one in found]


def test_what_holds() -> None:
    heads, found = checked(stored(HEADS))
    assert heads == CheckpointReport(count=3, newest=HEADS[2], fault=None, is_checked=True, since=1)
    assert list(found) == HISTORIES


def test_nothing_was_ever_signed() -> None:
    for keys in (KEYS, None):
        heads, found = checked([], public_keys=keys)
        assert heads == CheckpointReport(count=0, newest=None, fault=None, is_checked=True, since=6)
        assert list(found) == HISTORIES


@pytest.mark.parametrize(
    ("left", "missing"), [([1, 2], 1), ([0, 2], 2), ([2], 1)], ids=["the first", "one between", "two"]
)
def test_a_missing_head_is_named(left: list[int], missing: int) -> None:
    fault, found = faults(stored([HEADS[n] for n in left]))
    assert fault == f"heads/{missing:012d}: the head is missing"
    assert found == [None, None]


def test_heads_in_each_others_place_are_named() -> None:
    lying = stored(HEADS)
    swapped = [lying[0], replace(lying[1], data=lying[2].data), replace(lying[2], data=lying[1].data)]
    assert faults(swapped)[0] == "heads/000000000002: the head belongs elsewhere"


def test_an_inserted_head_is_named() -> None:
    lying = stored(HEADS)
    assert faults([*lying, StoredCheckpoint("000000000004", lying[2].data)])[0] == (
        "heads/000000000004: the head belongs elsewhere"
    )
    for name in ("0000000000015", "zzz", "00000000000٣"):
        assert faults([*lying, StoredCheckpoint(name, lying[2].data)])[0] == f"heads/{name}: this is no name of a head"


def test_a_head_that_somebody_else_signed_is_named_and_counts_for_nothing() -> None:
    forged = signed(HEADS[2], entry(1), key=MALLORY)
    heads, found = checked(stored([*HEADS, forged]))
    assert heads.fault is not None
    assert heads.fault.startswith(f"heads/000000000004: signed with the key {MALLORY.public.key_id}, which is none")
    assert heads.newest == HEADS[2]
    assert [one.fault for one in found] == [None, None]


def test_a_head_with_an_altered_byte_is_named() -> None:
    lying = stored(HEADS)
    lying[1] = replace(lying[1], data=lying[1].data.replace(b'"r-d1-2"', b'"r-d1-3"'))
    assert faults(lying) == ("heads/000000000002: the signature does not hold", [None, None])
    lying[1] = replace(lying[1], data=b"{}")
    assert faults(lying)[0] == "heads/000000000002: the bytes are not those of a head"


def test_a_head_that_was_signed_on_another_branch_is_named() -> None:
    """Both are signed, as when heads were taken away and signing went on from the one before."""
    branch = signed(HEADS[1], entry(3), entry(1, "d2"))
    again = signed(HEADS[2], entry(5), entry(1, "d2"))
    fault, _ = faults(stored([*HEADS[:2], branch, again]))
    assert fault == "heads/000000000004: the link to the head before it is broken"


def test_another_users_heads_are_named() -> None:
    other = signed(None, entry(1), scope=UserScope("t1", "u2"))
    assert faults(stored([other]))[0] == "heads/000000000001: the head belongs elsewhere"


@pytest.mark.parametrize("last", [0, 1, 2, 3])
def test_a_cut_end_is_named_by_the_first_change_that_is_missing(last: int) -> None:
    _, [one, two] = faults(stored(HEADS), [history(1, last), HISTORIES[1]])
    assert one.startswith(f"d1-{last + 1:012d}: the record is missing: head ")
    assert two is None


def test_a_document_of_which_nothing_is_left_is_named() -> None:
    heads, found = checked(stored(HEADS), [HISTORIES[0]])
    assert heads.fault is None
    assert [(one.doc_id, one.key and one.key.path, one.changes) for one in found] == [
        ("d1", "d1.json", 5),
        ("d2", "d2.json", 0),
    ]
    assert found[1].fault is not None
    assert found[1].fault.startswith("d2-000000000001: head 2 has the document")


def test_a_rewritten_history_is_reported_at_the_first_checkpoint_that_it_contradicts() -> None:
    versions = [version(n) if n == 1 else replace(version(n), record_hash=f"new-{n}") for n in range(1, 6)]
    _, [one, _] = faults(stored(HEADS), [with_versions(HISTORIES[0], versions), HISTORIES[1]])
    assert one == "d1-000000000002: the history is not the one of head 2, which has another record there"


def test_a_fault_of_the_history_itself_comes_first() -> None:
    broken = history(1, 1, fault="d1-000000000002: altered")
    assert faults(stored(HEADS), [broken, HISTORIES[1]]) == (None, ["d1-000000000002: altered", None])


def test_a_copy_of_a_document_elsewhere_does_not_hide_it() -> None:
    copy = replace(history(1, 1), key=DocumentKey(SCOPE, "projects", "copy.json"), fault="it speaks of another")
    for histories in ([copy, *HISTORIES], [*HISTORIES, copy]):
        assert sorted(map(str, faults(stored(HEADS), histories)[1])) == ["None", "None", "it speaks of another"]


def test_heads_from_before_a_baseline_are_checked_by_their_signature_alone() -> None:
    """The history begins at change 3; heads 1 and 2 speak of changes 1 and 2."""
    assert faults(stored(HEADS), [history(3, 5), HISTORIES[1]]) == (None, [None, None])
    lying = stored(HEADS)
    lying[0] = replace(lying[0], data=lying[0].data.replace(b'"r-d1-1"', b'"r-d1-9"'))
    assert faults(lying, [history(3, 5), HISTORIES[1]])[0] == "heads/000000000001: the signature does not hold"


def test_a_baseline_newer_than_the_newest_head_is_named() -> None:
    """Also where an older head has the very same of the document."""
    heads = chain((entry(1),), (entry(1), entry(1, "d2")))
    fault, [one, two] = faults(stored(heads), [history(2, 5), HISTORIES[1]])
    assert (fault, two) == (None, None)
    assert one == (
        "d1-000000000002: the history begins here, and head 2, the newest, has the document up to d1-000000000001"
    )


def test_without_a_key_the_rest_is_checked_and_the_report_says_so() -> None:
    heads, _ = checked(stored(HEADS), public_keys=None)
    assert (heads.is_checked, heads.fault, heads.newest) == (False, None, HEADS[2])
    _, [one, _] = faults(stored(HEADS), [history(1, 3), HISTORIES[1]], public_keys=None)
    assert one is not None
    assert faults(stored(HEADS[1:]), public_keys=None)[0] == "heads/000000000001: the head is missing"


def test_a_head_that_was_kept_elsewhere_shows_what_was_rolled_back_with_the_heads() -> None:
    kept = HEADS[2].data
    assert faults(stored(HEADS), expected=kept) == (None, [None, None])
    fault, [one, two] = faults(stored(HEADS[:2]), [history(1, 2), HISTORIES[1]], expected=kept)
    assert fault == "heads/000000000003: the head is missing, and was kept elsewhere"
    assert one.startswith("d1-000000000003: the record is missing")
    assert two is None
    everything, [first, second] = faults([], [], expected=kept)
    assert everything == fault
    assert (first[:15], second[:15]) == ("d1-000000000001", "d2-000000000001")


def test_another_head_in_the_place_of_the_one_that_was_kept_is_named() -> None:
    branch = [*HEADS[:2], signed(HEADS[1], entry(3), entry(1, "d2"))]
    fault, _ = faults(stored(branch), expected=HEADS[2].data)
    assert fault == "heads/000000000003: the head is not the one that was kept elsewhere"


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (b"nonsense", "the bytes are not those of a head"),
        (signed(None, entry(1), scope=UserScope("t1", "u2")).data, "the head belongs elsewhere"),
        (signed(None, entry(1), key=MALLORY).data, f"signed with the key {MALLORY.public.key_id}, which is none"),
        (HEADS[0].data.replace(b'"r-d1-1"', b'"r-d1-2"'), "the signature does not hold"),
    ],
)
def test_a_head_that_was_kept_and_does_not_hold_proves_nothing(kept: bytes, reason: str) -> None:
    fault, found = faults(stored(HEADS), expected=kept)
    assert fault is not None
    assert fault.startswith(f"the head that was kept elsewhere: {reason}")
    assert found == [None, None]
