"""The two sides of every ratio: the same work through the service, and with the stock clients as they come."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import ContentSettings
from azure.storage.blob.aio import BlobClient, ContainerClient

from local.bench import event_subject, subject
from local.bench.connection import Connection
from local.bench.event_sides import EventSide
from local.stack.azurite_server import ACCOUNT_KEY, ACCOUNT_NAME

Call = Callable[[str], Awaitable[object]]
"""Does the measured thing once, for one user."""
WARM_UP = 5
"""Calls per client that are not measured."""


async def timed(call: Call, users: Sequence[str], count: int) -> list[float]:
    """Call `count` times, the users in turn, after a warm-up; return the seconds each took."""
    for number in range(WARM_UP):
        await call(users[number % len(users)])
    seconds = []
    for number in range(count):
        user = users[number % len(users)]
        started = perf_counter()
        await call(user)
        seconds.append(perf_counter() - started)
    return seconds


def shares(users: Sequence[str], clients: int) -> list[Sequence[str]]:
    """Deal the users to the clients: writers of one document would only refuse each other."""
    return [users[client::clients] or users[:1] for client in range(clients)]


class ServiceSide:
    """Calls of the API. Remembers the ETag of every document it changed."""

    def __init__(self, url: str, token: str) -> None:
        """`token` must allow reading and writing."""
        self._url = url
        self._token = token
        self._etags: dict[tuple[str, str], str] = {}
        self._changes = 0
        self._events = 0

    async def seed(self, users: Sequence[str], bindings: Sequence[str], chars: int, changes: int) -> None:
        """Create every user's documents of about `chars` characters, and change the first binding's so many times."""

        async def seed_share(share: Sequence[str], connection: Connection) -> None:
            for user in share:
                for binding in bindings:
                    await self._write(connection, user, binding, subject.creation(binding, chars), 201)
                for _ in range(changes):
                    await self._change(connection, user)

        clients = min(len(users), 8)
        async with AsyncExitStack() as stack:
            connections = await self._connect(stack, clients)
            await asyncio.gather(*map(seed_share, shares(users, clients), connections))

    async def measure(self, name: str, users: Sequence[str], clients: int, count: int) -> list[float]:
        """Measure one of the calls below, `count` times in all, by so many clients at once."""
        async with AsyncExitStack() as stack:
            connections = await self._connect(stack, clients)
            calls = [self._call(name, connection) for connection in connections]
            each = [timed(*part, count // clients) for part in zip(calls, shares(users, clients), strict=True)]
            return [second for part in await asyncio.gather(*each) for second in part]

    def _call(self, name: str, connection: Connection) -> Call:
        body = subject.assembly()

        async def get(user: str) -> None:
            await connection.call("GET", subject.document_url(user, subject.BINDINGS[0]), expect=200)

        async def assemble(user: str) -> None:
            await connection.call("POST", f"{subject.user_url(user)}/context:assemble", body=body, expect=200)

        async def patch(user: str) -> None:
            await self._change(connection, user)

        async def search(user: str) -> None:
            self._events += 1
            words = event_subject.search_body(self._events)
            await connection.call("POST", event_subject.search_url(user), body=words, expect=200)

        async def write_event(user: str) -> None:
            await self._write_event(connection, user)

        calls = {"get": get, "patch": patch, "assemble": assemble, "search": search, "write_event": write_event}
        return calls[name]

    async def write_first_event(self, user: str) -> None:
        """Write an event, upon which the service makes its index."""
        async with AsyncExitStack() as stack:
            (connection,) = await self._connect(stack, 1)
            await self._write_event(connection, user)

    async def _write_event(self, connection: Connection, user: str) -> None:
        self._events += 1
        event = event_subject.dump(event_subject.event_body(f"service-{self._events}", self._events))
        await connection.call("POST", event_subject.events_url(user), body=event, expect=201)

    async def _change(self, connection: Connection, user: str) -> None:
        binding = subject.BINDINGS[0]
        await self._write(connection, user, binding, subject.change(binding, self._changes), 200)

    async def _write(self, connection: Connection, user: str, binding: str, body: bytes, expect: int) -> None:
        self._changes += 1
        etag = self._etags.get((user, binding))
        precondition = "If-None-Match: *" if etag is None else f"If-Match: {etag}"
        headers = f"{precondition}\r\nIdempotency-Key: change-{self._changes}\r\n"
        url = subject.document_url(user, binding)
        await connection.call("PATCH", url, expect=expect, headers=headers, body=body)
        self._etags[user, binding] = connection.headers[b"etag"].decode()

    async def _connect(self, stack: AsyncExitStack, clients: int) -> list[Connection]:
        connections = [await Connection.connect(self._url, self._token) for _ in range(clients)]
        for connection in connections:
            stack.callback(connection.close)
        return connections


class StockSide:
    """Calls of Azure's clients with their own defaults, on what the service has written."""

    def __init__(self, container_url: str, search_url: str) -> None:
        """`container_url` is the service's container, `search_url` its search service."""
        credential = AzureNamedKeyCredential(ACCOUNT_NAME, ACCOUNT_KEY)
        self._container = ContainerClient.from_container_url(container_url, credential)
        self._events = EventSide(self._container, search_url)
        self._read: dict[str, BlobClient] = {}
        self._written: dict[str, tuple[BlobClient, str]] = {}

    async def measure(self, name: str, users: Sequence[str], clients: int, count: int) -> list[float]:
        """Measure `get`, or `get_put`: a GET, and a conditional PUT of the same bytes and metadata elsewhere.

        Or a call of `EventSide`.
        """
        if name in self._events.calls:
            await self._events.prepare()
            call = self._events.calls[name]
        else:
            for user in users:
                await self._prepare(user)
            call = {"get": self._get, "get_put": self._get_put}[name]
        each = [timed(call, share, count // clients) for share in shares(users, clients)]
        return [second for part in await asyncio.gather(*each) for second in part]

    async def _prepare(self, user: str) -> None:
        if user in self._read:
            return
        self._read[user] = self._container.get_blob_client(subject.blob_name(user, subject.BINDINGS[0]))
        copy = self._container.get_blob_client(f"bench/{os.getpid()}/{user}")
        written = await copy.upload_blob(b"", overwrite=True)
        self._written[user] = (copy, str(written["etag"]))

    async def _get(self, user: str) -> tuple[bytes, dict[str, str]]:
        download = await self._read[user].download_blob()
        return await download.readall(), download.properties.metadata

    async def _get_put(self, user: str) -> None:
        data, metadata = await self._get(user)
        copy, etag = self._written[user]
        written: dict[str, Any] = await copy.upload_blob(
            data,
            overwrite=True,
            etag=etag,
            match_condition=MatchConditions.IfNotModified,
            metadata=metadata,
            content_settings=ContentSettings(content_type="application/json"),
        )
        self._written[user] = (copy, str(written["etag"]))

    async def load(self, first: int, count: int) -> None:
        """Put events into the index, from the one numbered `first` up to `count`."""
        await self._events.load(first, count)

    async def settle(self) -> None:
        """Wait until the service has nothing to do about events behind its answers."""
        await self._events.settle()

    async def close(self) -> None:
        """Close the clients."""
        await self._events.close()
        await self._container.close()
