"""What a receipt explains: as much as it has removed, of what was there before it ended."""

from datetime import timedelta

import pytest

from memnet.domain.erasure_receipt import Receipt, Remainder, make_receipt, read_receipt
from memnet.domain.removal import DOCUMENTS, HEADS, Explanations, Gone
from memnet.domain.timestamps import from_text, to_text
from tests.domain.erasure_samples import KEY, THEN, erasure


def at(minutes: int) -> str:
    return to_text(from_text(THEN) + timedelta(minutes=minutes))


def receipt(name: str, began: int, ended: int, **removed: int) -> Receipt:
    """Of an erasure that a hold has stopped."""
    data = make_receipt(
        erasure(erasure_id=name, accepted_at=at(began), removed=removed),
        [Remainder("audit", 1, "legal_hold", "user")],
        finished_at=from_text(at(ended)),
        salt=name.ljust(32).encode(),
        key=KEY,
    )
    return read_receipt(data)


R1, R2 = receipt("r1", 100, 116, documents=2, heads=3), receipt("r2", 200, 216, documents=1)


@pytest.mark.parametrize(
    ("gone", "by"),
    [
        ({}, {}),
        ({"a": Gone(at(0))}, {"a": "r1"}),
        ({"a": Gone(at(0)), "b": Gone(at(116))}, {"a": "r1", "b": "r1"}),
        ({"a": Gone(at(117))}, {"a": "r2"}),
        ({"a": Gone(at(217))}, {}),
        ({"a": Gone(at(0)), "b": Gone(at(0)), "c": Gone(at(0))}, {"a": "r1", "b": "r1", "c": "r2"}),
        ({"a": Gone(at(150)), "b": Gone(at(0)), "c": Gone(at(0))}, {"a": "r2", "b": "r1", "c": "r1"}),
        # One more than was removed: nobody can tell which.
        ({"a": Gone(at(0)), "b": Gone(at(0)), "c": Gone(at(0)), "d": Gone(at(0))}, {}),
        ({"a": Gone(at(150)), "b": Gone(at(150))}, {}),
        # A head that was signed before the erasure has it no more.
        ({"a": Gone(at(0), at(99))}, {}),
        ({"a": Gone(at(0), at(100))}, {"a": "r1"}),
    ],
)
def test_documents(gone: dict[str, Gone], by: dict[str, str]) -> None:
    for receipts in ([R1, R2], [R2, R1]):
        assert Explanations(receipts).all_of(gone) == by


def test_what_was_not_explained_uses_nothing_up() -> None:
    explanations = Explanations([R1])
    assert explanations.all_of({name: Gone(at(0)) for name in "abc"}) == {}
    assert explanations.all_of({name: Gone(at(0)) for name in "ab"}) == {"a": "r1", "b": "r1"}
    assert explanations.all_of({"c": Gone(at(0))}) == {}


def test_an_erasure_that_removed_nothing_explains_nothing() -> None:
    explanations = Explanations([receipt("r0", 100, 100)])
    assert explanations.all_of({"a": Gone(at(0))}) == {}
    assert explanations.take(HEADS, Gone(at(0))) is None
    assert not explanations.could(HEADS, Gone(at(0)))


def test_kinds_are_counted_apart() -> None:
    explanations = Explanations([R1])
    assert explanations.take(HEADS, Gone(at(0)), 4) is None
    assert explanations.take(HEADS, Gone(at(0)), 3) == "r1"
    assert explanations.take(HEADS, Gone(at(0))) is None
    assert explanations.could(HEADS, Gone(at(0)))
    assert not explanations.could(HEADS, Gone(at(117)))
    assert explanations.take(DOCUMENTS, Gone(at(0)), 2) == "r1"


def test_several_erasures_explain_together_what_none_does_alone() -> None:
    """As of heads, which are taken from the oldest on: the first was stopped by a hold, and the second, too."""
    explanations = Explanations([R1, receipt("r3", 100, 160, heads=2)])
    assert explanations.take(HEADS, Gone(at(0)), 6) is None
    assert explanations.take(HEADS, Gone(at(0)), 5) == "r1, r3"
    assert explanations.take(HEADS, Gone(at(0))) is None
