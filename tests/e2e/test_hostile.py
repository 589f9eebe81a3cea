"""What strangers send over a real connection: a clear refusal, nothing changed, and the next request is served."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
import pytest_asyncio

from local.stack.azurite_server import container_client
from tests.e2e.client import DYNAMIC, User, prefer, project, write
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


UP = "../" * 6 + "users/other/documents/user"
DOTS = ("..", "%2e%2e", "%2E.", ".%2e", "..%2f", "%252e%252e", "..%5c", "%c0%ae%c0%ae", ".", "%2e")
NO_SEGMENTS = (
    *DOTS,
    "%00",
    "a%00.json",
    "a" * 129,
    "%D9%A3",  # an Arabic digit, which str.isdigit takes
    "\u0663",
    "\uff11",  # a full-width digit
    "u%CC%88",
    "%ff",
    "a%0d%0aX-Evil:1",
    "%20",
    "a%20b",
    "-a",
    "_a",
    ".a",
    "~",
    "*",
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


@pytest.mark.parametrize("path", [UP, UP.replace("../", "..%2f"), UP.replace("../", "%2e%2e%2f"), "/" + UP, "a/" * 9])
async def test_no_path_leaves_its_user(target: Target, path: str) -> None:
    for method in ("GET", "PATCH", "PUT", "DELETE"):
        answer = await target.send(method, f"{target.user.base}/documents/user/{path}", body=body())
        assert (answer.status, answer.code) == (400, "INVALID_IDENTIFIER"), (method, answer)


@pytest.mark.parametrize(
    "query", ["namespace=..", "namespace=user%2f..", "prefix=../", "prefix=%00", "prefix=a%2f%2fb"]
)
@pytest.mark.parametrize("list_", ["documents", "audit"])
async def test_no_listing_leaves_its_user(target: Target, query: str, list_: str) -> None:
    if list_ == "audit":
        query = query.replace("prefix", "namespace=user&path")
    answer = await target.send("GET", f"{target.user.base}/{list_}?{query}")
    assert (answer.status, answer.code) == (400, "INVALID_IDENTIFIER")


async def test_ids_in_bodies_are_held_to_the_same_rules(target: Target) -> None:
    hint = {"text": "", "project_id": UP}
    assembly = orjson.dumps({"profile_id": DYNAMIC.profile_id, "conversation_hint": hint})
    answer = await target.send("POST", f"{target.user.base}/context:assemble", body=assembly)
    assert (answer.status, answer.code) == (400, "INVALID_IDENTIFIER")
    for name in ("profile_id", "binding_id"):
        answer = await target.patch(body(**{name: "../" + DYNAMIC.profile_id}))
        assert answer.code in ("PROFILE_NOT_FOUND", "BINDING_NOT_FOUND")
    beyond = await target.send("PATCH", f"{target.user.base}{project('x').url}", body=body())
    assert (beyond.status, beyond.code) == (422, "BINDING_MISMATCH")


async def test_ten_megabytes_announced_are_refused_before_they_are_sent(target: Target) -> None:
    headers = {**target.headers, "Content-Length": str(10 * MEGABYTE)}
    answer = await target.patch(b"", headers)  # none of the body is ever sent
    assert (answer.status, answer.code) == (413, "BODY_TOO_LARGE")


async def test_ten_megabytes_sent_are_refused(target: Target) -> None:
    answer = await target.patch(with_value(b'"' + b"x" * (10 * MEGABYTE) + b'"'))
    assert (answer.status, answer.code) == (413, "BODY_TOO_LARGE")


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


async def test_ten_megabytes_in_chunks_are_refused(target: Target) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        yield b"0\r\n\r\n"

    headers = {**target.headers, "Transfer-Encoding": "chunked"}
    answer = await send_raw(target.user.api, request("PATCH", target.url, headers), chunks())
    assert (answer.status, answer.code) == (413, "BODY_TOO_LARGE")


async def test_a_body_that_never_ends_blocks_no_other(target: Target) -> None:
    stopped = asyncio.Event()

    async def first_half() -> AsyncIterator[bytes]:
        yield body()[:20]
        await stopped.wait()

    headers = {**target.headers, "Content-Length": str(len(body()))}
    halves = [
        asyncio.create_task(send_raw(target.user.api, request("PATCH", target.url, headers), first_half()))
        for _ in range(32)
    ]
    for _ in range(8):
        assert (await target.user.get(DYNAMIC)).status == 200
    for task in halves:
        task.cancel()
    await asyncio.gather(*halves, return_exceptions=True)


async def test_a_client_that_leaves_in_the_middle_of_its_body_changes_nothing(target: Target) -> None:
    api = target.user.api.removeprefix("http://").split(":")
    for cut in (1, 20, len(body()) - 1):
        _, writer = await asyncio.open_connection(api[0], int(api[1]))
        writer.write(request("PATCH", target.url, {**target.headers, "Content-Length": str(len(body()))}, body()[:cut]))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


BODIES = {
    "empty": b"",
    "no JSON": b"x",
    "two values": body() + b"1",
    "array": b"[]",
    "null": b"null",
    "byte order mark": b"\xef\xbb\xbf" + body(),
    "UTF-16": body().decode().encode("utf-16"),
    "UTF-8 cut off": body()[:-1] + b"\xe2\x82",
    "UTF-8 invalid": with_value(b'"\xff\xfe"'),
    "UTF-8 overlong": with_value(b'"\xc0\xaf"'),
    "UTF-8 surrogate": with_value(b'"\xed\xa0\x80"'),
    "lone surrogate": with_value(rb'"\ud800"'),
    "control character": with_value(b'"\x01"'),
    "NaN": with_value(b"NaN"),
    "Infinity": with_value(b"-Infinity"),
    "beyond a double": with_value(b"1e400"),
    "huge integer": with_value(b"9" * 10_000),
    "65 bits": with_value(b"36893488147419103232"),
    "deep arrays": with_value(b"[" * 100_000 + b"]" * 100_000),
    "deep objects": with_value(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "deep and open": b"[" * 500_000,
    "repeated member": body()[:-1] + b',"reason":"admin_migration"}',
    "repeated member of an operation": with_value(b'"x","path":"/content/durable_facts/-"'),
    "repeated member of a value": with_value(b'{"a":1,"a":2}'),
    "unknown member": body(updated_by="admin"),
    "comment": body() + b"//",
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_body_that_is_not_strict_json_is_400(target: Target, name: str) -> None:
    answer = await target.patch(BODIES[name])
    assert (answer.status, answer.code) == (400, "MALFORMED_REQUEST")


def copies() -> Iterator[dict[str, str]]:
    """Each copies all there is into itself: 2^49 preferences."""
    yield {"op": "add", "path": "/content/preferences/-", "value": ["x"] * 100}  # type: ignore[dict-item]
    for _ in range(49):
        yield {"op": "copy", "from": "/content/preferences", "path": "/content/preferences/-"}


REFUSED_OPS: dict[str, tuple[list[Any], int]] = {
    "other section": ([{**ADD, "path": "/contentX/preferences/-"}], 422),
    "the envelope": ([{**ADD, "path": "/updated_by"}], 422),
    "the whole document": ([{**ADD, "path": "", "value": {}}], 422),
    "the whole content": ([{**ADD, "path": "/content", "value": {}}], 422),
    "a neighbour by prefix": ([{**ADD, "path": "/content/preferencesX"}], 422),
    "an escaped slash": ([{**ADD, "path": "/content~1preferences/-"}], 422),
    "an escaped slash inside": ([{**ADD, "path": "/content/preferences~1-"}], 422),
    "a bad escape": ([{**ADD, "path": "/content/preferences/~2"}], 400),
    "a twice-escaped name": ([{**ADD, "path": "/content/~01preferences"}], 422),
    "an empty name": ([{**ADD, "path": "/content//-"}], 422),
    "upwards": ([{**ADD, "path": "/content/preferences/../../updated_by"}], 422),
    "no pointer": ([{**ADD, "path": "content/preferences/-"}], 400),
    "move from outside": ([{"op": "move", "from": "/doc_id", "path": "/content/preferences/-"}], 422),
    "copy from outside": ([{"op": "copy", "from": "/commit", "path": "/content/preferences/-"}], 422),
    "replace the end": ([{"op": "replace", "path": "/content/preferences/-", "value": "x"}], 422),
    "leading zero": ([{"op": "replace", "path": "/content/preferences/00", "value": "x"}], 422),
    "negative index": ([{"op": "replace", "path": "/content/preferences/-1", "value": "x"}], 422),
    "another digit": ([{"op": "replace", "path": "/content/preferences/\u0660", "value": "x"}], 422),
    "no operation": ([{"op": "drop", "path": "/content/preferences"}], 400),
    "__proto__": ([{**ADD, "path": "/content/__proto__/x"}], 422),
    "too many": ([ADD] * 51, 422),
    "far too many": ([{**ADD, "value": ""}] * 15_000, 400),
    "a bomb of copies": (list(copies()), 422),
    "a long pointer": ([{**ADD, "path": "/content/preferences" + "/0" * 5000}], 400),
    "a deep value": ([{**ADD, "value": orjson.loads(b"[" * 50 + b"]" * 50)}], 422),
    "a denied field": ([{**ADD, "path": "/content/durable_facts/-", "value": {"evidence": {"Password": "x"}}}], 422),
    "too long": ([{**ADD, "value": "x" * 400}] * 50, 422),
}


@pytest.mark.parametrize("name", REFUSED_OPS)
async def test_operations_that_reach_too_far_are_refused(target: Target, name: str) -> None:
    ops, status = REFUSED_OPS[name]
    answer = await target.patch(body(*ops))
    assert answer.status == status, answer
    assert answer.code
    assert len(answer.body) < 10_000


def doubled(headers: dict[str, str], *more: tuple[str, str]) -> list[tuple[str, str]]:
    return [*headers.items(), *more]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ([("If-Match", '"other"')], 400),
        ([("If-None-Match", "*")], 400),
        ([("Idempotency-Key", "other")], 400),
        ([("Authorization", "Bearer x")], 401),
        ([("Content-Length", "5")], 400),
        ([("Transfer-Encoding", "chunked")], 400),
        ([("Transfer-Encoding", "identity, chunked")], 400),
        ([("X-Bad : name", "x")], 400),
        ([("X-Fill", "x" * 70_000)], 431),
        ([("X-Fill", "x" * 40_000), ("X-More", "x" * 40_000)], 431),
        ([("X-Fill", "x" * 20_000_000)], 431),
    ],
)
async def test_headers_that_say_two_things_are_refused(
    target: Target, more: list[tuple[str, str]], status: int
) -> None:
    headers = [*target.headers.items(), ("Content-Length", str(len(body()))), *more]
    answer = await target.patch(body(), headers)
    assert answer.status == status, answer
    assert (answer.code == "HEADERS_TOO_LARGE") == (status == 431)


@pytest.mark.parametrize(
    "changed",
    [
        {"If-Match": "*"},
        {"If-Match": '"a", "b"'},
        {"If-Match": ""},
        {"If-Match": "\u00e9\u00e9"},
        {"Idempotency-Key": ""},
        {"Idempotency-Key": "x" * 256},
        {"Idempotency-Key": "\u00e9"},
        {"Idempotency-Key": "a\tb"},
        {"Content-Length": "-1"},
        {"Content-Length": "0x10"},
        {"Content-Length": "9" * 30},
    ],
)
async def test_headers_that_say_nothing_useful_are_refused(target: Target, changed: dict[str, str]) -> None:
    answer = await target.patch(body(), {**target.headers, **changed})
    assert answer.status in (400, 412, 413), answer  # 412: a tag of bytes beyond ASCII is one, but no version's


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


async def test_a_request_line_that_is_none_is_400(target: Target) -> None:
    for line in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 100):
        answer = await send_raw(target.user.api, line + b"\r\n\r\n")
        assert (answer.status, answer.code) == (400, "MALFORMED_REQUEST")
