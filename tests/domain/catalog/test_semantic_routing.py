"""What words leave open, meaning settles: only where it is asked, only above its thresholds, and always explained."""

import pytest

from memnet.domain.catalog.profile import RoutingRules
from memnet.domain.context.routing import (
    MAX_CANDIDATES,
    MAX_DESCRIBED,
    MAX_LISTED,
    Meaning,
    Route,
    RoutingReason,
    candidates,
    disambiguate,
    read_entries,
    route,
)

RULES = RoutingRules(
    source_binding="s",
    entries="/index",
    id_field="id",
    alias_fields=("aliases",),
    keyword_fields=("keywords",),
    description_fields=("about",),
    semantic_threshold=0.2,
    semantic_margin=0.1,
)
OPEN = RULES.model_copy(update={"semantic_when_unmatched": 0.4})
INDEX = {
    "index": [
        {"id": "alpha", "aliases": ["Apollo"], "keywords": ["retrieval"], "about": "Makes the search faster."},
        {"id": "beta", "aliases": ["Borealis"], "keywords": ["retrieval", "billing"], "about": ["Moves", "invoices"]},
        {"id": "gamma"},
    ]
}
ENTRIES = read_entries(INDEX, RULES)
AMBIGUOUS = route("retrieval is slow", ENTRIES, RULES)
UNMATCHED = route("how are you", ENTRIES, RULES)


def test_the_rivals_and_no_others_are_compared() -> None:
    assert AMBIGUOUS.reason is RoutingReason.AMBIGUOUS
    assert candidates(AMBIGUOUS, ENTRIES, RULES) == {
        "alpha": "alpha, Apollo, retrieval. Makes the search faster.",
        "beta": "beta, Borealis, retrieval, billing. Moves. invoices",
    }


@pytest.mark.parametrize("text", ["Apollo", "billing", ""])
def test_what_words_decide_or_nothing_is_said_of_is_not_compared(text: str) -> None:
    assert candidates(route(text, ENTRIES, OPEN), ENTRIES, OPEN) == {}


def test_everything_is_compared_when_nothing_matched_only_if_the_profile_says_so() -> None:
    assert candidates(UNMATCHED, ENTRIES, RULES) == {}
    assert list(candidates(UNMATCHED, ENTRIES, OPEN)) == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize(("count", "asked"), [(MAX_CANDIDATES, MAX_CANDIDATES), (MAX_CANDIDATES + 1, 0)])
def test_too_many_entries_are_not_compared(count: int, asked: int) -> None:
    entries = read_entries({"index": [{"id": f"e{n}"} for n in range(count)]}, OPEN)
    assert len(candidates(UNMATCHED, entries, OPEN)) == asked


def test_an_id_with_several_entries_is_one_candidate_of_bounded_length() -> None:
    rows = [{"id": "alpha", "about": "one"}, {"id": "alpha", "about": "two"}, {"id": "long", "about": "x" * 9_999}]
    asked = candidates(UNMATCHED, read_entries({"index": rows}, OPEN), OPEN)
    assert asked["alpha"] == "alpha. one\nalpha. two"
    assert len(asked["long"]) == MAX_DESCRIBED


@pytest.mark.parametrize(
    ("scores", "chosen", "meaning"),
    [
        ((0.2, 0.7), "beta", Meaning.DECIDED),
        ((0.2, 0.1), "alpha", Meaning.DECIDED),
        ((0.19, 0.0), None, Meaning.BELOW_THRESHOLD),
        ((0.6, 0.51), None, Meaning.TOO_CLOSE),
        ((0.6, 0.5), "alpha", Meaning.DECIDED),
        ((0.6, 0.6), None, Meaning.TOO_CLOSE),
    ],
)
def test_thresholds_of_an_ambiguity(scores: tuple[float, float], chosen: str | None, meaning: Meaning) -> None:
    found = disambiguate(AMBIGUOUS, ["alpha", "beta"], scores, RULES)
    assert (found.id, found.meaning, found.semantic_score) == (chosen, meaning, max(scores))
    assert found.reason is (RoutingReason.SEMANTIC if chosen else RoutingReason.AMBIGUOUS)
    assert found.deterministic_score == AMBIGUOUS.deterministic_score


def test_a_tie_is_no_decision_even_without_a_margin() -> None:
    lax = RULES.model_copy(update={"semantic_margin": 0.0})
    assert disambiguate(AMBIGUOUS, ["alpha", "beta"], (0.6, 0.6), lax).meaning is Meaning.TOO_CLOSE
    assert disambiguate(AMBIGUOUS, ["alpha", "beta"], (0.6, 0.59), lax).id == "alpha"


def test_more_is_needed_when_nothing_matched() -> None:
    asked = ["alpha", "beta", "gamma"]
    below = disambiguate(UNMATCHED, asked, (0.0, 0.39, 0.0), OPEN)
    assert (below.id, below.reason, below.meaning) == (None, RoutingReason.NO_MATCH, Meaning.BELOW_THRESHOLD)
    assert disambiguate(UNMATCHED, asked, (0.0, 0.4, 0.0), OPEN).id == "beta"


def test_without_a_ranking_only_the_report_differs() -> None:
    found = disambiguate(AMBIGUOUS, ["alpha", "beta"], None, RULES)
    assert (found.id, found.reason, found.semantic_score) == (None, RoutingReason.AMBIGUOUS, None)
    assert found.debug()["semantic"] == {"outcome": "unavailable", "scores": {}}


def test_the_report_of_a_decision() -> None:
    found = disambiguate(AMBIGUOUS, ["alpha", "beta"], (0.3, 0.7), RULES)
    assert found.debug() == {
        "deterministic_score": 0.5,
        "semantic_score": 0.7,
        "reason": "semantic_match",
        "candidates": ["alpha", "beta"],
        "semantic": {"outcome": "decided", "scores": {"beta": 0.7, "alpha": 0.3}},
    }
    assert "semantic" not in Route(None, RoutingReason.NO_MATCH).debug()


def test_only_the_best_candidates_are_reported() -> None:
    asked = [f"e{n}" for n in range(MAX_LISTED + 3)]
    found = disambiguate(UNMATCHED, asked, [n / 100 for n in range(len(asked))], OPEN)
    assert list(found.debug()["semantic"]["scores"]) == asked[::-1][:MAX_LISTED]
