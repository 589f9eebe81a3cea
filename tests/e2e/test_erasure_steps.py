"""An erasure step by step on the whole local stack: killed in its middle, hindered by each store, and a late writer."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from local.emulators.fault_proxy import Fault, Injection
from memnet.operations.governance.erase_user import Erased
from tests.e2e.client import User, eventually, project
from tests.e2e.erasing import (
    NEVER,
    Stage,
    command,
    create,
    forget,
    live,
    quiet_stage,
    refused,
    status,
    verify_offline,
)
from tests.e2e.erasure_furniture import furnish
from tests.e2e.independent_look import says
from tests.e2e.test_crash import Fate

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEED = 20260519
DEADLINE = 180
WORD = "canarywordofthesteps"
EVER = 10**6


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(azurite: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Only the API, once, and a test work on an erasure."""
    async with quiet_stage(azurite, tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def _heal(world: Stage) -> AsyncIterator[None]:
    """No fault of one test reaches the next."""
    yield
    await world.heal()


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(DEADLINE):
        await event.wait()


async def receipt_of(world: Stage, user: User, erasure_id: str) -> dict[str, Any]:
    """The receipt as it lies in the storage, where it must be the only trace of the user."""
    found = await world.look(user)
    data = found.blobs.get(f"erasures/{user.tenant_id}/{erasure_id}.json")
    assert data is not None, "there is no receipt"
    assert found.of(user) == {}
    assert found.holding(user.user_id) == []
    receipt: dict[str, Any] = json.loads(data.partition(b"\n")[2])
    return receipt


def kills(random: Random) -> list[tuple[str, str, int, Fate]]:
    """Which request to hold, and its fate: the journal's entry that names the batch, removals of it, then the entry
    that ends it.
    """
    fates = random.sample(list(Fate), len(Fate))
    removals = [("DELETE", "/users/", random.randint(1, 16), fate) for fate in fates]
    return [("PUT", "/erasing/", 1, Fate.APPLIED), *removals, ("PUT", "/erasing/", 1, Fate.LOST)]


async def test_counts_are_exact_however_often_it_is_killed(world: Stage, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    user, neighbour = world.user("counted"), world.user("neighbour")
    await furnish(world, user, WORD)
    await live(neighbour, "neighbourly")
    before = await world.look(user, neighbour)
    expected = before.counts(user)
    assert expected.keys() == {
        *("documents", "audit", "events", "snapshots", "replays", "accesses", "heads", "keys", "marks", "holds"),
        *("index_documents", "messages"),
    }
    assert len(before.holding(WORD)) > 10

    # The API is killed before it can remove anything.
    first = world.proxy.inject(Fault.PAUSE_BEFORE, method="PUT", path="/erasing/", nth=2)
    erasure_id = (await forget(user))["erasure_id"]
    await happens(first.reached)
    await asyncio.to_thread(world.stack.api.kill)
    first.drop()
    emptied = await world.blobs(user)
    assert emptied.keys() == before.of(user).keys()
    documents = [data for name, data in emptied.items() if "/documents/" in name]
    assert len(documents) == 3
    assert not any(says(data, WORD) for data in documents)

    late: list[Injection] = []
    for method, path, nth, fate in kills(Random(SEED)):
        fault = Fault.PAUSE_AFTER if fate is Fate.APPLIED else Fault.PAUSE_BEFORE
        held = world.proxy.inject(fault, method=method, path=path, nth=nth)
        process = command(world, "erasure", "run")
        try:
            await happens(held.reached)
        finally:
            await asyncio.to_thread(process.kill)
        if fate is Fate.LATE:
            late.append(held)
        else:
            held.release() if fate is Fate.APPLIED else held.drop()
            await happens(held.finished)
    await world.finish(user)
    for held in late:
        held.release()
        await happens(held.finished)

    receipt = await receipt_of(world, user, erasure_id)
    assert (receipt["status"], receipt["remaining"]) == ("complete", [])
    assert receipt["removed"] == expected
    after = await world.look(user, neighbour)
    assert after.of(neighbour) == before.of(neighbour)
    assert after.counts(neighbour) == before.counts(neighbour)
    assert after.holding(WORD) == []
    said = await verify_offline(world, user, receipt, tmp_path)
    assert f"removed: {expected['documents']} documents" in said


async def test_a_document_that_was_under_way_at_the_acceptance_is_not_created(world: Stage) -> None:
    user, place = world.user("underway"), project("p0")
    held = world.proxy.inject(Fault.PAUSE_BEFORE, method="PUT", path=f"/{user.user_id}/documents/")
    creating = asyncio.create_task(create(user, place, WORD, key="create-0"))
    await happens(held.reached)
    erasure_id = (await forget(user))["erasure_id"]
    held.release()
    assert refused(await creating)
    await world.finish(user)
    await receipt_of(world, user, erasure_id)


async def test_every_store_that_fails_keeps_it_from_ending_until_it_is_back(world: Stage) -> None:
    """All of them at first, then one after the other comes back."""
    stack, user = world.stack, world.user("hindered")
    await live(user, WORD, projects=1, events=2, snapshots=1)
    world.proxy.inject(Fault.ANSWER_503, method="DELETE", path="/users/", times=EVER)
    for part in (stack.search, stack.bus):
        await asyncio.to_thread(part.kill)
    erasure_id = (await forget(user))["erasure_id"]
    # The API needs the vault before it answers 202: without a signature an erasure could never end.
    await asyncio.to_thread(stack.vault.kill)

    failing = {"blobs": "UNAVAILABLE", "index": "UNAVAILABLE", "queues": "UNAVAILABLE"}
    await hindered(world, user, erasure_id, failing)
    await asyncio.to_thread(stack.search.start)
    removed = await hindered(world, user, erasure_id, {name: failing[name] for name in ("blobs", "queues")})
    assert removed["index_documents"] == 2
    await asyncio.to_thread(stack.bus.start)
    removed = await hindered(world, user, erasure_id, {"blobs": failing["blobs"]})
    assert removed["messages"] == 1
    assert len(await world.blobs(user)) > 8
    world.proxy.heal()
    await hindered(world, user, erasure_id, {"vault": "VAULT_UNAVAILABLE"})
    await asyncio.to_thread(stack.vault.start)
    await world.finish(user)

    receipt = await receipt_of(world, user, erasure_id)
    assert (receipt["status"], receipt["removed"]["documents"], receipt["removed"]["events"]) == ("complete", 1, 2)
    told = await status(user, erasure_id)
    assert (told["status"], told["failing"], told["receipt"]) == ("complete", {}, receipt)


async def hindered(world: Stage, user: User, erasure_id: str, failing: dict[str, str]) -> dict[str, int]:
    """A run does not end it: it reports its failures and refuses writes. Returns the removals."""

    async def tried() -> bool:
        outcome = await world.run(user, through_proxy=True)
        # What cannot be signed fails only once there is something to sign.
        assert outcome in (Erased.FAILING, Erased.TAKEN_OVER, Erased.WAITING)
        return outcome is Erased.FAILING

    await eventually(tried)
    told = await status(user, erasure_id)
    assert (told["status"], told["failing"], told["receipt"]) == ("running", failing, None)
    answer = await create(user, project("refused"), "too early", key="too-early")
    assert (answer.status, answer.code) == (409, "ERASURE_RUNNING")
    removed: dict[str, int] = told["removed"]
    return removed


async def test_a_write_that_arrives_after_the_removals_is_removed_before_the_receipt(world: Stage) -> None:
    """The writer looks before the fence exists; its request is held on its way until everything is gone.

    In Azure what bounds this is the date of the request (x-ms-date), which is taken before the look and is refused
    after 15 minutes: the settle time is longer. Azurite does not check it, so here the test decides: as long as it
    lasts (NEVER), no process ends the erasure, and once it has ended, nothing is on its way.
    """
    user, place = world.user("overtaken"), project("late")
    await live(user, WORD, projects=1, events=1, snapshots=1)
    blob = f"tenants/t1/users/{user.user_id}/documents/projects/late.json"
    # Every try of it: the client's patience may be over before the test's.
    held = world.proxy.inject(Fault.PAUSE_BEFORE, method="PUT", path=blob, times=EVER)
    writer = asyncio.create_task(create(user, place, WORD, key="late"))
    await happens(held.reached)
    erasure_id = (await forget(user))["erasure_id"]

    async def all_gone() -> bool:
        await world.run(user, settle=NEVER)
        return await world.blobs(user) == {}

    await eventually(all_gone)
    removed = (await status(user, erasure_id))["removed"]
    held.release()
    await happens(held.finished)
    assert blob in await world.blobs(user)
    assert (await writer).status in (201, 409, 503)

    async def gone_again() -> bool:
        await world.run(user, settle=NEVER)
        return await world.blobs(user) == {}

    await eventually(gone_again)
    assert (await status(user, erasure_id))["receipt"] is None
    await world.finish(user)
    receipt = await receipt_of(world, user, erasure_id)
    assert receipt["removed"]["documents"] == removed["documents"] + 1
    assert receipt["clean_scans"] == 2
