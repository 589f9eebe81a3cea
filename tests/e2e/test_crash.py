"""SIGKILL at every step of a write and of a sweep: nothing lost, nothing doubled, nothing unaudited.

A step is one request to the storage. It is held in the proxy, the process is killed, and the request then has one of
three fates. A new process takes over and the client, who knows nothing of all this, repeats its request.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientError

from local.emulators.fault_proxy import Fault, Injection
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, ETag, UserScope
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.operations.documents.write import patch_document
from memnet.ports import Background
from tests.e2e.cli_process import finish
from tests.e2e.client import DYNAMIC, Answer, User, prefer, until_definite
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEADLINE = 180
INITIAL = {"user_instructions": [], "preferences": ["Be brief."], "durable_facts": [], "pending_confirmations": []}
OTHER = {**INITIAL, "preferences": ["Use tables."]}


class Fate(StrEnum):
    """What becomes of the request that was under way when the process died."""

    LOST = "lost"
    """The storage never sees it."""
    APPLIED = "applied"
    """The storage has applied it; the response is lost."""
    LATE = "late"
    """The storage gets it after the client's retry has been answered."""


@dataclass(frozen=True)
class Step:
    """One request to the storage, and the fates that differ for it."""

    name: str
    method: str
    kind: str
    ending: str = ""
    """What the end of its path matches."""
    fates: tuple[Fate, ...] = tuple(Fate)


COMMIT = Step("commit", "PUT", "documents")
SEGMENT = Step("segment", "PUT", "audit", r"\.jsonl$")
APPEND = Step("append", "PUT", "audit", r"\.jsonl\?comp=appendblock$")
BASELINE = Step("baseline", "PUT", "audit", r"\.json$")
STEPS = (Step("read", "GET", "documents", fates=(Fate.LOST, Fate.APPLIED)), COMMIT, APPEND)
"""Of every write, in order. The answer goes out after the commit."""


@dataclass(frozen=True)
class Write:
    """A request that is repeated as it is, the state it leaves, and whether it starts from a document."""

    name: str
    send: Callable[[User, str | None], Awaitable[Answer]]
    leaves: object
    status: int = 200
    creates: bool = False
    ago: timedelta = timedelta()
    """How long the document has been unchanged before."""


WRITES = (
    Write(
        "patch",
        lambda user, etag: user.patch(DYNAMIC, prefer("Use tables."), etag=etag, key="k"),
        {**INITIAL, "preferences": ["Be brief.", "Use tables."]},
    ),
    Write(
        "create",
        lambda user, etag: user.patch(DYNAMIC, prefer("Use tables."), etag=None, key="k"),
        OTHER,
        status=201,
        creates=True,
    ),
    Write("put", lambda user, etag: user.put(DYNAMIC, OTHER, "memory.user.dynamic", etag=etag, key="k"), OTHER),
    Write("delete", lambda user, etag: user.delete(DYNAMIC, etag=etag or "", key="k"), None),
)


CASES = [(WRITES[0], step, fate) for step in STEPS for fate in step.fates]
CASES += [(write, COMMIT, fate) for write, fate in zip(WRITES[1:], Fate, strict=True)]
CASES += [(WRITES[1], step, fate) for step in (SEGMENT, APPEND) for fate in Fate]
LATER = replace(WRITES[0], name="patch-in-a-later-month", ago=timedelta(days=40))
CASES += [(LATER, step, fate) for step in (SEGMENT, APPEND, BASELINE) for fate in Fate]
"""Each step of the first write, the commit of the others, and the steps of those that begin a segment."""


@pytest_asyncio.fixture(loop_scope="module")
async def alive(service: Service) -> AsyncIterator[Service]:
    """The service with its API running, also after a test that failed between a kill and the restart."""
    if service.api.child.pid is None:
        await service.restart()
    yield service
    if service.api.child.pid is not None and service.api.child.ended() is not None:
        await service.kill()


def hold(service: Service, user: User, step: Step, fate: Fate) -> Injection:
    """Stop the request of this step, before or after the storage gets it."""
    fault = Fault.PAUSE_AFTER if fate is Fate.APPLIED else Fault.PAUSE_BEFORE
    return service.proxy.inject(fault, method=step.method, path=f"/{user.user_id}/{step.kind}/.*{step.ending}")


async def kill_when_reached(service: Service, injection: Injection) -> None:
    async with asyncio.timeout(DEADLINE):
        await injection.reached.wait()
    await service.kill()


async def resolve(injection: Injection, fate: Fate) -> None:
    """Let the held request meet its fate."""
    if fate is Fate.LOST:
        injection.drop()
    else:
        injection.release()
    async with asyncio.timeout(DEADLINE):
        await injection.finished.wait()


async def first_attempt(call: Awaitable[Answer]) -> Answer | None:
    """The answer, or None if the process died before it gave one."""
    with contextlib.suppress(ClientError):
        return await call
    return None


async def create_elsewhere(
    service: Service, user: User, *, ago: timedelta = timedelta(), background: Background | None = None
) -> str:
    """Create the document through this process, so that the one to be killed has to read it."""
    return await patch_elsewhere(service, user, prefer("Be brief."), None, ago, background)


async def change_elsewhere(service: Service, user: User, etag: str) -> str:
    """Change the document through a process that dies as soon as it has answered."""
    return await patch_elsewhere(service, user, prefer("Use tables."), etag, timedelta(), Forgetful())


async def patch_elsewhere(
    service: Service, user: User, op: Any, etag: str | None, ago: timedelta, background: Background | None
) -> str:
    storage = service.storage
    command = PatchDocument(
        key=DocumentKey(UserScope(user.tenant_id, user.user_id), DYNAMIC.namespace, DYNAMIC.path),
        actor=Actor("svc-b", frozenset()),
        precondition=IfAbsent() if etag is None else IfMatch(ETag(etag)),
        idempotency_key="create" if etag is None else "change",
        profile_id=DYNAMIC.profile_id,
        binding_id=DYNAMIC.binding_id,
        ops=[op],
        reason=Reason.LIVE_UPDATE,
    )
    clock = FrozenClock(storage.clock.now() - ago)
    services = replace(storage, clock=clock, background=background or storage.background)
    written = (await patch_document(command, services)).etag
    assert isinstance(storage.background, BackgroundTasks)
    await storage.background.drain()
    return written


@pytest.mark.parametrize(
    ("write", "step", "fate"), CASES, ids=[f"{write.name}-{step.name}-{fate}" for write, step, fate in CASES]
)
async def test_a_killed_write_is_done_once(alive: Service, write: Write, step: Step, fate: Fate) -> None:
    service, user = alive, alive.user()
    etag = None if write.creates else await create_elsewhere(service, user, ago=write.ago)
    before = 0 if write.creates else 1
    held = hold(service, user, step, fate)

    first = asyncio.create_task(first_attempt(write.send(user, etag)))
    await kill_when_reached(service, held)
    answered = await first
    # The answer may only go out once the change is committed; what follows it is not waited for.
    assert answered is None or step.kind == "audit"
    if fate is not Fate.LATE:
        await resolve(held, fate)
    await service.restart()
    answer, _ = await until_definite(lambda: write.send(user, etag))
    if fate is Fate.LATE:
        await resolve(held, fate)

    committed = step.kind == "audit" or (step.kind == "documents" and step.method == "PUT" and fate is Fate.APPLIED)
    assert answer.status == write.status, answer.text
    assert answer.replayed is committed
    if answered is not None:
        assert (answer.status, answer.body) == (answered.status, answered.body)
    again = await write.send(user, etag)
    assert again.replayed
    assert (again.status, again.body) == (answer.status, answer.body)
    await check_result(service, user, write, answer, before + 1)
    later = await write.send(user, etag)  # the sweep has left the receipts where they were
    assert later.replayed
    assert (later.status, later.body) == (answer.status, answer.body)


async def check_result(service: Service, user: User, write: Write, answer: Answer, sequence: int) -> None:
    """One change is there, audited once, and the next one builds on it."""
    assert answer.body["sequence"] == sequence
    found = await user.get(DYNAMIC)
    if write.leaves is None:
        assert found.status == 404
    else:
        assert found.body["document"]["content"] == write.leaves
        assert found.etag == answer.etag == answer.body["etag"]
    following = await user.patch(
        DYNAMIC, prefer("And continue."), etag=None if write.leaves is None else answer.etag, key="next"
    )
    assert following.status == (201 if write.leaves is None else 200), following.text
    assert following.body["sequence"] == sequence + 1
    records = await service.flushed_history(user, DYNAMIC)
    assert [r["idempotency_key"] for r in records][-2:] == ["k", "next"]
    assert [r["post_etag"] for r in records][-2:] == [answer.etag, following.etag]
    assert len(records) == sequence + 1


class Forgetful:
    """The Background port of a process that dies as soon as it has answered."""

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        work.close()


@pytest.mark.parametrize(
    ("step", "fate"),
    [(SEGMENT, Fate.APPLIED), (SEGMENT, Fate.LATE), (APPEND, Fate.LOST), (APPEND, Fate.LATE), (BASELINE, Fate.APPLIED)],
    ids=lambda value: value if isinstance(value, Fate) else value.name,
)
async def test_a_killed_sweep_is_finished_by_the_next(alive: Service, step: Step, fate: Fate) -> None:
    service, user = alive, alive.user()
    held = hold(service, user, step, fate)
    etag = await create_elsewhere(service, user, ago=timedelta(days=40), background=Forgetful())
    etag = await change_elsewhere(service, user, etag)
    before = await service.head(user, DYNAMIC)
    assert len(before.commit.outbox) == 2

    sweep = ("outbox", "flush", "--tenant", user.tenant_id, "--user", user.user_id)
    sweeper = service.command(*sweep)
    async with asyncio.timeout(DEADLINE):
        await held.reached.wait()
    await asyncio.to_thread(sweeper.kill)
    if fate is not Fate.LATE:
        await resolve(held, fate)
    await finish(service.command(*sweep))
    assert await service.head(user, DYNAMIC) == before  # a sweep writes no document
    assert [record["sequence"] for record in await service.stored_records(user, DYNAMIC)] == [1, 2]
    following = await user.patch(DYNAMIC, prefer("And continue."), etag=etag, key="next")
    assert following.status == 200, following.text
    if fate is Fate.LATE:
        await resolve(held, fate)
    assert await user.content(DYNAMIC) == {**INITIAL, "preferences": ["Be brief.", "Use tables.", "And continue."]}
    assert len(await service.flushed_history(user, DYNAMIC)) == 3
