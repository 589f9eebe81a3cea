"""The application behind uvicorn and httptools, over real connections."""

from collections.abc import Iterator

import httpx
import pytest

from memnet.settings import Settings
from tests.api.conftest import AUDIENCE, DYNAMIC, ISSUER, Token, bearer, creating, patch_body
from tests.api.served import Served, read_until
from tests.sample_settings import sample_settings


@pytest.fixture
def settings() -> Settings:
    return sample_settings(issuer_url=ISSUER, audience=AUDIENCE, max_body_bytes=100_000)


@pytest.fixture
def wire(served: Served, token: Token) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, headers=bearer(token())) as client:
        yield client


def test_head_and_304_have_no_body_and_the_connection_is_reused(wire: httpx.Client) -> None:
    etag = wire.patch(DYNAMIC, json=patch_body(), headers=creating()).headers["ETag"]
    got, head = wire.get(DYNAMIC), wire.head(DYNAMIC)
    assert head.headers["Content-Length"] == got.headers["Content-Length"]
    known = wire.get(DYNAMIC, headers={"If-None-Match": etag})
    assert (known.status_code, known.content) == (304, b"")
    assert wire.get(DYNAMIC).content == got.content


def test_a_chunked_body_over_the_limit_is_answered_at_once(served: Served, token: Token) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    head = (
        f"PATCH {DYNAMIC} HTTP/1.1\r\nHost: memnet.test\r\nAuthorization: Bearer {token()}\r\n"
        "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n"
        "If-None-Match: *\r\nIdempotency-Key: k\r\n\r\n"
    )
    with served.connection() as opened:
        opened.sendall(head.encode() + chunk * 2)
        # The answer comes before the end of the body. What follows is thrown away, not kept, and the connection is not
        # cut: a client that is still sending would lose the answer with it.
        answer = read_until(opened, b"BODY_TOO_LARGE")
        assert answer.startswith(b"HTTP/1.1 413 ")
        opened.sendall(chunk * 20 + b"0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: memnet.test\r\n\r\n")
        read_until(opened, b'{"status":"ok"}')


def test_a_request_without_a_token_is_refused_before_its_body(served: Served) -> None:
    head = f"PATCH {DYNAMIC} HTTP/1.1\r\nHost: memnet.test\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n"
    with served.connection() as opened:
        opened.sendall(head.encode())
        assert read_until(opened, b"UNAUTHENTICATED").startswith(b"HTTP/1.1 401 ")
