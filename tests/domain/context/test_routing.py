"""Routing by names and keywords: what is meant is found, what is unsure is not chosen, nothing crashes it."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.catalog.profile import RoutingRules
from memnet.domain.context.routing import MAX_TEXT, Route, RoutingReason, read_entries, route
from memnet.domain.core.text import fold

RULES = RoutingRules(
    source_binding="s", entries="/index", id_field="id", alias_fields=("aliases", "name"), keyword_fields=("keywords",)
)


def index(*rows: Any) -> list[Any]:
    return read_entries({"index": list(rows)}, RULES)


ENTRIES = index(
    {"id": "project-alpha", "aliases": ["Alpha", "the Alpha Centauri app"], "keywords": ["retrieval", "vector search"]},
    {"id": "beta", "aliases": ["Beta Stra\u00dfe"], "keywords": ["retrieval", "billing", "invoice"]},
    {"id": "project-alpha-mobile", "aliases": ["Alpha Mobile"], "keywords": ["app store"]},
    {"id": "cafe", "name": "Caf\u00e9 No\u00ebl", "keywords": "espresso"},
    {"id": "tokyo", "aliases": ["東京", "도쿄"]},
)


@pytest.mark.parametrize(
    ("text", "chosen", "reason"),
    [
        ("Help with alpha please", "project-alpha", RoutingReason.ALIAS),
        ("ALPHA!", "project-alpha", RoutingReason.ALIAS),
        ("re:alpha-latency", "project-alpha", RoutingReason.ALIAS),
        ("project_alpha is slow", "project-alpha", RoutingReason.ALIAS),
        ("project-alpha", "project-alpha", RoutingReason.ALIAS),
        ("the alpha mobile build", "project-alpha-mobile", RoutingReason.ALIAS),
        ("beta strasse", "beta", RoutingReason.ALIAS),
        ("Cafe\u0301 Noe\u0308l", "cafe", RoutingReason.ALIAS),
        ("\uff23\uff21\uff26\uff25 noel", "cafe", RoutingReason.ALIAS),
        ("\U0001d400lpha", "project-alpha", RoutingReason.ALIAS),
        ("billing of an invoice", "beta", RoutingReason.KEYWORD),
        ("retrieval and billing", "beta", RoutingReason.KEYWORD),
        ("\u6771\u4eac !", "tokyo", RoutingReason.ALIAS),
        ("beta, though it is about retrieval with vector search", "beta", RoutingReason.ALIAS),
    ],
)
def test_chosen(text: Any, chosen: Any, reason: Any) -> None:
    decision = route(text, ENTRIES, RULES)
    assert (decision.id, decision.reason) == (chosen, reason)
    assert 0.5 <= decision.deterministic_score < 1


@pytest.mark.parametrize(
    "text",
    [
        "alphabet",
        "analpha",
        "alpha1",
        "vector of a search",
        "app",
        "hello",
        "\u6771\u4eac\u306e\u4ef6",
        "alp\u200bha",
    ],
)
def test_no_match(text: Any) -> None:
    decision = route(text, ENTRIES, RULES)
    assert (decision.id, decision.reason, decision.deterministic_score) == (None, RoutingReason.NO_MATCH, 0.0)


@pytest.mark.parametrize(
    ("text", "rivals"),
    [
        ("retrieval", ("beta", "project-alpha")),
        ("alpha or cafe", ("cafe", "project-alpha")),
    ],
)
def test_ambiguous(text: Any, rivals: Any) -> None:
    decision = route(text, ENTRIES, RULES)
    assert (decision.id, decision.reason, decision.candidates) == (None, RoutingReason.AMBIGUOUS, rivals)
    assert decision.debug()["candidates"] == list(rivals)


@pytest.mark.parametrize("text", ["", " \n", "!?", "_ - _", "\u200b", "\U0001f600", "\u0301"])
def test_no_text(text: Any) -> None:
    assert route(text, ENTRIES, RULES).reason is RoutingReason.NO_TEXT


def test_below_the_least_score_nothing_is_chosen() -> None:
    strict = RULES.model_copy(update={"min_score": 0.6})
    assert route("espresso", ENTRIES, strict) == Route(None, RoutingReason.NO_MATCH, 0.5)
    assert route("alpha", ENTRIES, strict).id == "project-alpha"


def test_an_id_with_several_entries_is_found_by_each_of_them() -> None:
    entries = index({"id": "x", "aliases": ["one"]}, {"id": "x", "aliases": ["two"]}, {"id": "y", "keywords": ["two"]})
    assert route("one", entries, RULES).id == "x"
    assert route("two", entries, RULES).id == "x"
    assert route("one two", entries, RULES).id == "x"


def test_a_keyword_said_twice_counts_once_and_many_keywords_less_than_a_name() -> None:
    words = [f"word{n}" for n in range(20)]
    twin = {"id": "c", "keywords": ["twin", "Twin"]}
    entries = index({"id": "a", "keywords": words}, {"id": "b", "aliases": ["named"]}, twin)
    assert route("twin twin", entries, RULES).deterministic_score == 0.5
    assert route(" ".join(words), entries, RULES).deterministic_score == 0.8
    assert route(" ".join([*words, "named"]), entries, RULES).id == "b"


def test_very_long_names_stay_below_certainty() -> None:
    name = " ".join(f"w{n}" for n in range(40))
    assert route(name, index({"id": "a", "aliases": [name]}), RULES).deterministic_score == 0.99


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"index": {"id": "a"}},
        {"index": [None, 5, "a", [], {}]},
        {
            "index": [
                {"id": None},
                {"id": 5},
                {"id": ""},
                {"id": "../x"},
                {"id": "a/b"},
                {"id": "a\n"},
                {"id": "a" * 129},
            ]
        },
    ],
)
def test_what_is_no_entry_is_passed_over(content: Any) -> None:
    assert read_entries(content, RULES) == []


def test_names_of_any_shape_are_read() -> None:
    [entry] = index({"id": "a", "aliases": ["One", 5, None, {"x": 1}, "", "!"], "name": "Two", "keywords": {"no": 1}})
    assert entry.aliases == (("a",), ("one",), ("two",))
    assert entry.keywords == ()


def test_fold() -> None:
    assert fold("L'\u00c9t\u00e9_n\u00b02 \u2014 na\u00efve-test") == ("l", "ete", "n", "2", "naive", "test")
    assert fold("\u0130stanbul \ufb01ne \u212bngstr\u00f6m") == ("istanbul", "fine", "angstrom")


@given(st.text(), st.lists(st.text(), max_size=4))
def test_no_text_crashes_it_and_a_name_is_found_in_itself(text: Any, names: Any) -> None:
    entries = index({"id": "x", "aliases": names, "keywords": names})
    route(text, entries, RULES)
    for name in names:
        if fold(name):
            assert route(f"{text} {name}", entries, RULES).id == "x"


def test_a_longer_text_costs_no_more_than_the_longest_that_is_looked_at() -> None:
    entries = index(*({"id": f"p{n}", "aliases": [f"name {n} {m}" for m in range(20)]} for n in range(60)))
    for text in ["a " * 500_000, "name " * 200_000, "\u0301" * 1_000_000, "x" * 1_000_000]:
        assert held_at_most(text, entries) <= 1.2 * held_at_most(text[:MAX_TEXT], entries)


def held_at_most(text: Any, entries: Any) -> Any:
    """The most bytes that finding a route held at once."""
    tracemalloc.start()
    try:
        route(text, entries, RULES)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_said_beyond_the_limit_is_not_looked_at() -> None:
    assert route("x " * (MAX_TEXT // 2) + "alpha", ENTRIES, RULES).id is None
    assert route("alpha " + "x " * MAX_TEXT, ENTRIES, RULES).id == "project-alpha"


# Meaning settles what words do not.
