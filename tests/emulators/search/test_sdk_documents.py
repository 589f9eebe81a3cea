"""Document actions through the unchanged SDK."""

from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.search.documents import IndexDocumentsBatch, SearchClient

WHOLE = {
    "id": "a",
    "tenant_id": "t",
    "title": "Title",
    "digest": "Digest",
    "keywords": ["k", "l"],
    "count": -5,
    "size": 2**60,
    "confidence": 0.25,
    "done": True,
    "timestamp": "2024-05-01T10:00:00+02:00",
    "marks": [1, 2],
    "secret": "hush",
    "embedding": [0.1, 0.2, 0.3],
}


def outcome(results: list[Any]) -> list[tuple[str, bool, int]]:
    return [(result.key, result.succeeded, result.status_code) for result in results]


def test_upload_and_lookup(client: SearchClient) -> None:
    assert outcome(client.upload_documents([WHOLE])) == [("a", True, 201)]
    expected = {**WHOLE, "timestamp": "2024-05-01T08:00:00Z"}
    del expected["secret"]
    assert client.get_document("a") == expected
    assert client.get_document("a", selected_fields=["count", "title"]) == {"title": "Title", "count": -5}


def test_an_upload_replaces_the_whole_document(client: SearchClient) -> None:
    client.upload_documents([WHOLE])
    assert outcome(client.upload_documents([{"id": "a", "title": "New"}])) == [("a", True, 200)]
    found = client.get_document("a")
    assert found["title"] == "New"
    assert found["digest"] is None
    assert found["keywords"] == []
    assert "embedding" not in found


def test_a_merge_changes_only_what_it_names(client: SearchClient) -> None:
    client.upload_documents([WHOLE])
    changes = {"id": "a", "title": None, "keywords": ["new"], "embedding": [1, 0, 0]}
    assert outcome(client.merge_documents([changes])) == [("a", True, 200)]
    found = client.get_document("a")
    assert (found["title"], found["keywords"], found["embedding"]) == (None, ["new"], [1, 0, 0])
    assert (found["digest"], found["count"]) == ("Digest", -5)


def test_a_merge_of_a_missing_document_fails_alone(client: SearchClient) -> None:
    batch = IndexDocumentsBatch()
    batch.add_upload_actions([{"id": "a", "title": "one"}])
    batch.add_merge_actions([{"id": "missing", "title": "two"}])
    batch.add_merge_or_upload_actions([{"id": "b", "title": "three"}, {"id": "a", "digest": "four"}])
    batch.add_delete_actions([{"id": "never"}])
    results = client.index_documents(batch)
    assert outcome(results) == [
        ("a", True, 201),
        ("missing", False, 404),
        ("b", True, 201),
        ("a", True, 200),
        ("never", True, 200),
    ]
    assert results[1].error_message == "Document not found."
    found = client.get_document("a")
    assert (found["title"], found["digest"]) == ("one", "four")


def test_a_delete_can_be_repeated_and_ignores_other_fields(client: SearchClient) -> None:
    client.upload_documents([{"id": "a"}, {"id": "b"}])
    for _ in range(2):
        assert outcome(client.delete_documents([{"id": "a", "title": 5}])) == [("a", True, 200)]
    with pytest.raises(ResourceNotFoundError):
        client.get_document("a")
    assert client.get_document_count() == 1


def test_actions_on_one_key_apply_in_order(client: SearchClient) -> None:
    batch = IndexDocumentsBatch()
    batch.add_upload_actions([{"id": "a", "title": "one"}])
    batch.add_delete_actions([{"id": "a"}])
    batch.add_merge_actions([{"id": "a", "title": "two"}])
    assert [result.status_code for result in client.index_documents(batch)] == [201, 200, 404]
    assert client.get_document_count() == 0


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"id": ""}, "Document key cannot be missing or empty"),
        ({"id": "a/b"}, "Keys can only contain letters, digits"),
        ({"id": "x" * 1025}, "longer than 1024"),
        ({"id": "a", "nope": 1}, "The property 'nope' does not exist on type 'search.documentFields'"),
        ({"id": "a", "count": "5"}, "Cannot convert the literal '5' to the expected type 'Edm.Int32'"),
        ({"id": "a", "count": 2**31}, "Edm.Int32"),
        ({"id": "a", "size": 2**63}, "Edm.Int64"),
        ({"id": "a", "timestamp": "2024-05-01T10:00:00"}, "Edm.DateTimeOffset"),
        ({"id": "a", "keywords": "k"}, "Collection"),
        ({"id": "a", "embedding": [1, 2]}, "expects a length of '3'"),
        ({"id": "a", "@search.action": "replace"}, "Unknown indexing action"),
    ],
)
def test_one_wrong_document_refuses_the_batch(client: SearchClient, document: dict[str, Any], message: str) -> None:
    with pytest.raises(HttpResponseError) as caught:
        client.upload_documents([{"id": "good"}, document])
    assert caught.value.status_code == 400
    assert caught.value.error is not None
    assert caught.value.error.code
    assert message in str(caught.value.error.message)
    assert client.get_document_count() == 0


def test_a_term_too_long_to_filter_by_fails_alone(client: SearchClient) -> None:
    results = client.upload_documents(
        [{"id": "long", "tenant_id": "x" * 32767}, {"id": "digest", "digest": "y " * 20000}]
    )
    assert outcome(results) == [("long", False, 400), ("digest", True, 201)]
