"""Calls of the API."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import perf_counter
from typing import Any
from urllib.parse import quote

from local.bench import event_subject, recall_subject, subject
from local.bench.connection import Connection, UnexpectedAnswer
from local.bench.timing import Call, shares, timed, together

STALE = 412
BYSTANDER_PAUSE = 0.005


class ServiceSide:
    """Calls of the API. Remembers the ETag of every document it changed."""

    def __init__(self, url: str, token: str) -> None:
        """`token` must allow reading, writing and reading earlier versions."""
        self._url = url
        self._token = token
        self._etags: dict[tuple[str, str], str] = {}
        self._changes = 0
        self._events = 0
        self._submissions = 0
        self._recalls = 0
        self._degraded = 0

    async def seed(self, users: Sequence[str], bindings: Sequence[str], chars: int, changes: int) -> None:
        """Create every user's documents of about `chars` characters, and change the first binding's so many times."""

        async def seed_share(share: Sequence[str], connection: Connection) -> None:
            for user in share:
                for binding in bindings:
                    await self._write(connection, user, binding, subject.creation(binding, chars), 201)
                for _ in range(changes):
                    await self._change(connection, user)

        clients = min(len(users), 8)
        async with self._connections(clients) as connections:
            await asyncio.gather(*map(seed_share, shares(users, clients), connections))

    async def seed_memory(self, turns: int) -> None:
        """Create the documents of the user whose memory is recalled, and submit so many messages."""
        async with self._connections(1) as (connection,):
            for binding in subject.BINDINGS:
                await self._write(connection, recall_subject.USER, binding, recall_subject.entries(binding), 201)
            for place, body in recall_subject.conversations(turns):
                await connection.call("POST", place, body=body, expect=202)

    async def measure(self, name: str, users: Sequence[str], clients: int, count: int, pause: float) -> list[float]:
        """Measure one of the calls below, `count` times in all, by so many clients at once."""
        async with self._connections(clients) as connections:
            return await together([self._call(name, one) for one in connections], users, count, pause)

    async def change(self, user: str, count: int) -> list[dict[str, str]]:
        """Change the user's first document `count` times; return each one's id and the time of its response."""
        changes = []
        async with self._connections(1) as (connection,):
            for _ in range(count):
                answer = json.loads(await self._change(connection, user))
                changes.append({"change_id": answer["change_id"], "time": datetime.now(UTC).isoformat()})
        return changes

    async def as_of(
        self, user: str, moments: dict[str, str], blamed: dict[str, str], rounds: int, bystander: str
    ) -> dict[str, Any]:
        """Get the user's first document at each of `moments` in turn, and its blame at each of `blamed`.

        Return the seconds by their names.

        Meanwhile another connection gets the document of `bystander`, with short pauses; "bystander" has its seconds,
        and "bystander alone" those of before.
        """
        async with self._connections(2) as (connection, other):
            url = subject.document_url(user, subject.BINDINGS[0])
            get = self._call("get", other)
            blame = url.replace("/documents/", "/blame/", 1)
            found: dict[str, list[float]] = {name: [] for name in (*moments, *blamed)}
            found["bystander alone"] = await timed(get, [bystander], 200, BYSTANDER_PAUSE)
            watching = asyncio.create_task(_watch(get, bystander))
            for _ in range(rounds):
                for name, moment in moments.items():
                    started = perf_counter()
                    await connection.call("GET", f"{url}?as_of={quote(moment, safe='')}", expect=200)
                    found[name].append(perf_counter() - started)
                for name, moment in blamed.items():
                    started = perf_counter()
                    await connection.call("GET", f"{blame}?as_of={quote(moment, safe='')}", expect=200)
                    found[name].append(perf_counter() - started)
            watching.cancel()
            found["bystander"] = await watching
        return found

    async def increment(self, user: str, clients: int, each: int) -> dict[str, Any]:
        """Have every client add one to the user's counter `each` times: read, change conditionally, retry after 412.

        Return the seconds it took, how often a client retried, and the counter's last value.
        """
        async with self._connections(clients) as connections:
            started = perf_counter()
            retries = sum(await asyncio.gather(*(self._increment(one, user, each) for one in connections)))
            seconds = perf_counter() - started
            value = await self._counter(connections[0], user)
        return {"seconds": seconds, "retries": retries, "value": value}

    async def _increment(self, connection: Connection, user: str, each: int) -> int:
        retries = done = 0
        while done < each:
            value = await self._counter(connection, user)
            self._etags[user, subject.BINDINGS[0]] = connection.headers[b"etag"].decode()
            try:
                await self._write(connection, user, subject.BINDINGS[0], subject.count_to(value + 1), 200)
                done += 1
            except UnexpectedAnswer:
                if connection.status != STALE:
                    raise
                retries += 1
        return retries

    async def _counter(self, connection: Connection, user: str) -> int:
        url = subject.document_url(user, subject.BINDINGS[0])
        answer = json.loads(await connection.call("GET", url, expect=200))
        return int(answer["document"]["content"].get("count", 0))

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

        async def store_turn(user: str) -> None:
            body = subject.turn(self._next_name("turn"))
            await connection.call("POST", subject.turns_url(user), body=body, expect=201)

        async def store_snapshot(user: str) -> None:
            body = subject.snapshot(self._next_name("snapshot"))
            await connection.call("POST", subject.snapshots_url(user), body=body, expect=202)

        async def recall(user: str) -> None:
            self._recalls += 1
            body = recall_subject.recall_body(self._recalls)
            answer = await connection.call("POST", recall_subject.recall_url(user), body=body, expect=200)
            self._degraded += bool(json.loads(answer)["degraded"])

        calls = {"get": get, "patch": patch, "assemble": assemble, "search": search, "write_event": write_event}
        calls |= {"turn": store_turn, "snapshot": store_snapshot, "recall": recall}
        return calls[name]

    async def degraded(self) -> int:
        """Return how many recalls so far lacked something."""
        return self._degraded

    def _next_name(self, kind: str) -> str:
        self._submissions += 1
        return f"{kind}-{self._submissions}"

    async def write_first_event(self, user: str) -> None:
        """Write an event, upon which the service makes its index."""
        async with self._connections(1) as (connection,):
            await self._write_event(connection, user)

    async def _write_event(self, connection: Connection, user: str) -> None:
        self._events += 1
        event = event_subject.dump(event_subject.event_body(f"service-{self._events}", self._events))
        await connection.call("POST", event_subject.events_url(user), body=event, expect=201)

    async def _change(self, connection: Connection, user: str) -> bytes:
        binding = subject.BINDINGS[0]
        return await self._write(connection, user, binding, subject.change(binding, self._changes), 200)

    async def _write(self, connection: Connection, user: str, binding: str, body: bytes, expect: int) -> bytes:
        self._changes += 1
        etag = self._etags.get((user, binding))
        precondition = "If-None-Match: *" if etag is None else f"If-Match: {etag}"
        headers = f"{precondition}\r\nIdempotency-Key: change-{self._changes}\r\n"
        url = subject.document_url(user, binding)
        answer = await connection.call("PATCH", url, expect=expect, headers=headers, body=body)
        self._etags[user, binding] = connection.headers[b"etag"].decode()
        return answer

    @asynccontextmanager
    async def _connections(self, count: int) -> AsyncIterator[list[Connection]]:
        connections = [await Connection.connect(self._url, self._token) for _ in range(count)]
        try:
            yield connections
        finally:
            for connection in connections:
                connection.close()


async def _watch(get: Call, user: str) -> list[float]:
    """Get again and again until cancelled; return the seconds of each."""
    seconds = []
    try:
        while True:
            started = perf_counter()
            await get(user)
            seconds.append(perf_counter() - started)
            await asyncio.sleep(BYSTANDER_PAUSE)
    except asyncio.CancelledError:
        return seconds
