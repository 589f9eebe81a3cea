"""Which texts have the same words: what may be at another place, and what looks as if it added nothing."""

import pytest

from memnet.domain.upkeep.same_words import differ_in_order, say_the_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user lives in Lisbon.", "In Lisbon, the user lives."),
        ("Ana is the user's sister.", "The user's sister is Ana"),
        ("The user is employed by Siemens.", "The user works for Siemens."),
        ("The user does not eat meat.", "The user doesn't eat meat."),
        ("The user takes vitamin A. A doctor said so.", "The user takes the vitamin A. The doctor said so."),
    ],
)
def test_the_same_words_say_the_same(one: str, other: str) -> None:
    assert say_the_same(one, other)
    assert say_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user takes vitamin A.", "The user takes vitamin."),
        ("The user takes vitamin a.", "The user takes vitamin."),
        ("The user wears size S.", "The user wears size has."),
        ("The user is paid weekly.", "The user paid weekly."),
        ("The user is invited.", "The user invited."),
        ("Only the user eats meat.", "The user eats meat only."),
        ("Not tea but coffee.", "Tea but coffee not."),
        ("Milk yes, sugar no.", "No milk, yes sugar."),
        ("Dogs liked, cats feared.", "Feared dogs, liked cats."),
        ("Dogs liked, cats feared.", "Feared dogs liked cats."),
        ("The temperature is \N{EN DASH}5.", "The temperature is 5."),
        ("The user has a few friends.", "The user has few friends."),
    ],
)
def test_nearly_the_same_words_do_not(one: str, other: str) -> None:
    assert not say_the_same(one, other)
    assert not say_the_same(other, one)


def test_only_another_order_is_named_as_one() -> None:
    assert differ_in_order("Ana owes Tom.", "Tom owes Ana.")
    # A model may judge whether the end of one is the beginning of the other.
    assert not differ_in_order("The user does not drink coffee.", "Coffee the user does not drink.")
