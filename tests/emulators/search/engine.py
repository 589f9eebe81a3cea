"""The engine without HTTP and without disk."""

from typing import Any

from local.emulators.search.document_index import DocumentIndex
from local.emulators.search.documents import parse_batch, uploaded
from local.emulators.search.schema import parse_definition
from local.emulators.search.search_request import parse_search
from local.emulators.search.searching import SearchResult, search

KEY = {"name": "id", "type": "Edm.String", "key": True, "searchable": False}


def index_of(fields: list[dict[str, Any]], documents: list[dict[str, Any]], **definition: Any) -> DocumentIndex:
    """Return an index with a key `id` and these fields and documents."""
    parsed = parse_definition({"name": "test-index", "fields": [KEY, *fields], **definition})
    index = DocumentIndex(parsed)
    for document in documents:
        put(index, document)
    return index


def put(index: DocumentIndex, document: dict[str, Any]) -> None:
    (action,) = parse_batch({"value": [document]}, index.definition)
    index.put(uploaded(action, index.definition))


def run(index: DocumentIndex, **body: Any) -> SearchResult:
    return search(index, parse_search(body, index.definition.fields))


def keys(index: DocumentIndex, **body: Any) -> list[str]:
    """Return the keys that a search finds, in order."""
    return [hit.fields["id"] for hit in run(index, **body).hits]


def scores(index: DocumentIndex, **body: Any) -> dict[str, float]:
    """Return the scores by key."""
    return {hit.fields["id"]: hit.score for hit in run(index, **body).hits}
