"""The switches of a test: they do what they say, and nothing when they are off."""

import pytest
from azure.core.exceptions import HttpResponseError
from azure.core.rest import HttpResponse
from azure.search.documents import SearchClient

from tests.emulators.search.emulator_process import EmulatorProcess


@pytest.fixture
def impatient(emulator: EmulatorProcess, index_name: str) -> SearchClient:
    """A client that does not try again."""
    return emulator.search_client(index_name, retry_total=0)


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


def test_a_failure_after_the_work_leaves_it_done(emulator: EmulatorProcess, impatient: SearchClient) -> None:
    """As when the answer is lost: the client hears of a failure, and the document is there."""
    emulator.faults(next_requests=[{"status": 503, "operation": "index", "when": "after"}])
    with pytest.raises(HttpResponseError):
        impatient.upload_documents([{"id": "a"}])
    assert impatient.get_document_count() == 1
