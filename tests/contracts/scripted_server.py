"""An HTTP server that plays what a storage service in trouble answers, and notes what it was asked."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

HANG = b"hang"
"""Never answer."""
CLOSE = b"close"
"""Close the connection instead of answering."""


def answer(status: int, code: str | None = None, body: bytes = b"", **headers: str) -> bytes:
    """One HTTP/1.1 response; `code` is the service's error code."""
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if code is not None:
        lines.append(f"x-ms-error-code: {code}")
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class ScriptedServer:
    """`asked` has the method, path and headers (lower case) of every request so far, and its body."""

    script: Sequence[bytes]
    url: str = ""
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: set[asyncio.Task[None]] = field(default_factory=set)
    """Those that are open."""

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection in a task of its own, which ends with the server."""
        task = asyncio.create_task(self.serve(reader, writer))
        self.connections.add(task)
        task.add_done_callback(self.connections.discard)
        task.add_done_callback(lambda _: writer.close())

    def next_step(self, line: str, headers: dict[str, str], body: bytes) -> bytes:
        """Note a request, and return what to answer."""
        step = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append((line, headers, body))
        return step

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the script's lines in order; its last one again and again."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                step = self.next_step(head[0].rpartition(" ")[0], headers, body)
                if step == HANG:
                    await reader.read()
                    return
                if step == CLOSE:
                    return
                writer.write(step)
                await writer.drain()
                if b"Connection: close" in step:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return


@asynccontextmanager
async def serving(server: ScriptedServer) -> AsyncIterator[ScriptedServer]:
    """Serve on a free port; `url` becomes that of a container of an account."""
    listener = await asyncio.start_server(server.accept, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/account/container"
    async with listener:
        try:
            yield server
        finally:
            for task in server.connections:
                task.cancel()
            await asyncio.gather(*server.connections, return_exceptions=True)


@asynccontextmanager
async def scripted_server(*script: bytes) -> AsyncIterator[ScriptedServer]:
    """Serve `script` on a free port."""
    async with serving(ScriptedServer(script)) as server:
        yield server
