"""No body under 1 MiB costs much: lists and maps have a maximum length, and values are bounded before they are read."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from tests.api.conftest import DYNAMIC, changing, code, patch_body

MAX_SECONDS = 0.3
"""Of processor time, best of three."""
MAX_MEGABYTES = 100


@pytest.mark.slow
def test_no_body_costs_more_than_it_may() -> None:
    command = [sys.executable, "-m", "tests.api.costly_bodies"]
    done = subprocess.run(command, capture_output=True, timeout=300, check=True)
    costs = json.loads(done.stdout)
    assert len(costs) > 20
    assert {name: cost for name, cost in costs.items() if cost["status"] >= 500} == {}
    assert {name: cost for name, cost in costs.items() if cost["seconds"] > MAX_SECONDS} == {}
    assert {name: cost for name, cost in costs.items() if cost["megabytes"] > MAX_MEGABYTES} == {}


def unbounded(schema: Any, known: dict[str, Any], place: str) -> Iterator[str]:
    """The pointers of lists and maps without a maximum number of elements."""
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from unbounded(part, known, f"{place}/{index}")
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from unbounded(known[name], known, name)
        return
    if schema.get("type") == "array" and "maxItems" not in schema:
        yield place
    if schema.get("type") == "object" and schema.get("additionalProperties", True) and "maxProperties" not in schema:
        yield place
    for member, part in schema.items():
        if member not in ("examples", "example", "default", "enum", "const"):
            yield from unbounded(part, known, f"{place}/{member}")


def test_every_list_and_map_of_a_body_has_a_maximum_length(app: FastAPI) -> None:
    contract = app.openapi()
    bodies = {
        operation["operationId"]: operation["requestBody"]
        for methods in contract["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    }
    assert len(bodies) > 8
    known = contract["components"]["schemas"]
    found = {place for name, body in bodies.items() for place in unbounded(body["content"], known, name)}
    assert found == {"Evidence"}, "evidence is bounded in bytes"


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        pytest.param({"evidence": {"message_ids": [0] * 900}}, 20, id="up to a thousand faults"),
        pytest.param({f"m{number}": 0 for number in range(1001)}, 0, id="more"),
    ],
)
async def test_faults_are_described_while_they_are_few(client: httpx.AsyncClient, value: Any, listed: int) -> None:
    answer = await client.patch(DYNAMIC, json=value, headers=changing('"1"', "k"))
    assert (answer.status_code, code(answer)) == (400, "MALFORMED_REQUEST")
    assert len(answer.json()["error"]["details"]["problems"]) == listed


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(patch_body(*[{"op": "test", "path": "/content", "value": 0}] * 1001), id="operations"),
        pytest.param(patch_body({"op": "remove", "path": "/x", **{f"m{n}": 0 for n in range(15)}}), id="members"),
        pytest.param(patch_body(evidence={"message_ids": ["m"] * 1025}), id="message ids"),
        pytest.param(patch_body({"op": "add", "path": "/content/preferences/-", "value": [0] * 100_000}), id="values"),
    ],
)
async def test_a_body_with_more_than_it_may_hold_is_refused(
    client: httpx.AsyncClient, etag: str, body: dict[str, Any]
) -> None:
    answer = await client.patch(DYNAMIC, json=body, headers=changing(etag, "k"))
    assert (answer.status_code, code(answer)) == (400, "MALFORMED_REQUEST")
