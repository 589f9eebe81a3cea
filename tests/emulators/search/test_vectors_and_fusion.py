"""Vector scores and reciprocal rank fusion, against numbers worked out by hand."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.emulators.search.errors import SearchError
from tests.emulators.search.engine import index_of, keys, put, run, scores

VECTOR = {"type": "Collection(Edm.Single)", "dimensions": 2, "vectorSearchProfile": "p"}
SEARCH = {
    "algorithms": [{"name": "a", "kind": "exhaustiveKnn", "exhaustiveKnnParameters": {"metric": "cosine"}}],
    "profiles": [{"name": "p", "algorithm": "a"}],
}
FIELDS: list[dict[str, Any]] = [
    {"name": "text", "type": "Edm.String"},
    {"name": "group", "type": "Edm.String", "searchable": False},
    {"name": "v", **VECTOR},
    {"name": "w", **VECTOR},
]
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "east", "text": "sun", "group": "x", "v": [1, 0], "w": [0, 1]},
    {"id": "northeast", "text": "sun moon", "group": "y", "v": [2, 2]},
    {"id": "north", "text": "moon moon", "group": "y", "v": [0, 3], "w": [1, 0]},
    {"id": "west", "text": "star", "group": "x", "v": [-1, 0]},
    {"id": "bare", "text": "moon", "group": "x"},
]


def vector_search(*queries: dict[str, Any], **body: Any) -> dict[str, Any]:
    return {"vectorQueries": [{"kind": "vector", **query} for query in queries], **body}


index = index_of(FIELDS, DOCUMENTS, vectorSearch=SEARCH)


def test_cosine_score() -> None:
    """1 / (1 + (1 - cosine)): 1 for the same direction, 0.5 for a right angle, 1/3 for the opposite."""
    found = scores(index, **vector_search({"vector": [5, 0], "fields": "v"}))
    assert found == {
        "east": 1.0,
        "northeast": pytest.approx(1 / (2 - math.sqrt(0.5)), abs=1e-6),
        "north": 0.5,
        "west": pytest.approx(1 / 3, abs=1e-6),
    }
    assert list(found) == ["east", "northeast", "north", "west"]


def test_k_limits_what_is_found_and_counted() -> None:
    found = run(index, **vector_search({"vector": [1, 0], "fields": "v", "k": 2}), count=True)
    assert [hit.fields["id"] for hit in found.hits] == ["east", "northeast"]
    assert found.count == 2


def test_the_filter_comes_before() -> None:
    query = {"vector": [1, 0], "fields": "v", "k": 2}
    assert keys(index, **vector_search(query, filter="group eq 'y'")) == ["northeast", "north"]


def test_two_vector_fields_are_fused_by_hand() -> None:
    """v ranks east, northeast, north, west; w ranks north, east; rank counts from 0."""
    found = scores(index, **vector_search({"vector": [1, 0], "fields": "v,w"}))
    assert found == {
        "east": pytest.approx(1 / 60 + 1 / 61),
        "north": pytest.approx(1 / 62 + 1 / 60),
        "northeast": pytest.approx(1 / 61),
        "west": pytest.approx(1 / 63),
    }
    assert list(found) == ["east", "north", "northeast", "west"]


def test_hybrid_by_hand() -> None:
    """Text "moon" ranks north (twice), then bare (shorter), then northeast; v ranks from the top."""
    assert keys(index, search="moon") == ["north", "bare", "northeast"]
    found = scores(index, **vector_search({"vector": [1, 0], "fields": "v", "k": 2, "weight": 3.0}, search="moon"))
    assert found == {
        "northeast": pytest.approx(1 / 62 + 3 / 61),
        "east": pytest.approx(3 / 60),
        "north": pytest.approx(1 / 60),
        "bare": pytest.approx(1 / 61),
    }
    assert list(found) == ["northeast", "east", "north", "bare"]


def test_a_hybrid_filter_holds_for_both_sides() -> None:
    body = vector_search({"vector": [1, 0], "fields": "v", "k": 4}, search="moon", filter="group eq 'x'")
    assert set(keys(index, **body)) == {"east", "west", "bare"}


def test_order_by_reorders_what_was_fused() -> None:
    body = vector_search({"vector": [1, 0], "fields": "v", "k": 2}, search="star", orderby="text desc")
    assert keys(index, **body) == ["northeast", "east", "west"]


def test_text_takes_part_with_a_thousand_hits() -> None:
    many = index_of(FIELDS, [{"id": f"d{number}", "text": "same"} for number in range(1100)], vectorSearch=SEARCH)
    put(many, {"id": "vector", "v": [1, 0]})
    found = run(many, **vector_search({"vector": [1, 0], "fields": "v"}, search="same"), top=0)
    assert found.count == 1001


def test_a_replaced_or_deleted_vector_is_gone() -> None:
    changing = index_of(FIELDS, DOCUMENTS, vectorSearch=SEARCH)
    put(changing, {"id": "east", "v": [0, 1]})
    put(changing, {"id": "northeast", "text": "no vector now"})
    changing.delete("north")
    assert keys(changing, **vector_search({"vector": [1, 0], "fields": "v"})) == ["east", "west"]


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)).filter(any), min_size=1, max_size=30))
def test_nearest_agrees_with_plain_python(vectors: list[tuple[int, int]]) -> None:
    found = index_of(
        FIELDS, [{"id": f"d{number}", "v": list(vector)} for number, vector in enumerate(vectors)], vectorSearch=SEARCH
    )

    def cosine(vector: tuple[int, int]) -> float:
        return round((2 * vector[0] + vector[1]) / math.hypot(*vector) / math.hypot(2, 1), 5)

    expected = sorted(range(len(vectors)), key=lambda number: -cosine(vectors[number]))
    got = keys(found, **vector_search({"vector": [2, 1], "fields": "v", "k": 30}))
    assert [cosine(vectors[int(key[1:])]) for key in got] == [cosine(vectors[number]) for number in expected]


@pytest.mark.parametrize(
    "query",
    [
        {"vector": [1, 0]},
        {"vector": [1, 0], "fields": "text"},
        {"vector": [1, 0, 0], "fields": "v"},
        {"vector": [0, 0], "fields": "v"},
        {"vector": [1e39, 0], "fields": "v"},
        {"vector": [1, 0], "fields": "v", "k": 0},
        {"vector": [1, 0], "fields": "v", "k": 10_001},
        {"vector": [1, 0], "fields": "v", "weight": 0},
        {"vector": [1, 0], "fields": "v", "kind": "magic"},
        {"vector": [1, 0], "fields": ",".join(["v"] * 11)},
    ],
)
def test_wrong_vector_queries_are_400(query: dict[str, Any]) -> None:
    with pytest.raises(SearchError) as caught:
        run(index, **vector_search(query))
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "query",
    [
        {"kind": "text", "text": "sun", "fields": "v"},
        {"vector": [1, 0], "fields": "v", "oversampling": 2.0},
    ],
)
def test_lacking_vector_queries_are_501(query: dict[str, Any]) -> None:
    with pytest.raises(SearchError) as caught:
        run(index, **vector_search(query))
    assert caught.value.status == 501
