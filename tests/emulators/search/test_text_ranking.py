"""BM25 against numbers worked out by hand, and what matches with which score."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emulators.search.engine import index_of, keys, put, run, scores

TEXT = [{"name": "text", "type": "Edm.String"}]
TITLED = [{"name": "title", "type": "Edm.String"}, *TEXT]


def test_bm25_by_hand() -> None:
    """Three documents of 2, 3 and 5 words: average 10/3. "boat" occurs in two of them, once and twice."""
    index = index_of(
        TEXT,
        [
            {"id": "one", "text": "boat trip"},
            {"id": "two", "text": "boat boat sinks"},
            {"id": "three", "text": "nothing to see at all"},
        ],
    )
    weight = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert weight == pytest.approx(0.4700036292)
    found = scores(index, search="boat")
    assert found == {
        "two": pytest.approx(weight * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / (10 / 3)))),
        "one": pytest.approx(weight * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / (10 / 3)))),
    }
    assert found["one"] == pytest.approx(0.56196, abs=1e-5)
    assert found["two"] == pytest.approx(0.66496, abs=1e-5)


def test_terms_and_fields_add_up() -> None:
    index = index_of(TITLED, [{"id": "a", "title": "boat", "text": "red boat"}, {"id": "b", "text": "red car"}])
    both = scores(index, search="red boat")
    assert both["a"] == pytest.approx(
        scores(index, search="red")["a"]
        + scores(index, search="boat", searchFields="title")["a"]
        + scores(index, search="boat", searchFields="text")["a"]
    )
    assert list(both) == ["a", "b"]


def test_a_document_without_the_field_counts_for_nothing_in_it() -> None:
    """N is the documents that have the field, as in Lucene."""
    one = index_of(TITLED, [{"id": "a", "title": "boat"}])
    more = index_of(TITLED, [{"id": "a", "title": "boat"}, {"id": "b", "text": "car"}, {"id": "c", "title": ""}])
    assert scores(one, search="boat") == scores(more, search="boat")


def test_deleted_and_replaced_documents_leave_the_statistics() -> None:
    fresh = index_of(TEXT, [{"id": "a", "text": "boat trip"}, {"id": "c", "text": "car"}])
    worn = index_of(TEXT, [{"id": "a", "text": "boat boat boat boat"}, {"id": "b", "text": "boat"}])
    worn.delete("b")
    put(worn, {"id": "a", "text": "boat trip"})
    put(worn, {"id": "c", "text": "car"})
    assert scores(worn, search="boat") == scores(fresh, search="boat")


def test_unused_rows_are_swept_out_without_a_trace() -> None:
    index = index_of(TEXT, [{"id": "a", "text": "boat trip"}])
    for turn in range(2500):
        put(index, {"id": "b", "text": f"car number {turn}"})
    assert index.rows < 1100
    assert keys(index, search="*") == ["a", "b"]
    assert keys(index, search="2499") == ["b"]
    assert keys(index, search="2498") == []


def test_phrase_scores_as_one_rare_term() -> None:
    index = index_of(TEXT, [{"id": "a", "text": "red boat red boat"}, {"id": "b", "text": "boat red car van"}])
    red, boat = math.log(1 + 0.5 / 2.5), math.log(1 + 0.5 / 2.5)
    found = scores(index, search='"red boat"')
    assert found == {"a": pytest.approx((red + boat) * 2 * 2.2 / (2 + 1.2))}


def test_a_phrase_needs_its_words_side_by_side_and_in_order() -> None:
    index = index_of(TEXT, [{"id": "a", "text": "big red boat"}, {"id": "b", "text": "red big boat"}])
    assert keys(index, search='"red boat"') == ["a"]
    assert keys(index, search='"boat red"') == []
    assert keys(index, search='"RED, boat!"') == ["a"]
    assert keys(index, search='"red unknown"') == []


def test_a_phrase_does_not_cross_the_values_of_a_collection() -> None:
    fields = [{"name": "tags", "type": "Collection(Edm.String)"}]
    index = index_of(fields, [{"id": "a", "tags": ["red boat", "car"]}, {"id": "b", "tags": ["red", "boat"]}])
    assert keys(index, search='"red boat"') == ["a"]
    assert sorted(keys(index, search="+red +boat")) == ["a", "b"]


def test_a_prefix_has_score_one_in_however_many_fields() -> None:
    index = index_of(TITLED, [{"id": "a", "title": "Lingua", "text": "linguist"}, {"id": "b", "text": "linen"}])
    assert scores(index, search="LINGU*") == {"a": 1.0}
    assert scores(index, search="lin*") == {"a": 1.0, "b": 1.0}


def test_everything_has_score_one() -> None:
    index = index_of(TEXT, [{"id": "a", "text": "x"}, {"id": "b"}])
    for text in ("*", "", None):
        assert scores(index, search=text) == {"a": 1.0, "b": 1.0}


def test_not_with_any_and_with_all() -> None:
    """Under `any`, -ocean is one more alternative: it brings in every document without the word."""
    documents = [{"id": "p", "text": "pool"}, {"id": "o", "text": "ocean"}, {"id": "po", "text": "pool ocean"}]
    index = index_of(TEXT, [*documents, {"id": "n", "text": "none"}])
    assert set(keys(index, search="pool -ocean", searchMode="any")) == {"p", "po", "n"}
    assert set(keys(index, search="pool -ocean", searchMode="all")) == {"p"}
    assert set(keys(index, search="-ocean")) == {"p", "n"}


def test_search_mode_joins_what_analysis_splits() -> None:
    index = index_of(TEXT, [{"id": "a", "text": "wi fi"}, {"id": "b", "text": "wi only"}])
    assert set(keys(index, search="wi-fi", searchMode="any")) == {"a", "b"}
    assert set(keys(index, search="wi-fi", searchMode="all")) == {"a"}


def test_all_words_may_come_from_different_fields() -> None:
    index = index_of(TITLED, [{"id": "a", "title": "red", "text": "boat"}])
    assert keys(index, search="red boat", searchMode="all") == ["a"]
    assert keys(index, search="red boat", searchMode="all", searchFields="text") == []


def test_equal_scores_stay_in_order_of_arrival() -> None:
    index = index_of(TEXT, [{"id": key, "text": "same"} for key in "dbca"])
    assert keys(index, search="same") == list("dbca")
    put(index, {"id": "d", "text": "same"})
    assert keys(index, search="same") == list("bcad")
    assert keys(index, search="same", top=2, skip=1) == list("ca")


@given(st.text(alphabet=st.sampled_from('ab é東"+|-()*\\ .\t\x00'), max_size=30), st.sampled_from(["any", "all"]))
def test_any_text_can_be_searched(text: str, mode: str) -> None:
    """Whatever is typed, each hit is one of the documents, once, with a score that is a number."""
    documents = [{"id": key, "text": value} for key, value in (("1", "a b é."), ("2", "ab 東 a! b"), ("3", None))]
    found = run(index_of(TEXT, documents), search=text, searchMode=mode)
    ids = [hit.fields["id"] for hit in found.hits]
    assert len(set(ids)) == len(ids) == found.count
    assert set(ids) <= {"1", "2", "3"}
    assert all(hit.score > 0 for hit in found.hits)
