"""The switches of a test: they do what they say, and nothing when they are off."""

from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.core.rest import HttpResponse
from azure.search.documents import SearchClient

from local.emulators.search.errors import SearchError
from local.emulators.search.faults import Faults
from local.emulators.search.service import SearchService, Visibility
from local.emulators.search.storage import Storage
from tests.emulators.search.emulator_process import EmulatorProcess


@pytest.fixture
def impatient(emulator: EmulatorProcess, index_name: str) -> SearchClient:
    """A client that does not try again."""
    return emulator.search_client(index_name, retry_total=0)


def test_held_changes_show_on_catch_up(emulator: EmulatorProcess, client: SearchClient) -> None:
    client.upload_documents([{"id": "old", "title": "boat"}])
    emulator.faults(visibility={"mode": "held"})
    results = client.upload_documents([{"id": "new", "title": "boat"}])
    client.merge_documents([{"id": "new", "digest": "merged while hidden"}])
    client.delete_documents([{"id": "old"}])
    assert results[0].succeeded
    assert [hit["id"] for hit in client.search("boat")] == ["old"]
    assert client.get_document_count() == 1
    with pytest.raises(ResourceNotFoundError):
        client.get_document("new")
    assert emulator.catch_up() == 3
    assert [hit["id"] for hit in client.search("boat")] == ["new"]
    assert client.get_document("new")["digest"] == "merged while hidden"
    client.upload_documents([{"id": "hidden"}])
    emulator.faults(visibility={"mode": "immediate"})
    assert client.get_document_count() == 2


def test_delayed_changes_show_in_their_time() -> None:
    now = 100.0
    service = SearchService(Storage(None), lambda: now)
    service.create_index({"name": "events", "fields": [{"name": "id", "type": "Edm.String", "key": True}]})
    service.visibility.seconds = 1.5
    service.apply(service.resolve("events"), {"value": [{"id": "a"}]}, {})
    now = 101.0
    service.apply(service.resolve("events"), {"value": [{"id": "b"}]}, {})
    assert len(service.resolve("events").documents) == 0
    now = 101.5
    assert len(service.resolve("events").documents) == 1
    now = 102.5
    assert len(service.resolve("events").documents) == 2


def test_keys_that_fail(emulator: EmulatorProcess, client: SearchClient) -> None:
    emulator.faults(fail_keys={"b": 503, "c": 429})
    results = client.upload_documents([{"id": key} for key in "abcd"])
    assert [(result.key, result.succeeded, result.status_code) for result in results] == [
        ("a", True, 201),
        ("b", False, 503),
        ("c", False, 429),
        ("d", True, 201),
    ]
    assert client.get_document_count() == 2
    emulator.clear_faults()
    assert all(result.succeeded for result in client.upload_documents([{"id": "b"}, {"id": "c"}]))


@pytest.mark.parametrize("status", [429, 503])
def test_requests_that_fail(emulator: EmulatorProcess, impatient: SearchClient, status: int) -> None:
    emulator.faults(next_requests=[{"status": status, "count": 2, "retry_after": 7}])
    for _ in range(2):
        with pytest.raises(HttpResponseError) as caught:
            impatient.upload_documents([{"id": "a"}])
        assert caught.value.status_code == status
        assert isinstance(caught.value.response, HttpResponse)
        assert caught.value.response.headers["Retry-After"] == "7"
    assert impatient.get_document_count() == 0


def test_the_sdk_tries_again(emulator: EmulatorProcess, client: SearchClient) -> None:
    emulator.faults(next_requests=[{"status": 503, "count": 2, "retry_after": 0}])
    assert client.get_document_count() == 0


def test_a_failure_can_be_of_one_operation(emulator: EmulatorProcess, impatient: SearchClient) -> None:
    emulator.faults(next_requests=[{"status": 503, "operation": "search"}])
    impatient.upload_documents([{"id": "a"}])
    assert impatient.get_document("a")["id"] == "a"
    with pytest.raises(HttpResponseError):
        list(impatient.search("*"))
    assert len(list(impatient.search("*"))) == 1


def test_a_failure_after_the_work_leaves_it_done(emulator: EmulatorProcess, impatient: SearchClient) -> None:
    """As when the answer is lost: the client hears of a failure, and the document is there."""
    emulator.faults(next_requests=[{"status": 503, "operation": "index", "when": "after"}])
    with pytest.raises(HttpResponseError):
        impatient.upload_documents([{"id": "a"}])
    assert impatient.get_document_count() == 1


@pytest.mark.parametrize(
    "body",
    [
        {"surprise": 1},
        {"visibility": {"mode": "soon"}},
        {"visibility": {"mode": "delayed", "milliseconds": -1}},
        {"fail_keys": {"a": 200}},
        {"next_requests": [{"count": 1}]},
        {"next_requests": [{"status": 503, "operation": "magic"}]},
        {"next_requests": [{"status": 503, "when": "during"}]},
    ],
)
def test_wrong_switches_are_refused(body: Any) -> None:
    with pytest.raises(SearchError) as caught:
        Faults().set(body, Visibility())
    assert caught.value.status == 400
