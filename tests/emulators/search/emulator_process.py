"""The emulator as a process of its own, and the index that most tests use."""

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials import AzureKeyCredential
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient
from azure.search.documents.indexes.models import (
    HnswAlgorithmConfiguration,
    HnswParameters,
    SearchableField,
    SearchField,
    SearchFieldDataType,
    SearchIndex,
    SimpleField,
    VectorSearch,
    VectorSearchProfile,
)

from local.stack.search_server import API_KEY, SearchEmulator


class EmulatorProcess(SearchEmulator):
    """The emulator as the local stack runs it, with the SDK's clients for it, and a way to ask it without them."""

    def __init__(self, directory: Path) -> None:
        super().__init__(log=directory / "log", directory=directory / "data")

    def request(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], Any]:
        """Send a request as it is; return status, headers in lower case, and the body read as JSON if it is that."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, content, {"api-key": API_KEY} if headers is None else headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, json.loads(text) if "json" in found.get("content-type", "") else text

    def faults(self, **switches: Any) -> None:
        status, _, body = self.request("POST", "/_emulator/faults", switches)
        assert status == 204, body

    def clear_faults(self) -> None:
        assert self.request("DELETE", "/_emulator/faults")[0] == 204

    def index_client(self, **options: Any) -> SearchIndexClient:
        return SearchIndexClient(self.url, AzureKeyCredential(API_KEY), **options)

    def search_client(self, index: str, key: str = API_KEY, **options: Any) -> SearchClient:
        return SearchClient(self.url, index, AzureKeyCredential(key), **options)


def collection_of(element: SearchFieldDataType) -> str:
    return f"Collection({element.value})"


def events_index(name: str) -> SearchIndex:
    """An index with a field of every kind."""
    return SearchIndex(
        name=name,
        fields=[
            SimpleField(name="id", type=SearchFieldDataType.STRING, key=True, filterable=True, sortable=True),
            SimpleField(
                name="tenant_id",
                type=SearchFieldDataType.STRING,
                filterable=True,
            ),
            SearchableField(name="title", sortable=True, filterable=True),
            SearchableField(name="digest"),
            SearchableField(name="keywords", collection=True, filterable=True),
            SimpleField(name="count", type=SearchFieldDataType.INT32, filterable=True, sortable=True),
            SimpleField(name="size", type=SearchFieldDataType.INT64, filterable=True),
            SimpleField(name="confidence", type=SearchFieldDataType.DOUBLE, filterable=True, sortable=True),
            SimpleField(name="done", type=SearchFieldDataType.BOOLEAN, filterable=True),
            SimpleField(name="timestamp", type=SearchFieldDataType.DATE_TIME_OFFSET, filterable=True, sortable=True),
            SimpleField(name="marks", type=collection_of(SearchFieldDataType.INT32), filterable=True),
            SimpleField(name="secret", type=SearchFieldDataType.STRING, hidden=True, filterable=True),
            vector_field("embedding"),
            vector_field("other"),
        ],
        vector_search=VectorSearch(
            algorithms=[
                HnswAlgorithmConfiguration(name="graph", parameters=HnswParameters(m=4, metric="cosine")),
            ],
            profiles=[VectorSearchProfile(name="near", algorithm_configuration_name="graph")],
        ),
    )


def vector_field(name: str) -> SearchField:
    return SearchField(
        name=name,
        type=collection_of(SearchFieldDataType.SINGLE),
        searchable=True,
        vector_search_dimensions=3,
        vector_search_profile_name="near",
    )
