"""Searches through the unchanged SDK."""

from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.search.documents import SearchClient
from azure.search.documents.models import VectorizedQuery

DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": "boat",
        "tenant_id": "t1",
        "title": "Red boat",
        "digest": "The boat sails away. It is red!\nA second boat; and a third boat.",
        "keywords": ["boat", "sea"],
        "count": 3,
        "confidence": 0.5,
        "done": True,
        "timestamp": "2024-01-01T00:00:00Z",
        "marks": [1, 2],
        "secret": "s1",
        "embedding": [1, 0, 0],
    },
    {
        "id": "car",
        "tenant_id": "t1",
        "title": "Blue car",
        "digest": "A car on a long, long road",
        "keywords": ["car", "road"],
        "count": 1,
        "confidence": 0.9,
        "done": False,
        "timestamp": "2024-02-01T00:00:00Z",
        "marks": [5],
        "embedding": [0, 1, 0],
    },
    {
        "id": "plane",
        "tenant_id": "t2",
        "title": "Red plane",
        "digest": "The plane flies over the sea",
        "keywords": ["plane", "sea"],
        "count": 3,
        "timestamp": "2024-03-01T00:00:00Z",
        "embedding": [0.9, 0.1, 0],
    },
    {"id": "empty"},
]


@pytest.fixture
def filled(client: SearchClient) -> SearchClient:
    client.upload_documents(DOCUMENTS)
    return client


def found(client: SearchClient, text: str | None = "*", **options: Any) -> list[str]:
    return [hit["id"] for hit in client.search(text, **options)]


def test_text(filled: SearchClient) -> None:
    assert set(found(filled, "red")) == {"boat", "plane"}
    assert found(filled, "red +boat") == ["boat"]
    assert set(found(filled, "pla* | car")) == {"plane", "car"}
    assert found(filled, "sea road", search_mode="all") == []
    assert found(filled, "sea", search_fields=["keywords"]) == ["boat", "plane"]
    assert found(filled, None) == ["boat", "car", "plane", "empty"]


def test_filters(filled: SearchClient) -> None:
    assert found(filled, filter="tenant_id eq 't1'") == ["boat", "car"]
    assert found(filled, filter="keywords/any(k: search.in(k, 'sea,road', ','))") == ["boat", "car", "plane"]
    assert found(filled, filter="secret eq 's1'") == ["boat"]


def test_order(filled: SearchClient) -> None:
    assert found(filled, order_by=["count desc", "title"]) == ["boat", "plane", "car", "empty"]
    assert found(filled, order_by=["count", "timestamp desc"]) == ["empty", "car", "plane", "boat"]
    assert found(filled, order_by=["title desc"]) == ["plane", "boat", "car", "empty"]
    assert found(filled, "boat red", order_by=["search.score()"]) == ["plane", "boat"]
    assert found(filled, "boat red", order_by=["count"]) == ["boat", "plane"], "equals go by score"


def test_select_never_shows_a_hidden_field(filled: SearchClient) -> None:
    (hit,) = filled.search("sails", select=["id", "count"])
    assert {name for name in hit if not name.startswith("@")} == {"id", "count"}
    (hit,) = filled.search("sails")
    assert "secret" not in hit
    assert hit["embedding"] == [1, 0, 0]
    with pytest.raises(HttpResponseError, match="'secret' is not a retrievable field"):
        found(filled, select=["secret"])


def test_vectors_and_hybrid(filled: SearchClient) -> None:
    query = VectorizedQuery(vector=[1, 0, 0], k_nearest_neighbors=2, fields="embedding", exhaustive=True)
    assert found(filled, None, vector_queries=[query]) == ["boat", "plane"]
    assert found(filled, None, vector_queries=[query], filter="tenant_id eq 't2'") == ["plane"]
    assert found(filled, "car", vector_queries=[query], select=["id"]) == ["boat", "car", "plane"]


@pytest.fixture
def many(client: SearchClient) -> SearchClient:
    for start in (0, 1000):
        client.upload_documents([{"id": f"d{number}", "count": number} for number in range(start, start + 1000)])
    client.upload_documents([{"id": f"d{number}", "count": number} for number in range(2000, 2120)])
    return client


def test_paging(many: SearchClient) -> None:
    """Without `top` the server gives 50 at a time and the SDK follows; with one it follows only past 1,000."""
    everything = [f"d{number}" for number in range(2120)]
    ordered: dict[str, Any] = {"order_by": ["count"], "select": ["id"]}
    assert found(many, "*", filter="count lt 120", **ordered) == everything[:120]
    assert found(many, "*", top=7, **ordered) == everything[:7]
    assert found(many, "*", top=7, skip=2115, **ordered) == everything[2115:]
    assert found(many, "*", top=2100, skip=5, **ordered) == everything[5:2105]
    pages = many.search("*", **ordered, top=1500).by_page()
    assert [len(list(page)) for page in pages] == [1000, 500]
    pages = many.search("*", filter="count lt 120", **ordered, include_total_count=True).by_page()
    assert [len(list(page)) for page in pages] == [50, 50, 20]


def test_a_page_ends_without_a_continuation_when_the_client_asked_for_it(many: SearchClient) -> None:
    pages = many.search("*", top=1000, select=["id"]).by_page()
    assert [len(list(page)) for page in pages] == [1000]
