"""The calls that the API reference shows send the operation that they are shown for."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from api.api_page import description
from api.operation_calls import PYTHON, curl
from memnet_client import Evidence, Memnet
from memnet_client.values import pending_item

Operation = tuple[str, str, Mapping[str, Any]]
ETAG = '"2-9f2c41d07be35a18"'


def operations() -> Iterator[Operation]:
    """Method, path and description of each operation."""
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


OPERATIONS = {operation["operationId"]: (method, path, operation) for method, path, operation in operations()}


def called(method: str, url: str) -> str:
    """The operation that a request reaches; a literal path wins over one with a parameter."""
    path = urlsplit(url).path
    found: list[str] = []
    for name, (its_method, template, _) in OPERATIONS.items():
        pattern = re.sub(r"\\\{path\\\}", "[^:]+", re.escape(template))
        if its_method == method and re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/:]+", pattern), path):
            found.append(name)
    (name,) = found
    return name


def answer(request: httpx2.Request) -> httpx2.Response:
    """The example of the operation that a request reaches."""
    _, _, operation = OPERATIONS[called(request.method, str(request.url))]
    status, response = next((int(one), it) for one, it in operation["responses"].items() if int(one) < 300)
    content: Any = next(iter(response.get("content", {}).values()), {})
    empty: Any = {"records": [], "next_cursor": None}
    headers = dict.fromkeys(response.get("headers", {}), ETAG)
    return httpx2.Response(status, json=content.get("example", empty), headers=headers)


def test_every_operation_has_a_call_in_python() -> None:
    assert set(PYTHON) == set(OPERATIONS), "add the missing ones to api/reference_calls.json"


@pytest.mark.parametrize("name", sorted(PYTHON))
def test_the_call_in_python_sends_the_operation(name: str) -> None:
    sent: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        sent.append(called(request.method, str(request.url)))
        return answer(request)

    http = httpx2.Client(transport=httpx2.MockTransport(respond))
    with Memnet("http://api", credential="token", tenant="t1", profile="project-copilot-v1", http=http) as memnet:
        pending = OPERATIONS["list_pending"][2]["responses"]["200"]["content"]["application/json"]["example"]
        row = pending["pending"][0]
        known = {
            "memnet": memnet,
            "maya": memnet.user("maya"),
            "Evidence": Evidence,
            "etag": ETAG,
            "item": pending_item(row),
            "messages": [{"message_id": "m1", "role": "user", "content": "Hi", "timestamp": "2026-02-14T20:00:00Z"}],
            "conflict_id": "cfl-1",
            "erasure_id": "era-1",
            "retraction_id": "rtr-1",
        }
        exec(compile(PYTHON[name], name, "exec"), known)  # the statements of api/reference_calls.json
    assert name in sent


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_the_call_with_curl_sends_the_operation(name: str) -> None:
    method, path, operation = OPERATIONS[name]
    command, *words = shlex.split(curl(method.lower(), path, operation))
    assert command == "curl"
    (url,) = [word for word in words if word.startswith("$API/")]
    assert called(words[words.index("-X") + 1] if "-X" in words else "GET", url.removeprefix("$API")) == name
    bodies = [json.loads(words[at + 1]) for at, word in enumerate(words) if word == "-d"]
    assert len(bodies) == ("requestBody" in operation)
