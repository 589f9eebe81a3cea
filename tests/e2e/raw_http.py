"""HTTP/1.1 by hand: sends bytes that no client library would, and reads what comes back."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

DEADLINE = 180


@dataclass(frozen=True)
class RawAnswer:
    """One response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The error code of the error body; every refusal has one."""
        return str(orjson.loads(self.body)["error"]["code"])


async def send_raw(api: str, sent: bytes) -> RawAnswer:
    """Send this over one connection and read one response, which may come before all is sent."""
    address = urlsplit(api)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(sent)
    sending = asyncio.create_task(writer.drain())
    try:
        async with asyncio.timeout(DEADLINE):
            return await _read(reader)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


def request(method: str, target: str, headers: Mapping[str, str] | list[tuple[str, str]], body: bytes = b"") -> bytes:
    """Write a request as it is, with the length of its body unless a header says how the body ends."""
    rows = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    if not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in rows):
        rows.append(("Content-Length", str(len(body))))
    head = [f"{method} {target} HTTP/1.1", "Host: memnet.test", *(f"{name}: {value}" for name, value in rows)]
    return "\r\n".join([*head, "", ""]).encode("utf-8") + body


async def _read(reader: asyncio.StreamReader) -> RawAnswer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split()[1])
    headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in head[1:] if row)}
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    else:
        body = await reader.read()
    return RawAnswer(status, headers, body)
