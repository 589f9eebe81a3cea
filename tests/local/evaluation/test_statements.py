"""The pairs of statements that ship: what becomes one, and what a model is asked."""

import pytest

from local.evaluation.statements import ABOVE, SAME, Pair, becomes_one, embedded, joined, near, read_pairs

PAIRS = read_pairs()
ANYTHING_IS_NEAR = {text: [1.0] for pair in PAIRS for text, _, _ in (pair.one, pair.other)}
CLOSED_CLASSES = ("number", "date", "unit", "denial", "opposite", "order")
"""How statements differ by words that can be listed."""


def test_the_pairs_are_of_both_languages_and_of_every_kind() -> None:
    kinds = {pair.kind for pair in PAIRS}
    assert kinds == {SAME, "name", "mood", "other", "more", *CLOSED_CLASSES}
    for kind in kinds:
        assert {pair.language for pair in PAIRS if pair.kind == kind} >= {"en", "de"}
    assert len({(pair.one, pair.other) for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("pair", [one for one in PAIRS if not one.says_the_same], ids=lambda one: one.other[0])
def test_what_says_something_else_never_becomes_one_however_near_it_is(pair: Pair) -> None:
    assert not becomes_one(pair, 0.85, ANYTHING_IS_NEAR)
    assert not becomes_one(pair, 0.01, None)


@pytest.mark.parametrize("kind", CLOSED_CLASSES)
def test_a_model_is_not_asked_about_what_differs_by_a_listed_word(kind: str) -> None:
    pairs = [pair for pair in PAIRS if pair.kind == kind]
    assert pairs
    assert [pair for pair in pairs if becomes_one(pair, 0.85, ANYTHING_IS_NEAR, is_judged=True)] == []


async def test_the_table_of_the_page() -> None:
    """The figures of docs/upkeep.md, for the embedder of `local`."""
    vectors = await embedded(PAIRS, "local")
    for above in ABOVE:
        alone, asked = joined(PAIRS, above, vectors), joined(PAIRS, above, vectors, is_judged=True)
        assert (alone.wrong, alone.recall >= 0.15) == (0, True)
        assert asked.wrong <= 11
        assert asked.recall >= 0.4
        assert near(PAIRS, above, vectors).wrong > 40
