"""A user with data of every kind, and an erasure of that user over HTTP."""

from datetime import timedelta
from functools import partial

import httpx

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.scope import Actor, UserScope
from memnet.operations.governance.erase_user import Erased, erase_users
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.replay.replays import create_conflict
from memnet.paging import rows
from memnet.service import Service
from tests.api.conftest import USER, changing, creating
from tests.api.test_conflicts import write
from tests.api.test_governance import event
from tests.domain.replay_samples import BASE, details, proposal
from tests.domain.snapshot_samples import conversation_body

MEMORY, ERASURES = f"{USER}/memory", f"{USER}/erasures"
SCOPE = UserScope("t1", "u1")
THEN = "2026-01-01T00:00:00.000000Z"
SETTLED = "2026-01-01T00:16:00.000000Z"
SNAPSHOTS = f"{USER}/conversations/c_1/snapshots"
CONFLICT = f"{USER}/conflicts/cfl-rpl-1-1"


async def drain(services: Service) -> None:
    assert isinstance(services.background, BackgroundTasks)
    await services.background.drain()


async def live(client: httpx.AsyncClient, services: Service, etag: str) -> dict[str, str]:
    """Store data of every kind; return its ETags and ids."""
    first = await write(client, BASE, creating())
    await create_conflict(proposal(base_etag=first), details(), services, rebases=1)
    alpha = await write(client, {**BASE, "summary": "Another"}, changing(first, "second"))
    assert (await client.post(f"{USER}/events", json=event("e-1", THEN))).status_code == 201
    replay = await client.post(SNAPSHOTS, json=conversation_body())
    assert replay.status_code == 202
    assert (await client.get(f"{SNAPSHOTS}/s_1")).status_code == 200
    await drain(services)
    return {"dynamic": etag, "alpha": alpha, "replay": replay.headers["Location"]}


async def request(client: httpx.AsyncClient, key: str = "forget-1", user: str = USER) -> httpx.Response:
    return await client.delete(f"{user}/memory", headers={"Idempotency-Key": key})


async def accepted(client: httpx.AsyncClient, key: str = "forget-1", user: str = USER) -> str:
    response = await request(client, key, user)
    assert response.status_code == 202, response.text
    erasure_id: str = response.json()["erasure_id"]
    return erasure_id


def advance(services: Service, seconds: float = 960) -> None:
    assert isinstance(services.clock, FrozenClock)
    services.clock.advance(timedelta(seconds=seconds))


async def work(services: Service) -> None:
    """Run the timer at once."""
    await drain(services)
    await erase_users(None, services)


async def finish(services: Service) -> None:
    """Run the timer before and after the quiescence time."""
    await work(services)
    advance(services)
    assert await erase_users(None, services) == {Erased.FINISHED: 1}


async def names(services: Service, scope: UserScope = SCOPE) -> list[str]:
    return [found.name async for found in rows(partial(services.user_storage.list, scope))]


async def only_accepted(services: Service) -> None:
    """The fence exists and the documents are empty; nothing is removed yet."""
    actor = Actor("svc-privacy", frozenset())
    await request_erasure(SCOPE, services, idempotency_key="forget-1", actor=actor)
