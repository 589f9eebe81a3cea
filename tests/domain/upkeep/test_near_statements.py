"""Which statements say the same in other words, and which only look like it."""

import math
from random import Random
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.upkeep.near_statements import Cluster, find_clusters, text_of_statement, texts_to_compare
from tests.domain.consolidation_samples import HOME, Consolidating, statement

RULE = Consolidating().rules.profile.upkeep_rules["b"][0]


def clusters(
    *facts: Any, above: float = 0.6, vectors: Any = None, protected: Any = (), is_judged: bool = False, **members: Any
) -> Any:
    rule = Consolidating(above=above, **members).rules.profile.upkeep_rules["b"][0]
    return find_clusters(facts, rule, set(protected), vectors, is_judged=is_judged)


def alike(one: Any, other: Any, **members: Any) -> bool:
    """Whether two statements become one, if their meaning is the same."""
    vectors = {one["text"]: [1.0, 0.0], other["text"]: [1.0, 0.0]}
    return bool(clusters(one, other, vectors=vectors, above=0.85, **members))


def test_the_surest_stays_then_the_newest_then_the_first_id() -> None:
    assert clusters(*HOME) == [Cluster(1, (2, 0))]
    equal = [{**entry, "confidence": 0.8} for entry in HOME]
    assert clusters(*equal) == [Cluster(2, (1, 0))]
    same_time = [{**entry, "evidence": {**entry["evidence"], "at": HOME[0]["valid_from"]}} for entry in equal]
    same_time = [{**entry, "valid_from": HOME[0]["valid_from"]} for entry in same_time]
    assert clusters(*same_time)[0].stays == 0


def test_each_is_near_the_one_that_stays_and_not_only_near_another() -> None:
    angles = {"a": 0.0, "b": 0.5, "c": 1.0}
    facts = [statement(name, f"Text {name} says x.", f"attribute {name}", "x") for name in angles]
    vectors = {f"Text {name} says x.": [math.cos(angle), math.sin(angle)] for name, angle in angles.items()}
    # b is near a, and c is near b but not near a.
    assert clusters(*facts, vectors=vectors, above=0.85, is_judged=True) == [Cluster(0, (1,))]


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_the_entries_makes_no_difference(seed: int) -> None:
    random = Random(seed)
    texts = ["The user lives in {}.", "The user resides in {}.", "{} is where the user lives.", "The user left {}."]
    facts = [
        statement(
            f"s{n}",
            random.choice(texts).format(random.choice(["Lisbon", "Lisbon, the old town of Lisbon"])),
            f"attribute {n}",
            "Lisbon",
            random.randint(1, 5),
            confidence=random.choice([0.7, 0.8, 0.9]),
        )
        for n in range(30)
    ]
    shuffled = random.sample(facts, len(facts))

    def named(entries: Any) -> Any:
        found = clusters(*entries, above=0.5)
        return [(entries[one.stays]["id"], [entries[place]["id"] for place in one.others]) for one in found]

    assert named(facts) == named(shuffled)
    assert named(facts)


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("The user likes green tea.", "favourite", "green tea"),
        ("Green tea is what the user likes.", "drink", "tea"),
        ("The user is fond of the green tea!", "taste", "green tea"),
    ],
)
def test_words_for_the_same_become_one(text: str, attribute: str, value: str) -> None:
    kept = statement("s1", "The user likes green tea.", "likes", "green tea", confidence=0.9)
    assert alike(kept, statement("s2", text, attribute, value))


@pytest.mark.parametrize(
    "text",
    [
        "The user really likes green tea a lot.",
        "The user grows green tea.",
        "The user liked green tea.",
        "The user likes green tea with milk.",
        "What the user likes most of all in the world is green tea.",
    ],
)
def test_other_words_are_asked_of_a_model_and_never_become_one_without_it(text: str) -> None:
    kept = statement("s1", "The user likes green tea.", "likes", "green tea", confidence=0.9)
    other = statement("s2", text, "favourite", "green tea")
    assert not alike(kept, other)
    assert alike(kept, other, is_judged=True) or "most" in text


def test_the_same_words_about_something_else_stay_open() -> None:
    """A text that says no more than its value is compared with what it is about."""
    lives = statement("s1", "Lisbon", "lives in", "Lisbon", confidence=0.9)
    born = statement("s2", "Lisbon.", "was born in", "Lisbon")
    assert text_of_statement(born, RULE) == "user was born in Lisbon"
    both = {text_of_statement(entry, RULE): [1.0] for entry in (lives, born)}
    assert clusters(lives, born, vectors=both, above=0.85) == []
    assert len(clusters(lives, born, vectors=both, above=0.85, is_judged=True)) == 1


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("The user does not like green tea.", "favourite", "green tea"),
        ("The user doesn't like green tea.", "favourite", "green tea"),
        ("The user never likes green tea.", "favourite", "green tea"),
        ("The user dislikes green tea.", "dislikes", "green tea"),
        ("The user stopped liking green tea.", "favourite", "green tea"),
        ("The user likes only green tea.", "favourite", "green tea"),
        ("Die Nutzerin mag keinen grünen Tee.", "favourite", "green tea"),
        ("The user likes black tea.", "favourite", "black tea"),
        ("The user likes green tea with milk.", "favourite", "green tea with milk"),
        ("The user likes 2 green teas.", "favourite", "green tea"),
        ("The friend of Ana likes green tea.", "favourite", "green tea"),
        ("Tom likes green tea.", "favourite", "green tea"),
        ("The user likes green tea.", "favourite", "green tea with milk"),
    ],
)
def test_what_denies_narrows_or_adds_stays_open(text: str, attribute: str, value: str) -> None:
    kept = statement("s1", "The user likes green tea.", "likes", "green tea", confidence=0.9)
    assert not alike(kept, statement("s2", text, attribute, value))
    assert alike(kept, statement("s2", text, attribute, value), is_judged=True) is False


@pytest.mark.parametrize(
    "members",
    [
        {"subject": "ana"},
        {"colour": "red"},
        {"attribute": "lives in"},
        {"valid_until": "2026-02-01T00:00:00.000000Z"},
        {"id": "s1"},
        {"id": None},
        {"claimed_by": "clm-2"},
        {"evidence": {"conversation_id": "c", "at": "2026-01-01T12:00:00.000000Z", "confirmed_by": "svc-bob"}},
        {"expires_at": "2027-01-01T00:00:00.000000Z"},
    ],
)
def test_what_differs_in_more_than_its_words_stays_open(members: dict[str, Any]) -> None:
    kept = {**HOME[0], "confidence": 0.9, "claimed_by": "clm-1"}
    other = {**HOME[2], "claimed_by": "clm-1"}
    assert alike(kept, other)
    changed = {name: value for name, value in {**other, **members}.items() if value is not None}
    assert not alike(kept, changed)


def test_different_claimants_stay_apart_where_a_statement_is_about_them() -> None:
    about = {"about": ["subject", "attribute", "claimed_by"], "claimed_by_field": "claimed_by"}
    one, other = {**HOME[0], "claimed_by": "clm-1"}, {**HOME[2], "claimed_by": "clm-2"}
    assert not alike(one, other, statements=about)
    assert alike(one, {**other, "claimed_by": "clm-1"}, statements=about)


def test_of_several_values_side_by_side_the_same_in_other_words_becomes_one() -> None:
    dog = statement("s1", "The user owns a brown dog.", "owns", "a brown dog", confidence=0.9)
    assert alike(dog, statement("s2", "A brown dog is what the user owns.", "owns", "brown dog"))
    assert not alike(dog, statement("s2", "The user owns a dog.", "owns", "a dog"))
    assert not alike(dog, statement("s2", "The user owns a brown cat.", "owns", "a brown cat"))


def test_an_entry_that_a_pending_item_touches_is_left_out() -> None:
    assert clusters(*HOME, protected=[canonical(HOME[1])]) == [Cluster(2, (0,))]


def test_only_statements_with_a_possible_counterpart_are_embedded() -> None:
    ana = statement("s9", "Ana is a doctor.", "job", "doctor", subject="ana")
    assert texts_to_compare([*HOME, ana], RULE, set()) == sorted(entry["text"] for entry in HOME)
    assert texts_to_compare([HOME[0], ana], RULE, set()) == []


def test_words_are_compared_without_embeddings() -> None:
    assert clusters(*HOME, above=0.75) == [Cluster(1, (2, 0))]
    tea = [statement(f"s{n}", f"The user likes {text}.", f"a{n}", "tea") for n, text in enumerate(["tea", "iced tea"])]
    assert clusters(*tea, above=0.75, is_judged=True)[0].others == (1,)
    assert clusters(*tea, above=0.8, is_judged=True) == []


def test_entries_that_are_no_statements_of_an_own_subject_are_left_out() -> None:
    odd = ["text", {"text": "The user lives in Lisbon."}, {**HOME[0], "subject": None}, {**HOME[2], "text": "!!!"}]
    assert clusters(*odd, HOME[1]) == []
