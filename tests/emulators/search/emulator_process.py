"""The emulator as a process of its own, and the index that most tests use."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
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

ROOT = Path(__file__).resolve().parents[3]
ADMIN_KEY = "test-admin-key"
QUERY_KEY = "test-query-key"


class EmulatorProcess:
    """`python -m local.emulators.search` on a free port; as a context manager it stops at the end."""

    def __init__(self, directory: Path | None = None) -> None:
        command = [sys.executable, "-m", "local.emulators.search", "--port", "0"]
        command += ["--api-key", ADMIN_KEY, "--query-key", QUERY_KEY]
        self._command = command if directory is None else [*command, "--data", str(directory)]
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        word, _, self.url = self.process.stdout.readline().strip().partition(" ")
        assert word == "ready", "the emulator did not start"

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self._wait()

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self._wait()

    def _wait(self) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process = None
        return code

    def __enter__(self) -> "EmulatorProcess":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None:
            self.stop()

    def request(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], Any]:
        """Send a request as it is; return status, headers in lower case, and the body read as JSON if it is that."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, content, {"api-key": ADMIN_KEY} if headers is None else headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, json.loads(text) if "json" in found.get("content-type", "") else text

    def faults(self, **switches: Any) -> None:
        status, _, body = self.request("POST", "/_emulator/faults", switches)
        assert status == 200, body

    def clear_faults(self) -> None:
        assert self.request("DELETE", "/_emulator/faults")[0] == 200

    def catch_up(self) -> int:
        shown: int = self.request("POST", "/_emulator/catch-up")[2]["shown"]
        return shown

    def index_client(self, **options: Any) -> SearchIndexClient:
        return SearchIndexClient(self.url, AzureKeyCredential(ADMIN_KEY), **options)

    def search_client(self, index: str, key: str = ADMIN_KEY, **options: Any) -> SearchClient:
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
            SearchableField(name="keywords", collection=True, filterable=True, facetable=True),
            SimpleField(name="count", type=SearchFieldDataType.INT32, filterable=True, sortable=True, facetable=True),
            SimpleField(name="size", type=SearchFieldDataType.INT64, filterable=True),
            SimpleField(name="confidence", type=SearchFieldDataType.DOUBLE, filterable=True, sortable=True),
            SimpleField(name="done", type=SearchFieldDataType.BOOLEAN, filterable=True, facetable=True),
            SimpleField(
                name="timestamp",
                type=SearchFieldDataType.DATE_TIME_OFFSET,
                filterable=True,
                sortable=True,
                facetable=True,
            ),
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
