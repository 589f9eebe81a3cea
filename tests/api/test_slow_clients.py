"""Clients that send or read slowly, over real connections: they lose their own connection and cost others nothing."""

import logging
import socket
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from api.bounded_request import bounded_request
from api.request_body import LOWEST_RATE
from memnet.adapters.memory.ids import SequentialIds
from memnet.settings import Settings
from tests.api.conftest import AUDIENCE, DYNAMIC, ISSUER, Token, bearer, creating, patch_body
from tests.api.served import Served, read_all, read_until
from tests.sample_settings import sample_settings

SHORT = 0.05
"""Seconds of the deadline that a test waits for."""
READS = 100
BUNDLE = "/docs/assets/swagger-ui-bundle.js"
HEAD = "HTTP/1.1\r\nHost: memnet.test\r\n"


@pytest.fixture
def deadlines() -> dict[str, float]:
    return {}


@pytest.fixture
def settings(deadlines: dict[str, float]) -> Settings:
    return sample_settings(issuer_url=ISSUER, audience=AUDIENCE, **deadlines)


def slow_reader(served: Served, pipelined: int) -> socket.socket:
    """A connection with a small buffer, on which a large public file is asked for and nothing is read."""
    opened = served.connection(receive_buffer=2048)
    opened.sendall(f"GET {BUNDLE} {HEAD}\r\n".encode() * pipelined)
    return opened


def slow_sender(served: Served, token: str) -> socket.socket:
    """A connection on which a PATCH is let in and one byte of its body sent."""
    opened = served.connection()
    opened.sendall(
        f"PATCH {DYNAMIC} {HEAD}Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        "If-None-Match: *\r\nIdempotency-Key: k\r\nContent-Length: 100\r\n\r\n{".encode()
    )
    return opened


def check_reads(served: Served, token: Token) -> None:
    """100 reads of another tenant, all 200."""
    user = DYNAMIC.replace("/t1/", "/t2/")
    with httpx.Client(base_url=served.url, headers=bearer(token(tid="t2", oid="svc-b"))) as client:
        assert client.patch(user, json=patch_body(), headers=creating()).status_code == 201
        assert {client.get(user).status_code for _ in range(READS)} == {200}


def test_262_slow_readers_without_a_token_block_no_other_client(served: Served, token: Token) -> None:
    with ExitStack() as stack:
        for _ in range(262):
            read_until(stack.enter_context(slow_reader(served, pipelined=6)), b"HTTP/1.1 200 ")
        check_reads(served, token)


def test_256_slow_bodies_of_one_principal_block_no_other_principal(app: FastAPI, served: Served, token: Token) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(slow_sender(served, token())) for _ in range(256)]
        for opened in slow[64:]:
            read_until(opened, b"QUOTA_EXCEEDED")
        assert app.state.concurrency_limit.receiving.count == 64
        check_reads(served, token)


@pytest.mark.parametrize("deadlines", [{"body_seconds": SHORT}])
def test_a_body_that_comes_too_slowly_is_408(app: FastAPI, served: Served, token: Token) -> None:
    with slow_sender(served, token()) as opened:
        answer = read_all(opened)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"REQUEST_TIMEOUT" in answer
    assert b"\r\nconnection: close\r\n" in answer
    assert app.state.concurrency_limit.receiving.count == 0


@pytest.mark.parametrize("deadlines", [{"head_seconds": SHORT}])
@pytest.mark.parametrize(("sent", "answer"), [(b"", b""), (b"GET / HTTP/1.1\r\nX-Slow: ", b"HTTP/1.1 408 ")])
def test_a_head_that_is_not_complete_in_time_ends_its_connection(served: Served, sent: bytes, answer: bytes) -> None:
    with served.connection() as opened:
        opened.sendall(sent)
        assert read_all(opened).startswith(answer)
        # After an answer the time begins again.
    with served.connection() as opened:
        opened.sendall(f"GET /health/live {HEAD}\r\n".encode())
        read_until(opened, b'{"status":"ok"}')
        opened.sendall(sent)
        assert read_all(opened).startswith(answer)


@pytest.mark.parametrize("deadlines", [{"answer_seconds": SHORT}])
@pytest.mark.parametrize("pipelined", [1, 6])
def test_an_answer_that_is_not_read_in_time_ends_its_connection(
    served: Served, pipelined: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), slow_reader(served, pipelined) as opened:
        whole = int(read_until(opened, b"\r\n\r\n").partition(b"content-length: ")[2].partition(b"\r\n")[0])
        served.until_closed()
        assert len(read_all(opened)) < whole
    assert not caplog.records


class Unread:
    """A connection on which some bytes of an answer wait, and the clock of its deadline."""

    def __init__(self) -> None:
        self.waiting, self.aborted, self.deadlines = 2_000_000, False, 0

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.aborted = True

    def call_later(self, *_: Any) -> None:
        self.deadlines += 1


@pytest.mark.parametrize(("read", "aborted"), [(LOWEST_RATE * 30, False), (LOWEST_RATE * 30 - 1, True)])
def test_a_long_answer_that_is_read_at_a_fair_rate_is_not_cut_off(read: int, aborted: bool) -> None:
    kind: Any = bounded_request(SequentialIds(), head_seconds=1, answer_seconds=30)
    protocol, connection = object.__new__(kind), Unread()
    protocol.transport = protocol.loop = connection
    protocol._await_reader()

    connection.waiting -= read
    protocol._answer_is_late()

    assert (connection.aborted, connection.deadlines) == (aborted, 1 if aborted else 2)


@pytest.mark.parametrize("pipelined", [1, 6])
def test_a_client_that_leaves_in_the_middle_of_an_answer_is_no_error(
    served: Served, pipelined: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            with slow_reader(served, pipelined) as opened:
                read_until(opened, b"HTTP/1.1 200 ")
        served.until_closed()
    assert not caplog.records
