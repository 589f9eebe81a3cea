"""Azure's limits, error bodies, keys and versions, at the level of HTTP."""

from typing import Any
from urllib.parse import quote

import pytest
from azure.core.exceptions import HttpResponseError
from azure.search.documents import SearchClient

from local.emulators.search.limits import BODY_BYTES
from local.stack.search_server import API_KEY
from tests.emulators.search.emulator_process import EmulatorProcess

VERSION = "api-version=2026-04-01"


@pytest.fixture
def documents_path(index_name: str) -> str:
    return f"/indexes('{index_name}')/docs"


def error_of(emulator: EmulatorProcess, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, str]:
    """Send a request that is refused; return the status and the message, after checking the body's shape."""
    status, headers, answer = emulator.request(method, path, body, **options)
    assert headers["content-type"] == "application/json"
    assert set(answer) == {"error"}
    assert {"code", "message"} <= set(answer["error"]) <= {"code", "message", "details"}
    assert answer["error"]["code"]
    return status, answer["error"]["message"]


def test_the_body_of_an_error(emulator: EmulatorProcess, documents_path: str) -> None:
    status, headers, body = emulator.request(
        "POST",
        f"{documents_path}/search.post.search?{VERSION}",
        {"filter": "nope eq 1"},
        headers={"api-key": API_KEY, "x-ms-client-request-id": "abc"},
    )
    message = "Invalid expression: Could not find a property named 'nope' on type 'search.document'."
    message += "\r\nParameter name: $filter"
    assert status == 400
    assert headers["request-id"] == headers["x-ms-client-request-id"] == "abc"
    assert body == {
        "error": {
            "code": "InvalidRequestParameter",
            "message": message,
            "details": [{"code": "UnknownField", "message": message}],
        }
    }


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"top": -1}, 400),
        ({"skip": 100_001}, 400),
        ({"searchMode": "most"}, 400),
        ({"orderby": "digest"}, 400),
        ({"orderby": ",".join(["count"] * 33)}, 400),
        ({"select": "nope"}, 400),
        ({"vectorQueries": {}}, 400),
        ({"surprise": 1}, 400),
        ([], 400),
        (b"{", 400),
        ({"queryType": "full"}, 501),
        ({"orderby": "geo.distance(x, y)"}, 501),
    ],
)
def test_refused_searches(emulator: EmulatorProcess, documents_path: str, body: Any, status: int) -> None:
    assert error_of(emulator, "POST", f"{documents_path}/search.post.search?{VERSION}", body)[0] == status


@pytest.mark.parametrize(
    "body",
    [{"skip": 100_000}, {"top": 0}, {"orderby": ",".join(["count"] * 32)}, {"queryType": "simple"}],
)
def test_allowed_searches(emulator: EmulatorProcess, documents_path: str, body: Any) -> None:
    status, _, answer = emulator.request("POST", f"{documents_path}/search.post.search?{VERSION}", body)
    assert (status, answer) == (200, {"value": []})


def test_a_batch_has_a_thousand_actions_at_most_and_one_at_least(client: SearchClient) -> None:
    client.upload_documents([{"id": f"d{number}"} for number in range(1000)])
    for count in (1001, 0):
        with pytest.raises(HttpResponseError, match="between 1 and 1000 indexing actions") as caught:
            client.upload_documents([{"id": f"d{number}"} for number in range(count)])
        assert caught.value.status_code == 400


@pytest.mark.parametrize("body", [[], {"value": {}}, {"value": [5]}, {"value": [{"id": "a"}], "more": 1}])
def test_a_batch_of_another_shape_is_400(emulator: EmulatorProcess, documents_path: str, body: Any) -> None:
    assert error_of(emulator, "POST", f"{documents_path}/search.index?{VERSION}", body)[0] == 400


def test_a_body_over_sixteen_megabytes_is_413(emulator: EmulatorProcess, documents_path: str) -> None:
    for action in ("search.index", "search.post.search"):
        path = f"{documents_path}/{action}?{VERSION}"
        assert error_of(emulator, "POST", path, b" " * (BODY_BYTES + 1))[0] == 413


def test_the_sdk_splits_a_batch_that_is_too_large(client: SearchClient) -> None:
    documents = [{"id": f"d{number}", "digest": " " * 6_000_000} for number in range(4)]
    assert [result.key for result in client.upload_documents(documents)] == ["d0", "d1", "d2", "d3"]
    assert client.get_document_count() == 4


def test_keys(emulator: EmulatorProcess, index_name: str, documents_path: str) -> None:
    with emulator.search_client(index_name, key="wrong") as stranger, pytest.raises(HttpResponseError) as caught:
        list(stranger.search("*"))
    assert caught.value.status_code == 403
    assert error_of(emulator, "GET", f"{documents_path}/$count?{VERSION}", headers={})[0] == 401
    assert error_of(emulator, "POST", "/_emulator/faults", {}, headers={"api-key": "wrong"})[0] == 403


@pytest.mark.parametrize("query", ["", "api-version=", "api-version=2019-05-06", "api-version=latest"])
def test_an_api_version_is_needed(emulator: EmulatorProcess, documents_path: str, query: str) -> None:
    status, message = error_of(emulator, "GET", f"{documents_path}/$count?{query}")
    assert status == 400
    assert "api-version" in message


def test_unknown_query_parameters_are_400(emulator: EmulatorProcess, documents_path: str) -> None:
    assert error_of(emulator, "GET", f"{documents_path}/$count?{VERSION}&$filter=x")[0] == 400
    assert error_of(emulator, "POST", f"{documents_path}/search.index?{VERSION}&allowUnsafeKeys=true", {})[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("PATCH", "/indexes", 405),
        ("GET", "/indexes('missing')", 404),
        ("GET", "/indexes('missing')/docs/$count", 404),
        ("GET", "/indexes('x')/docs", 501),
        ("PUT", "/indexers('x')", 501),
    ],
)
def test_other_paths(emulator: EmulatorProcess, method: str, path: str, status: int) -> None:
    assert error_of(emulator, method, f"{path}?{VERSION}")[0] == status


def test_only_this_machines_names_are_answered(emulator: EmulatorProcess) -> None:
    """No page of another site can reach the emulator under a name that points here."""
    status, _, _ = emulator.request("GET", "/_emulator/health", headers={"host": "evil.example"})
    assert status == 400
    assert emulator.request("GET", "/_emulator/health", headers={})[2] == {"status": "ready"}


@pytest.mark.parametrize("name", ["x') or ('1' eq '1", "a'b", "..", "%00", "x/../y"])
def test_a_hostile_name_is_only_a_name(emulator: EmulatorProcess, name: str) -> None:
    status, _, _ = emulator.request("GET", f"/indexes('{quote(name, safe='')}')/docs/$count?{VERSION}")
    assert status == 404
