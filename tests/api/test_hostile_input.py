"""Hostile input gets a 4xx and changes nothing."""

from collections.abc import AsyncIterator

import httpx
import pytest

from memnet.settings import Settings
from tests.api.conftest import AUDIENCE, DYNAMIC, ISSUER, USER, changing, code, creating, patch_body
from tests.sample_settings import sample_settings


def body_with(ops: bytes) -> bytes:
    return (
        b'{"profile_id":"project-copilot-v1","binding_id":"user_dynamic","reason":"live_update",'
        b'"evidence":{"message_ids":["m1"]},"ops":' + ops + b"}"
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe{}",
        b"[]",
        body_with(b"[]")[:-1] + b',"reason":"admin_migration"}',
        body_with(b"[]")[:-1] + b',"confidence":NaN}',
        body_with(b"[]")[:-1] + b',"source_time":"yesterday"}',
        body_with(b"[]")[:-1] + b',"surprise":1}',
        body_with(b"[" * 100_000 + b"]" * 100_000),
        body_with(b'[{"op":"add"}]'),
        body_with(b'[{"op":"burn","path":"/content/preferences"}]'),
    ],
    ids=lambda content: repr(content[-40:]),
)
async def test_a_malformed_body_changes_nothing(client: httpx.AsyncClient, etag: str, content: bytes) -> None:
    before = await client.get(DYNAMIC)
    headers = {"Content-Type": "application/json", **changing(etag, "hostile")}
    response = await client.patch(DYNAMIC, content=content, headers=headers)
    assert response.status_code == 400
    code(response)
    assert (await client.get(DYNAMIC)).content == before.content


async def test_faults_are_located_and_not_quoted(client: httpx.AsyncClient, etag: str) -> None:
    body = patch_body(confidence="very private text", reason="whatever i like")
    response = await client.patch(DYNAMIC, json=body, headers=changing(etag, "k"))
    problems = response.json()["error"]["details"]["problems"]
    assert {problem["pointer"] for problem in problems} == {"/confidence", "/reason"}
    assert "private" not in response.text
    assert "i like" not in response.text


async def test_evidence_keeps_its_other_members_within_its_bound(client: httpx.AsyncClient, etag: str) -> None:
    kept = {"message_ids": ["m1"], "span": {"start": 1, "end": 2}, "tool": {"call": 7}}
    response = await client.patch(DYNAMIC, json=patch_body(evidence=kept), headers=changing(etag, "k"))
    assert response.status_code == 200
    assert (await client.get(f"{USER}/audit")).json()["records"][1]["evidence"] == kept
    refused: tuple[object, ...] = ({"message_ids": "m1"}, {"span": {"start": "1", "end": 2}}, {"x": "y" * 8192}, [])
    for wrong in refused:
        latest = response.headers["ETag"]
        answer = await client.patch(DYNAMIC, json=patch_body(evidence=wrong), headers=changing(latest, "w"))
        assert (answer.status_code, code(answer)) == (400, "MALFORMED_REQUEST")


class TestBodyLimit:
    @pytest.fixture
    def settings(self) -> Settings:
        return sample_settings(issuer_url=ISSUER, audience=AUDIENCE, max_body_bytes=1000)

    async def test_a_body_that_announces_too_much_is_not_read(self, client: httpx.AsyncClient, etag: str) -> None:
        async def unread() -> AsyncIterator[bytes]:
            raise AssertionError("the body was read")
            yield b""

        headers = {"Content-Type": "application/json", "Content-Length": "1001", **changing(etag, "k")}
        response = await client.patch(DYNAMIC, content=unread(), headers=headers)
        assert (response.status_code, code(response)) == (413, "BODY_TOO_LARGE")

    async def test_a_body_at_the_limit_is_read(self, client: httpx.AsyncClient, etag: str) -> None:
        content = body_with(b'[{"op":"add","path":"/content/preferences/-","value":"x"}]').ljust(1000)
        headers = {"Content-Type": "application/json", **changing(etag, "k")}
        assert (await client.patch(DYNAMIC, content=content, headers=headers)).status_code == 200
        assert (await client.patch(DYNAMIC, content=content + b" ", headers=headers)).status_code == 413


@pytest.mark.parametrize(
    ("media_type", "encoding", "status"),
    [
        ("application/json", None, 200),
        ("application/json; charset=utf-8", None, 200),
        ('application/json;CharSet="UTF-8"', None, 200),
        ("application/json; charset=utf-16", None, 415),
        ("application/vnd.memnet+json", None, 415),
        (None, None, 200),
        ("", None, 415),
        ("application/json", "identity", 200),
        ("application/json", "gzip", 415),
    ],
)
async def test_media_types(
    client: httpx.AsyncClient, etag: str, media_type: str | None, encoding: str | None, status: int
) -> None:
    headers = changing(etag, "k")
    headers |= {"Content-Type": media_type} if media_type is not None else {}
    headers |= {"Content-Encoding": encoding} if encoding is not None else {}
    content = body_with(b'[{"op":"add","path":"/content/preferences/-","value":"x"}]')
    response = await client.patch(DYNAMIC, content=content, headers=headers)
    assert response.status_code == status
    if status == 415:
        assert code(response) == "UNSUPPORTED_MEDIA_TYPE"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/tenants/t1/users/u1/documents/user/..%2F..%2Fu2%2Fdocuments%2Fuser%2Fx.json",
        "/v1/tenants/t1/users/u1/documents/user/%2e%2e/x.json",
        "/v1/tenants/t1/users/u1/documents/user/a/",
        "/v1/tenants/t1/users/u1/documents/user/a%00b",
        "/v1/tenants/t1/users/u1/documents/user/%ff",
        "/v1/tenants/t1/users/u1/documents/%2e%2e/x.json",
        "/v1/tenants/t1/users/%2e%2e/documents/user/x.json",
        "/v1/tenants/%2e%2e/users/u1/documents/user/x.json",
        "/v1/tenants/t1/users//documents/user/x.json",
        "/v1/tenants/t1/users/u1/documents/user/",
    ],
)
async def test_no_path_leaves_its_user(client: httpx.AsyncClient, path: str) -> None:
    url = httpx.URL("http://memnet.test").copy_with(raw_path=path.encode())
    for method in ("GET", "PATCH", "DELETE"):
        response = await client.request(method, url, headers=creating())
        assert response.status_code in (400, 404), (method, response.text)
        assert code(response) in ("INVALID_IDENTIFIER", "ROUTE_NOT_FOUND")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/documents?limit=0", "MALFORMED_REQUEST"),
        ("/documents?limit=1001", "MALFORMED_REQUEST"),
        ("/documents?limit=%D9%A3", "MALFORMED_REQUEST"),
        ("/documents?namespace=..", "INVALID_IDENTIFIER"),
        ("/documents?prefix=../u2", "INVALID_IDENTIFIER"),
        ("/documents?cursor=nonsense", "INVALID_CURSOR"),
        ("/documents?cursor=" + "A" * 4097, "INVALID_CURSOR"),
        ("/documents?cursor=", "INVALID_CURSOR"),
        ("/audit?namespace=user&path=", "INVALID_IDENTIFIER"),
        ("/audit?cursor=LTU6dXNlci91c2VyX2R5bmFtaWMuanNvbg", "INVALID_CURSOR"),
        ("/audit?path=x.json", "MALFORMED_REQUEST"),
        ("/documents/user/user_dynamic.json?as_of=" + "1" * 2000, "MALFORMED_REQUEST"),
        ("/replays?cursor=x", "INVALID_CURSOR"),
        ("/conflicts?status=asleep", "MALFORMED_REQUEST"),
        ("/conflicts?cursor=x", "INVALID_CURSOR"),
        ("/pending?cursor=x", "INVALID_CURSOR"),
        ("/documents?unknown=1", None),
    ],
)
async def test_query_parameters(client: httpx.AsyncClient, etag: str, path: str, expected: str | None) -> None:
    response = await client.get(USER + path)
    if expected is None:
        assert response.status_code == 200, response.text
    else:
        assert (response.status_code, code(response)) == (400, expected)


@pytest.mark.parametrize(
    ("headers", "status", "expected"),
    [
        ({}, 428, "PRECONDITION_REQUIRED"),
        ({"If-Match": "{0}", "If-None-Match": "*"}, 400, "INVALID_PRECONDITION"),
        ({"If-Match": "*"}, 400, "INVALID_PRECONDITION"),
        ({"If-None-Match": "{0}"}, 400, "INVALID_PRECONDITION"),
        ({"If-Match": "W/{0}"}, 412, "ETAG_MISMATCH"),
        ({"If-Match": '"other"'}, 412, "ETAG_MISMATCH"),
    ],
    ids=str,
)
async def test_preconditions(
    client: httpx.AsyncClient, etag: str, headers: dict[str, str], status: int, expected: str
) -> None:
    sent = {name: value.format(etag) for name, value in headers.items()} | {"Idempotency-Key": "k"}
    for method, body in (("PATCH", patch_body()), ("DELETE", None)):
        response = await client.request(method, DYNAMIC, json=body, headers=sent)
        assert (response.status_code, code(response)) == (status, expected)
    assert (await client.get(DYNAMIC)).headers["ETag"] == etag


async def test_an_etag_without_quotes_is_accepted(client: httpx.AsyncClient, etag: str) -> None:
    response = await client.patch(DYNAMIC, json=patch_body(), headers=changing(etag.strip('"'), "k"))
    assert response.status_code == 200


async def test_a_deletion_accepts_only_if_match(client: httpx.AsyncClient, etag: str) -> None:
    response = await client.delete(DYNAMIC, headers=creating())
    assert (response.status_code, code(response)) == (400, "INVALID_PRECONDITION")


@pytest.mark.parametrize("key", [None, "", "x" * 256, "caf\u00e9", "a\tb"])
async def test_idempotency_keys(client: httpx.AsyncClient, etag: str, key: str | None) -> None:
    headers = [(b"If-Match", etag.encode())]
    if key is not None:
        headers.append((b"Idempotency-Key", key.encode()))
    response = await client.patch(DYNAMIC, json=patch_body(), headers=headers)
    assert (response.status_code, code(response)) == (400, "IDEMPOTENCY_KEY_REQUIRED")


async def test_two_idempotency_keys_are_none(client: httpx.AsyncClient, etag: str) -> None:
    headers = [("If-Match", etag), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    assert code(await client.patch(DYNAMIC, json=patch_body(), headers=headers)) == "IDEMPOTENCY_KEY_REQUIRED"
