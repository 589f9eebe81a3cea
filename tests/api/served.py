"""The application behind the real server, for tests over connections."""

import asyncio
import socket
import threading

import uvicorn
import uvloop
from fastapi import FastAPI

from api.bounded_request import bounded_request
from memnet.adapters.process.background import BackgroundTasks


class Served:
    """Serves the application in a thread while the context is open."""

    def __init__(self, app: FastAPI, background: BackgroundTasks) -> None:
        self._background = background
        self._socket = socket.create_server(("127.0.0.1", 0))
        # So that an answer that is not read fills the service's own buffer and not the kernel's.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        settings = app.state.service.settings
        http = bounded_request(
            app.state.service.ids, head_seconds=settings.head_seconds, answer_seconds=settings.answer_seconds
        )
        config = uvicorn.Config(app, http=http, ws="none", lifespan="off", log_config=None, access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="served")

    def _run(self) -> None:
        async def serve() -> None:
            await self._server.serve(sockets=[self._socket])
            await self._background.drain()

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve())

    def connection(self, *, receive_buffer: int | None = None) -> socket.socket:
        """Open a connection; the caller closes it. `receive_buffer` is in bytes."""
        opened = socket.socket()
        opened.settimeout(60)
        if receive_buffer is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        opened.connect(self._socket.getsockname())
        return opened

    def until_closed(self) -> None:
        """Return when no connection is open and no request is served any more."""
        state, waited = self._server.server_state, threading.Event()
        for _ in range(6000):
            if not state.connections and not state.tasks:
                return
            waited.wait(0.01)
        raise AssertionError("a connection is still open")

    def __enter__(self) -> "Served":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def read_until(opened: socket.socket, end: bytes) -> bytes:
    """Read until `end` was there; fails if the server closes before."""
    answer = b""
    while end not in answer:
        chunk = opened.recv(65536)
        assert chunk, answer
        answer += chunk
    return answer


def read_all(opened: socket.socket) -> bytes:
    """Read until the server closes."""
    answer = b""
    try:
        while chunk := opened.recv(65536):
            answer += chunk
    except ConnectionResetError:
        pass  # the server closed with something unread
    return answer
