"""Blame over HTTP: who may read it, what a row says, and what is refused."""

from typing import Any

import httpx
import pytest

from tests.api.conftest import DYNAMIC, Token, bearer, changing, code, creating, patch_body

BLAME = DYNAMIC.replace("/documents/", "/blame/")
SAID = {"conversation_id": "c1", "message_ids": ["m1"]}


async def wrote(client: httpx.AsyncClient) -> dict[str, Any]:
    ops = [{"op": "add", "path": "/content/preferences/-", "value": "Answer briefly."}]
    body = patch_body() | {"ops": ops, "evidence": SAID, "confidence": 0.9}
    made: dict[str, Any] = (await client.patch(DYNAMIC, json=body, headers=creating())).json()
    return made


async def test_a_row_has_the_change_and_everything_that_the_value_rests_on(client: httpx.AsyncClient) -> None:
    first = await wrote(client)
    ops = [{"op": "replace", "path": "/content/preferences/0", "value": "Answer in full."}]
    second = (
        await client.patch(DYNAMIC, json=patch_body() | {"ops": ops}, headers=changing(first["etag"], "k2"))
    ).json()
    response = await client.get(BLAME, params={"pointer": "/content/preferences/0"})
    assert response.status_code == 200, response.text
    found = response.json()
    assert (found["etag"], found["change_id"], found["next_cursor"]) == (second["etag"], second["change_id"], None)
    (row,) = found["values"]
    assert (row["value"], row["change_id"], row["op"], row["op_index"]) == (
        "Answer in full.",
        second["change_id"],
        "replace",
        0,
    )
    assert (row["recorded_by"], row["reason"], row["profile_id"]) == ("svc-a", "live_update", "project-copilot-v1")
    (before,) = row["before"]
    assert (before["value"], before["change_id"], before["evidence"]) == ("Answer briefly.", first["change_id"], SAID)
    assert (before["confidence"], row["before_known"], row["further"]) == (0.9, True, [])


async def test_without_a_pointer_every_value_is_listed_page_by_page(client: httpx.AsyncClient) -> None:
    await wrote(client)
    whole = (await client.get(BLAME)).json()["values"]
    assert whole[0]["pointer"] == "/content"
    found, query = [], {"limit": "1"}
    while True:
        page = (await client.get(BLAME, params=query)).json()
        found += page["values"]
        if page["next_cursor"] is None:
            break
        query = {"limit": "1", "cursor": page["next_cursor"]}
    assert found == whole


@pytest.mark.parametrize("role", ["Memory.Read", "Memory.Write", "Memory.Replay"])
async def test_blame_needs_a_role_for_histories(client: httpx.AsyncClient, token: Token, role: str) -> None:
    await wrote(client)
    assert code(await client.get(BLAME, headers=bearer(token(roles=[role])))) == "ROLE_REQUIRED"
    assert (await client.get(BLAME, headers=bearer(token(roles=["Memory.Audit"])))).status_code == 200


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"pointer": "/content/preferences/7"}, "VALUE_NOT_FOUND"),
        ({"pointer": "/content/preferences/-"}, "VALUE_NOT_FOUND"),
        ({"pointer": "/updated_by"}, "MALFORMED_REQUEST"),
        ({"pointer": "content"}, "MALFORMED_REQUEST"),
        ({"pointer": "/content/~2"}, "MALFORMED_REQUEST"),
        ({"pointer": "/content" + "/x" * 2000}, "MALFORMED_REQUEST"),
        ({"as_of": "yesterday"}, "MALFORMED_REQUEST"),
        ({"as_of": "2020-01-01T00:00:00Z"}, "VERSION_NOT_FOUND"),
        ({"cursor": "abc"}, "INVALID_CURSOR"),
        ({"limit": "0"}, "MALFORMED_REQUEST"),
    ],
)
async def test_what_is_not_there_is_refused(client: httpx.AsyncClient, query: dict[str, str], expected: str) -> None:
    await wrote(client)
    assert code(await client.get(BLAME, params=query)) == expected


async def test_a_document_that_was_never_written_is_not_found(client: httpx.AsyncClient) -> None:
    assert code(await client.get(BLAME)) == "DOCUMENT_NOT_FOUND"
