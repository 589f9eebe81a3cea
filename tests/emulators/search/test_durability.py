"""Acknowledged changes are on disk: they survive a kill and a restart of the process."""

import itertools
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import AzureError
from azure.search.documents import SearchClient
from azure.search.documents.indexes.models import SimpleField
from azure.search.documents.models import VectorizedQuery

from local.stack.process import ROOT
from local.stack.search_server import API_KEY
from tests.emulators.search.emulator_process import EmulatorProcess, events_index


def everything(client: SearchClient) -> list[Any]:
    """Answers of several kinds, scores included."""
    query = VectorizedQuery(vector=[1, 0.5, 0.25], k_nearest_neighbors=40, fields="embedding")
    return [
        list(client.search("*", top=1000)),
        list(client.search("boat sea", top=1000)),
        list(client.search('"red boat" | ca*', filter="count gt 3 and keywords/any(k: k eq 'k1')", top=1000)),
        list(client.search(None, vector_queries=[query], top=1000)),
        list(client.search("red", vector_queries=[query], order_by=["count desc"], top=1000)),
        client.get_document_count(),
        client.get_document("d7"),
    ]


def test_killed_after_the_answer_and_nothing_is_lost(tmp_path: Path) -> None:
    words = ["red boat", "boat", "car on the sea", "red car"]
    with EmulatorProcess(tmp_path) as emulator:
        with emulator.index_client() as indexes:
            indexes.create_index(events_index("events"))
        with emulator.search_client("events") as client:
            client.upload_documents(
                [
                    {
                        "id": f"d{number}",
                        "title": words[number % 4],
                        "count": number,
                        "keywords": [f"k{number % 3}"],
                        "timestamp": "2024-01-01T00:00:00.5Z",
                        "embedding": [1 + number, number % 5, 1],
                    }
                    for number in range(50)
                ]
            )
            client.merge_documents([{"id": "d7", "title": "merged boat", "embedding": [0.1, 0.2, 0.3]}])
            client.delete_documents([{"id": "d8"}])
            client.upload_documents([{"id": "d9", "title": "written again"}])
            before = everything(client)
        emulator.kill()
        emulator.start()
        with emulator.search_client("events") as client:
            assert everything(client) == before
        with emulator.index_client() as indexes:
            index = indexes.get_index("events")
            index.fields.append(SimpleField(name="added", type="Edm.String"))
            indexes.create_or_update_index(index)
        emulator.kill()
        emulator.start()
        with emulator.search_client("events") as client:
            assert client.get_document("d7")["added"] is None
        with emulator.index_client() as indexes:
            indexes.delete_index("events")
        emulator.kill()
        emulator.start()
        with emulator.index_client() as indexes:
            assert list(indexes.list_index_names()) == []


def test_killed_in_the_middle_of_writing_and_every_answer_holds(tmp_path: Path) -> None:
    """A batch is there as a whole or not at all, and every batch that was answered is there."""
    acknowledged: list[int] = []
    underway = threading.Event()

    def write(url: str) -> None:
        with SearchClient(url, "events", AzureKeyCredential(API_KEY), retry_total=0) as client:
            for batch in itertools.count():
                client.upload_documents([{"id": f"b{batch}-{number}"} for number in range(20)])
                acknowledged.append(batch)
                if batch == 10:
                    underway.set()

    def write_until_it_dies(url: str) -> None:
        with pytest.raises(AzureError):
            write(url)

    with EmulatorProcess(tmp_path) as emulator:
        with emulator.index_client() as indexes:
            indexes.create_index(events_index("events"))
        writer = threading.Thread(target=write_until_it_dies, args=(emulator.url,))
        writer.start()
        assert underway.wait(60)
        emulator.kill()
        writer.join(60)
        emulator.start()
        with emulator.search_client("events") as client:
            found = [hit["id"] for hit in client.search("*", select=["id"])]
    assert len(found) % 20 == 0
    assert {f"b{batch}-{number}" for batch in acknowledged for number in range(20)} <= set(found)


def test_what_is_deleted_is_in_no_file_while_it_runs(tmp_path: Path) -> None:
    def files() -> bytes:
        return b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())

    with EmulatorProcess(tmp_path) as emulator:
        with emulator.index_client() as indexes:
            indexes.create_index(events_index("events"))
        with emulator.search_client("events") as client:
            client.upload_documents([{"id": name, "title": f"canary {name}"} for name in ("gone", "stays", "changed")])
            assert b"canary gone" in files()
            client.delete_documents([{"id": "gone"}])
            client.upload_documents([{"id": "changed", "title": "other"}])
        assert b"canary stays" in files()
        assert b"canary gone" not in files()
        assert b"canary changed" not in files()


def test_sigterm_stops_in_order(tmp_path: Path) -> None:
    with EmulatorProcess(tmp_path) as emulator:
        with emulator.index_client() as indexes:
            indexes.create_index(events_index("events"))
        assert emulator.child.stop() == 0
        assert [path.name for path in (tmp_path / "data").iterdir()] == ["search.sqlite3"]


def test_a_directory_and_a_port_belong_to_one_process(tmp_path: Path) -> None:
    with EmulatorProcess(tmp_path) as emulator:
        port = emulator.url.rpartition(":")[2]
        for options, said in (
            (["--port", "0", "--data", str(tmp_path / "data")], "is open in another process"),
            (["--port", port], f"cannot use port {port}"),
        ):
            command = [sys.executable, "-m", "local.emulators.search", *options]
            second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
            assert (second.returncode, said in second.stderr) == (1, True)
