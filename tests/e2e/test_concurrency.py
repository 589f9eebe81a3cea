"""Many writers on one document, through two processes that share nothing but the storage."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from tests.e2e.client import TALLY, Answer, User, add
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

HERE = Path(__file__).parent
GATE, FULL = (16, 10), (64, 25)
"""How many clients, and how often each counts."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.3, 6.0
"""Seconds a client rests after losing a race: drawn at random below a bound that doubles with every loss in a row."""


@pytest.fixture(scope="module")
def environment(module_container_url: str) -> dict[str, str]:
    return {
        "MEMNET_PROFILES_DIR": str(HERE / "profiles"),
        "MEMNET_SCHEMAS_DIR": str(HERE / "schemas"),
        # Thousands of requests go straight to the storage: nothing is to fail here.
        "MEMNET_STORAGE_URL": module_container_url,
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def apis(service: Service) -> AsyncIterator[tuple[str, str]]:
    """The addresses of two processes."""
    another = await service.start_api()
    yield service.api.url, another.url


def count_up(content: Any, name: str) -> list[dict[str, Any]]:
    return [
        {"op": "replace", "path": "/content/count", "value": content["count"] + 1},
        add("/content/log/-", name),
    ]


async def increment(user: User, name: str, pauses: Random) -> int:
    """Read, add one, write; after losing a race read again, and write under a new key. Returns the losses."""
    losses = 0
    while True:
        found = (await user.get(TALLY)).body
        ops = count_up(found["document"]["content"], name)
        answer = await user.patch(TALLY, *ops, etag=found["etag"], key=f"{name}-{losses}")
        if answer.status == 200:
            return losses
        assert (answer.status, answer.code) == (412, "ETAG_MISMATCH"), answer.text
        losses += 1
        await asyncio.sleep(pauses.uniform(0, min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**losses)))


@pytest.mark.parametrize(("clients", "increments"), [GATE, pytest.param(*FULL, marks=pytest.mark.slow)])
async def test_no_increment_is_lost_or_doubled(
    service: Service, apis: tuple[str, str], clients: int, increments: int
) -> None:
    user = service.user()
    assert (await user.patch(TALLY, *count_up({"count": -1}, "start"), etag=None, key="start")).status == 201

    async def client(number: int) -> None:
        pauses = Random(number)
        for turn in range(increments):
            # Every other increment through the other process.
            await increment(user.at(apis[(number + turn) % 2]), f"{number}.{turn}", pauses)

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(client(number))

    content = await user.content(TALLY)
    total = clients * increments
    assert content["count"] == total
    names = {f"{number}.{turn}" for number in range(clients) for turn in range(increments)}
    assert Counter(content["log"]) == Counter(names | {"start"})
    records = await service.flushed_history(user, TALLY)
    assert [record["sequence"] for record in records] == list(range(1, total + 2))
    audited = [record["ops"][-1]["value"] for record in records]
    assert audited == content["log"]
    assert f"ok: 1 document, {total + 1} changes" in await service.verify_by_command(user)


async def test_one_request_sent_32_times_at_once_is_one_change(service: Service, apis: tuple[str, str]) -> None:
    user = service.user()
    first = await user.patch(TALLY, *count_up({"count": -1}, "start"), etag=None, key="start")

    async def send(number: int) -> Answer:
        ops = count_up({"count": 0}, "once")
        return await user.at(apis[number % 2]).patch(TALLY, *ops, etag=first.etag, key="same")

    answers = await asyncio.gather(*(send(number) for number in range(32)))
    assert {(answer.status, answer.text, answer.etag) for answer in answers} == {
        (200, answers[0].text, answers[0].etag)
    }
    assert [answer.replayed for answer in answers].count(False) <= 1
    assert await user.content(TALLY) == {"count": 1, "log": ["start", "once"]}
    records = await service.flushed_history(user, TALLY)
    assert [record["idempotency_key"] for record in records] == ["start", "same"]


async def test_one_key_with_32_bodies_at_once_applies_one_of_them(service: Service, apis: tuple[str, str]) -> None:
    user = service.user()
    first = await user.patch(TALLY, *count_up({"count": -1}, "start"), etag=None, key="start")

    async def send(number: int) -> Answer:
        ops = count_up({"count": 0}, f"body {number}")
        return await user.at(apis[number % 2]).patch(TALLY, *ops, etag=first.etag, key="same")

    answers = await asyncio.gather(*(send(number) for number in range(32)))
    applied = [number for number, answer in enumerate(answers) if answer.status == 200]
    refused = [answer.code for answer in answers if answer.status == 409]
    assert len(applied) == 1
    assert refused == ["IDEMPOTENCY_KEY_REUSED"] * 31
    assert await user.content(TALLY) == {"count": 1, "log": ["start", f"body {applied[0]}"]}
    assert len(await service.flushed_history(user, TALLY)) == 2
