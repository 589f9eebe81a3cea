"""A user is erased while clients, replay workers and an indexer write on, and processes are killed at any time.

Everything but this file's clients and the proxy are real processes with their data on disk. What is killed, and when,
is drawn from SEED; a kill is due when so many writes are done, so that all of them fall into the work whatever the
machine.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any

from aiohttp import ClientError

from local.emulators.fault_proxy import Fault, Injection
from local.stack.azurite_server import Azurite
from local.stack.stack import NO_UPKEEP
from tests.e2e.client import PACE_SECONDS, User, eventually
from tests.e2e.erasing import Stage, forget, over, refused, stage, verify_offline
from tests.e2e.erasure_writers import Writer, Written
from tests.e2e.independent_look import Look, says
from tests.e2e.killing import Killer, Progress, strikes

SEED = 20260518
WORKERS = 2


WRITERS = 8
"""Half of them write for the user who is erased."""
BEFORE, AFTER = 50, 60
"""So many writes are done before the user asks, and during the kills that come after it."""
KILLS_OF_EACH = 2
"""Of each API process, each worker and the broker; half of them, about, come after the request."""
SETTLE = "8"
"""Seconds. Nothing is on its way for longer here: a try of a storage call may take 5, and none is held back."""
SECONDS_FOR_ALL = 300
TIMERS = ("reconcile_events", "requeue_jobs", "tend_users", "erase_users")


@dataclass
class Ask:
    """What is known of the request."""

    accepted: float = 0.0
    """When 202 was here."""
    erasure_id: str = ""


@asynccontextmanager
async def burning(directory: Path) -> AsyncIterator[Stage]:
    """A stack with an Azurite of its own, everything on disk."""
    with Azurite(log=directory / "azurite.log", directory=directory / "azurite") as azurite:
        environment = {**NO_UPKEEP, "MEMNET_ERASURE_QUIESCENCE_SECONDS": SETTLE}
        running = stage(azurite.account_url, directory=directory / "stack", environment=environment, workers=WORKERS)
        async with running as world:
            yield world


async def keep_indexing(user: User, until: asyncio.Event) -> int:
    """Rebuild the tenant's index again and again; return how often."""
    url, times = f"/v1/tenants/{user.tenant_id}/search:reindex", 0

    async def send(method: str) -> Any:
        async with user.session.request(method, user.api + url, headers=user.authorization) as answer:
            return answer.status, await answer.json(content_type=None)

    while not until.is_set():
        # The API or the worker that does it may be killed: then it resumes later, or starts again.
        with suppress(ClientError, ValueError):
            code, told = await send("POST")
            times += code == 202
            while code < 300 and told["status"] == "running" and not until.is_set():
                await asyncio.sleep(0.2)
                code, told = await send("GET")
        await asyncio.sleep(PACE_SECONDS)
    return times


async def keep_firing(world: Stage, random: Random, until: asyncio.Event) -> None:
    """Fire all timers much faster than their schedules, now of one worker and now of another."""
    while not until.is_set():
        for timer in TIMERS:
            # A worker that was killed does not answer.
            with suppress(OSError, HTTPException):
                await asyncio.to_thread(random.choice(world.stack.workers).fire, timer)
            await asyncio.sleep(0.2)


async def test_nothing_of_a_user_outlives_the_receipt(tmp_path: Path, record_summary: Callable[[str], None]) -> None:
    print(f"seed {SEED}")
    random, begun = Random(SEED), time.monotonic()
    async with burning(tmp_path) as world:
        gone, neighbour, abroad = world.user("gone"), world.user("neighbour"), world.user("abroad", "t2")
        apis = [world.stack.api, await asyncio.to_thread(world.stack.start_another_api)]
        victims = [*apis, *world.stack.workers, world.stack.bus]
        plan = strikes(random, [*range(len(victims))] * KILLS_OF_EACH, until=BEFORE + AFTER)
        progress, everything = (
            Progress(),
            {user: Written(f"canary{user.user_id}") for user in (gone, neighbour, abroad)},
        )
        mine, others = asyncio.Event(), asyncio.Event()
        killer, ask = Killer(victims, progress, plan), Ask()
        urls = [api.url for api in apis]

        def write(user: User, until: asyncio.Event) -> Any:
            return Writer(user, urls, everything[user], progress, Random(random.random())).run(until)

        # The last of all steps waits here, so that the writers continue until then.
        last = world.proxy.inject(Fault.PAUSE_BEFORE, method="PUT", path="/erasures/", times=10**6)
        async with asyncio.timeout(SECONDS_FOR_ALL), asyncio.TaskGroup() as group:
            whose = [gone, gone, neighbour, abroad] * (WRITERS // 4)
            writers = [group.create_task(write(user, mine if user is gone else others)) for user in whose]
            indexing = group.create_task(keep_indexing(neighbour, others))
            group.create_task(keep_firing(world, Random(SEED), others))
            killing = group.create_task(killer.run())
            await progress.reach(BEFORE)
            await ask_to_be_forgotten(gone, ask)
            await killing
            await reached(last)
            mine.set()
            await asyncio.gather(*(task for task, user in zip(writers, whose, strict=True) if user is gone))
            last.release()
            receipt = await over(gone, ask.erasure_id)
            others.set()
        took = time.monotonic() - begun
        assert killer.done == len(plan)
        assert indexing.result() > 0
        check_writes(everything[gone], ask)
        assert receipt["status"] == "complete"
        check_counts(everything[gone], receipt["removed"])
        said, found = await asyncio.gather(verify_offline(world, gone, receipt, tmp_path), world.look(gone))
        assert f"of user {gone.user_id} of tenant {gone.tenant_id}, complete" in said
        check_gone(found, gone, everything[gone].word)
        await check_others(world, everything)
        record_summary(summary(everything, ask, len(plan), receipt, took))
    check_disk(tmp_path, gone, everything[gone].word)


async def ask_to_be_forgotten(user: User, ask: Ask) -> None:
    told = await forget(user)
    ask.accepted, ask.erasure_id = time.monotonic(), told["erasure_id"]


async def reached(held: Injection) -> None:
    async with asyncio.timeout(SECONDS_FOR_ALL):
        await held.reached.wait()


def check_writes(written: Written, ask: Ask) -> None:
    """Before the request they came through, after it none did: refused, or unavailable where a process was down."""
    assert set(written.stored) == {"created", "changed", "event", "snapshot"}
    later = [write for write in written.since(ask.accepted) if write.answer is not None]
    assert {write.answer.status for write in later if write.answer} <= {409, 503}
    assert all(refused(write.answer) for write in later if write.answer and write.answer.status == 409)
    for what in ("created", "event", "snapshot"):
        assert any(write.what == what and write.answer and refused(write.answer) for write in later), what


def check_counts(written: Written, removed: dict[str, int]) -> None:
    """What was answered with success was removed; more may have been stored than was answered."""
    assert removed["documents"] >= written.stored["created"]
    assert removed["events"] >= written.stored["event"]
    assert removed["snapshots"] >= written.stored["snapshot"]
    assert removed["replays"] > 0
    assert removed["keys"] >= 1


def check_gone(found: Look, gone: User, word: str) -> None:
    """Nothing says the user's name or word: no blob, no document of an index, no message. The receipt is there."""
    assert found.of(gone) == {}
    assert found.holding(gone.user_id, word) == []
    assert [place.count("/") for place in found.blobs if place.startswith("erasures/")] == [2]
    assert [place for place in found.blobs if place.startswith("erasing/")] == []


async def check_others(world: Stage, everything: dict[User, Written]) -> None:
    """The others' data is all there, searchable, and every history of theirs holds."""
    others = list(everything)[1:]
    counts: dict[User, dict[str, int]] = {}

    async def all_indexed() -> bool:
        found = await world.look()
        counts.update({user: found.counts(user) for user in others})
        return all(each["events"] == each["index_documents"] for each in counts.values())

    await eventually(all_indexed)
    for user, documents in zip(others, await world.check_histories(*others), strict=True):
        stored = everything[user].stored
        # The replays make documents and events of their own.
        assert documents >= stored["created"]
        assert counts[user]["events"] >= stored["event"]
        assert counts[user]["snapshots"] >= stored["snapshot"]


def check_disk(directory: Path, gone: User, word: str) -> None:
    """Look through the files of all emulators and all logs, after an orderly stop.

    Two things remain, and the service can remove neither. Azurite writes the bytes of many blobs one after the
    other into extents, files that it removes only when nothing in them belongs to a blob any more: deleted bytes stay
    there, as in Azure until soft delete has ended. And the broker remembers the ids of messages, which name their
    user, while it detects duplicates: for ten minutes, which in Azure have passed before the receipt is signed.
    """
    extents = directory / "azurite" / "__blobstorage__"
    files = [file for file in directory.rglob("*") if file.is_file() and extents not in file.parents]
    assert {file.name for file in files} >= {"search.sqlite3", "service-bus.sqlite3", "api.log", "worker-1.log"}
    names = {file.relative_to(directory).as_posix() for file in files if says(file.read_bytes(), gone.user_id, word)}
    # This test's own files: the keys that the receipt was verified with are named after the user.
    assert names == {"stack/service-bus/service-bus.sqlite3"}


def summary(everything: dict[User, Written], ask: Ask, kills: int, receipt: dict[str, Any], took: float) -> str:
    writes = sum(sum(written.stored.values()) for written in everything.values())
    gone = next(iter(everything.values()))
    late = gone.since(ask.accepted)
    return (
        f"erasure, {kills} kills (seed {SEED}): {writes} writes by {WRITERS} writers, {len(late)} for the user "
        f"after 202, none of them applied; {sum(receipt['removed'].values())} removed, all in {took:.0f} s"
    )
