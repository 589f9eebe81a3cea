"""Processes of the API count the uses of entries while some of them are killed, and an erasure leaves no count."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from local.stack.api_process import Api
from memnet.domain.core.scope import UserScope
from tests.e2e.client import Place, User, add
from tests.e2e.erasing import Stage, forget, stage

PROCESSES = 4
RECALLS = 12
KILLED_AFTER = 5
PERSONAL = Place("personal-memory-v1", "personal", "user", "personal.json")
BEAGLE = {
    "id": "beagle",
    "subject": "user",
    "attribute": "owns",
    "value": "a beagle",
    "text": "The user owns a beagle.",
    "confidence": 0.9,
    "evidence": {"conversation_id": "c1", "message_ids": ["m1"]},
}


async def recall(user: User) -> int:
    """Ask; return how many results use the entry."""
    body = {"profile_id": PERSONAL.profile_id, "query": "Which beagle does the user own?"}
    answer = await user.send("POST", "/context:recall", json=body)
    assert answer.status == 200, answer.text
    return sum(result.get("entry_id") == "beagle" for result in answer.body["results"])


async def uses(running: Stage, user: User) -> int:
    """The uses in the record, as another process reads them."""
    async with running.services() as services:
        counted = await services.usage.read(UserScope(user.tenant_id, user.user_id))
    return sum(one.uses for entries in counted.values() for one in entries.values())


def documents(blobs: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in blobs.items() if "/usage/" not in name}


async def test_no_more_is_counted_than_was_answered_and_an_erasure_leaves_nothing(azurite: Any, tmp_path: Path) -> None:
    async with stage(azurite.account_url, directory=tmp_path, environment={}, workers=0) as running:
        user = running.user()
        written = await user.patch(PERSONAL, add("/content/facts/-", BEAGLE), etag=None, key="k1", confidence=0.9)
        assert written.status == 201, written.text
        apis = [await asyncio.to_thread(running.stack.start_another_api) for _ in range(PROCESSES)]
        before = documents(await running.blobs(user))
        answered: Counter[int] = Counter()

        async def ask(number: int, api: Api) -> None:
            """Ask one process; every other one is killed after some answers, the others end as they should."""
            is_killed = number % 2 == 0
            for _ in range(KILLED_AFTER + number if is_killed else RECALLS):
                answered[number] += await recall(user.at(api.url))
            await asyncio.to_thread(api.kill if is_killed else api.stop)

        await asyncio.gather(*(ask(number, api) for number, api in enumerate(apis)))
        assert answered == {0: KILLED_AFTER, 1: RECALLS, 2: KILLED_AFTER + 2, 3: RECALLS}
        counted = await uses(running, user)
        # A process that ends in order writes what it has counted.
        assert answered[1] + answered[3] <= counted <= answered.total()
        assert documents(await running.blobs(user)) == before
        assert (await user.get(PERSONAL)).etag == written.etag

        # The counts of this process wait when the user asks to be forgotten, and it writes them on.
        assert await recall(user) == 1
        await forget(user)
        await running.finish(user)
        await asyncio.to_thread(running.stack.api.stop)
        assert await uses(running, user) == 0
        assert (await running.look(user)).of(user) == {}
