"""What strangers send over a real connection: a clear refusal, nothing changed, and the next request is served."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
import pytest_asyncio

from local.stack.azurite_server import container_client
from tests.e2e.client import DYNAMIC, User, prefer, write
from tests.e2e.raw_http import RawAnswer, request, send_raw
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEGABYTE = 1_048_576
ADD = {"op": "add", "path": "/content/preferences/-", "value": "x"}


class Target:
    """A document that must not change, and the storage in which nothing else may."""

    def __init__(self, service: Service, user: User) -> None:
        self.service = service
        self.user = user
        self.url = user.base + DYNAMIC.url

    async def look(self) -> None:
        """Remember how all is."""
        self.etag = (await self.user.get(DYNAMIC)).etag
        self.before = self.blobs()

    def blobs(self) -> dict[str, str]:
        account_url, _, name = self.service.container_url.rpartition("/")
        with container_client(account_url, name) as client:
            return {blob.name: blob.etag for blob in client.list_blobs()}

    @property
    def headers(self) -> dict[str, str]:
        return {**self.user.authorization, **write(self.etag, "hostile"), "Content-Type": "application/json"}

    async def send(self, method: str, target: str, headers: Any = None, body: bytes = b"") -> RawAnswer:
        return await send_raw(self.user.api, request(method, target, headers or self.headers, body))

    async def patch(self, body: bytes, headers: Any = None) -> RawAnswer:
        return await self.send("PATCH", self.url, headers, body)

    async def unchanged(self) -> None:
        """Nothing was written, and the server still answers."""
        assert self.blobs() == self.before
        assert (await self.user.get(DYNAMIC)).etag == self.etag


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def written(service: Service) -> Target:
    user = service.user()
    assert (await user.patch(DYNAMIC, prefer("Be brief."), etag=None, key="1")).status == 201
    await service.flushed_history(user, DYNAMIC)
    return Target(service, user)


@pytest_asyncio.fixture(loop_scope="module")
async def target(written: Target) -> AsyncIterator[Target]:
    await written.look()
    yield written
    await written.unchanged()


def body(*ops: Any, **members: Any) -> bytes:
    return orjson.dumps(
        {
            "profile_id": DYNAMIC.profile_id,
            "binding_id": DYNAMIC.binding_id,
            "ops": ops or [ADD],
            "reason": "live_update",
            **members,
        }
    )


def with_value(text: bytes) -> bytes:
    """A patch whose value is this text, whatever it is."""
    return body(ADD).replace(b'"x"', text)


NO_SEGMENTS = (
    *("..", "%2e%2e", "..%2f", "%252e%252e", "..%5c", "%c0%ae%c0%ae", "."),
    "%00",
    "a" * 129,
    "%D9%A3",  # an Arabic digit, which str.isdigit takes
    "%ff",
    "a%0d%0aX-Evil:1",
    "a%20b",
    "a;b",
    "%2f%2f",
)


@pytest.mark.parametrize("segment", NO_SEGMENTS)
async def test_no_id_leaves_its_place(target: Target, segment: str) -> None:
    user, tenants = target.user.user_id, "/v1/tenants"
    for place in (
        f"{tenants}/{segment}/users/{user}/documents/user/user_dynamic.json",
        f"{tenants}/t1/users/{segment}/documents/user/user_dynamic.json",
        f"{tenants}/t1/users/{user}/documents/{segment}/user_dynamic.json",
        f"{tenants}/t1/users/{user}/documents/user/{segment}",
        f"{tenants}/t1/users/{user}/documents/user/{segment}/user_dynamic.json",
        f"{tenants}/t1/users/{user}/documents/user/a/{segment}",
        f"{tenants}/t1/users/{segment}/context:assemble",
        f"{tenants}/t1/users/{segment}/audit",
        f"{tenants}/t1/users/{segment}/documents",
    ):
        for method in ("GET", "PATCH", "PUT", "DELETE", "POST"):
            answer = await target.send(method, place, body=b"" if method == "GET" else body())
            assert answer.status in (400, 404, 405), (method, place, answer)
            expected = ("INVALID_IDENTIFIER", "ROUTE_NOT_FOUND", "METHOD_NOT_ALLOWED", "MALFORMED_REQUEST")
            assert answer.code in expected, (method, place, answer)


async def send_chunks(writer: asyncio.StreamWriter, size: int) -> None:
    for _ in range(size // 0x10000):
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        await writer.drain()


async def test_an_endless_body_is_cut_off(target: Target) -> None:
    """A client that keeps sending after the response finds the connection closed."""
    address = urlsplit(target.user.api)
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(request("PATCH", target.url, {**target.headers, "Transfer-Encoding": "chunked"}))
    with pytest.raises(ConnectionError):
        await send_chunks(writer, 64 * MEGABYTE)
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)


BODIES = {
    "empty": b"",
    "two values": body() + b"1",
    "byte order mark": b"\xef\xbb\xbf" + body(),
    "UTF-8 invalid": with_value(b'"\xff\xfe"'),
    "lone surrogate": with_value(rb'"\ud800"'),
    "NaN": with_value(b"NaN"),
    "beyond a double": with_value(b"1e400"),
    "65 bits": with_value(b"36893488147419103232"),
    "deep arrays": with_value(b"[" * 100_000 + b"]" * 100_000),
    "deep and open": b"[" * 500_000,
    "repeated member": body()[:-1] + b',"reason":"admin_migration"}',
    "unknown member": body(updated_by="admin"),
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_body_that_is_not_strict_json_is_400(target: Target, name: str) -> None:
    answer = await target.patch(BODIES[name])
    assert (answer.status, answer.code) == (400, "MALFORMED_REQUEST")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ([("If-Match", '"other"')], 400),
        ([("If-None-Match", "*")], 400),
        ([("Idempotency-Key", "other")], 400),
        ([("Authorization", "Bearer x")], 401),
        ([("Content-Length", "5")], 400),
        ([("Transfer-Encoding", "chunked")], 400),
        ([("X-Bad : name", "x")], 400),
        ([("X-Fill", "x" * 70_000)], 431),
    ],
)
async def test_headers_that_say_two_things_are_refused(
    target: Target, more: list[tuple[str, str]], status: int
) -> None:
    headers = [*target.headers.items(), ("Content-Length", str(len(body()))), *more]
    answer = await target.patch(body(), headers)
    assert answer.status == status, answer
    assert (answer.code == "HEADERS_TOO_LARGE") == (status == 431)


async def test_a_second_request_hidden_in_a_body_is_not_served(target: Target) -> None:
    hidden = request("PATCH", target.url, target.headers, body())
    outer = {**target.headers, "If-Match": '"stale"', "Idempotency-Key": "outer"}
    for headers in (
        [*outer.items(), ("Content-Length", "0"), ("Transfer-Encoding", "chunked")],
        [*outer.items(), ("Transfer-Encoding", "\x0bchunked"), ("Content-Length", str(len(hidden)))],
        [*outer.items(), ("Transfer-Encoding", "xchunked"), ("Content-Length", str(len(hidden)))],
        [*outer.items(), ("Content-Length", "0"), ("Content-Length", str(len(hidden)))],
    ):
        answer = await target.patch(b"0\r\n\r\n" + hidden, headers)
        assert answer.status == 400, (headers, answer)
        await target.unchanged()
