"""An erasure on the whole local stack: killed step by step, and what comes after it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from local.emulators.fault_proxy import Fault, Injection
from local.emulators.models import behaviour
from memnet.operations.governance.erase_user import Erased
from tests.domain.event_samples import event_body
from tests.domain.extraction_samples import answered_patch
from tests.e2e.cli_process import finish
from tests.e2e.client import DYNAMIC, User, add, eventually, prefer, project
from tests.e2e.erasing import (
    MODEL,
    Stage,
    command,
    create,
    forget,
    live,
    over,
    quiet_stage,
    tell,
    verify_offline,
)
from tests.e2e.erasure_furniture import REPLAYS, furnish, message, session
from tests.e2e.independent_look import says
from tests.e2e.replays import answered, ended
from tests.e2e.test_crash import Fate

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEED = 20260519
DEADLINE = 180
WORD = "canarywordofthesteps"
OLD, NEW = "oldcanaryword", "newcanaryword"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(azurite: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Only the API, once, and a test work on an erasure."""
    async with quiet_stage(azurite, tmp_path_factory.mktemp("stack")) as running:
        yield running


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(DEADLINE):
        await event.wait()


@asynccontextmanager
async def working(world: Stage) -> AsyncIterator[None]:
    """While the worker runs; none of its functions may fail meanwhile."""
    await asyncio.to_thread(world.worker.start)
    try:
        yield
        failures = {name: counts for name, counts in (await functions(world)).items() if counts["failures"]}
        assert failures == {}
    finally:
        await asyncio.to_thread(world.worker.stop)


async def functions(world: Stage) -> dict[str, dict[str, Any]]:
    return await asyncio.to_thread(world.worker.functions)


async def invoked(world: Stage, name: str) -> None:
    """Wait until the worker's function has been called and has come back."""

    async def is_done() -> bool:
        counts = (await functions(world))[name]
        return bool(counts["invocations"] > 0 and counts["running"] == 0)

    await eventually(is_done)


async def search(user: User, text: str) -> list[str]:
    answer = await user.send("POST", "/events:search", json={"query": text})
    assert answer.status == 200, answer.text
    return [event["digest"] for event in answer.body["events"]]


async def test_a_fresh_start_begins_with_nothing(world: Stage) -> None:
    user, place = world.user("fresh"), project("p0")
    await live(user, OLD, projects=1)
    first = await user.get(place)
    record = (await user.audit())[0]
    queued = (await world.look(user)).messages
    body = next(data for name, data in queued.items() if name.startswith(f"queue {REPLAYS}/"))
    erasure = await forget(user, key="first time")
    await world.finish(user)
    receipt = await over(user, erasure["erasure_id"])
    assert receipt["status"] == "complete"
    assert await world.blobs(user) == {}
    assert (await user.get(place)).status == 404
    assert await user.audit() == []
    assert await search(user, OLD) == []

    async with working(world):
        # A message of before that was on its way all the time.
        await send_late(world, user, body)
        await invoked(world, "replay_snapshot")
        found = await world.look()
        assert found.of(user) == {}
        assert found.holding(user.user_id) == []

        # No version of before is one, and the same requests with the same keys are new ones.
        stale = await user.patch(place, add("/content/facets/x", OLD), etag=first.etag, key="stale")
        assert (stale.status, stale.code) == (404, "DOCUMENT_NOT_FOUND")
        again = await create(user, place, f"{OLD} 0", key="create-0")
        assert (again.status, again.replayed) == (201, False)
        assert again.etag not in (first.etag, record["post_etag"])
        assert again.body["change_id"] != record["change_id"]
        for etag in (first.etag, record["post_etag"]):
            stale = await user.patch(place, add("/content/facets/x", OLD), etag=etag, key="change-0")
            assert (stale.status, stale.code) == (412, "ETAG_MISMATCH")
        renewed = await user.patch(place, add("/content/facets/said", NEW), etag=again.etag, key="change-0")
        assert (renewed.status, renewed.replayed) == (200, False)
        event = await user.send("POST", "/events", json=event_body("evt-0", digest=f"We spoke of {NEW}.", keywords=[]))
        assert (event.status, event.body["indexed"]) == (201, True)
        assert await search(user, "spoke") == [f"We spoke of {NEW}."]

        patch = answered_patch(prefer(f"I prefer {NEW}"), confidence=0.75)
        await asyncio.to_thread(
            world.models.script, MODEL, behaviour.says(answered(patch, text=f"It was about {NEW}."))
        )
        # Another conversation: the broker drops for ten minutes what has the name of an earlier message. In Azure an
        # erasure takes longer than that.
        replay = await ended(user, await tell(user, 9, f"I prefer {NEW}."))
        assert replay["status"] == "succeeded"
        assert replay["attempts"] == 1

    assert (await user.content(DYNAMIC))["preferences"] == [f"I prefer {NEW}"]
    assert {record["sequence"] for record in await user.audit()} == {1, 2}
    assert OLD not in "".join(json.dumps(each) for each in (await user.audit())[1:])
    before = await world.blobs(user)
    repeated = await user.send("DELETE", "/memory", headers={"Idempotency-Key": "first time"})
    assert (repeated.status, repeated.body["status"], repeated.body["receipt"]) == (202, "complete", receipt)
    assert (await world.run(user)) is Erased.NOTHING
    assert await world.blobs(user) == before
    said = await finish(command(world, "audit", "verify", "--tenant", user.tenant_id, "--user", user.user_id))
    assert "broken" not in said


async def send_late(world: Stage, user: User, shown: bytes) -> None:
    """Send the message in `shown` again, under a name of its own, because the broker still knows the first one."""
    body = shown[shown.index(b'{"') :]
    sent = message(user, REPLAYS, "any")
    late = ServiceBusMessage(body, message_id=sent.message_id, session_id=session(user))
    async with (
        ServiceBusClient.from_connection_string(world.stack.bus.connection_string) as client,
        client.get_queue_sender(REPLAYS) as sender,
    ):
        await sender.send_messages(late)


async def receipt_of(world: Stage, user: User, erasure_id: str) -> dict[str, Any]:
    """The receipt as it lies in the storage, where it must be the only trace of the user."""
    found = await world.look(user)
    data = found.blobs.get(f"erasures/{user.tenant_id}/{erasure_id}.json")
    assert data is not None, "there is no receipt"
    assert found.of(user) == {}
    assert found.holding(user.user_id) == []
    receipt: dict[str, Any] = json.loads(data.partition(b"\n")[2])
    return receipt


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
    # The journal's entry that names a batch, a removal of it, and the entry that ends it.
    kills = (
        ("PUT", "/erasing/", 1, Fate.APPLIED),
        ("DELETE", "/users/", Random(SEED).randint(1, 16), Fate.LATE),
        ("PUT", "/erasing/", 1, Fate.LOST),
    )
    for method, path, nth, fate in kills:
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
