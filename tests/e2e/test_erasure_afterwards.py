"""What comes after an erasure on the whole local stack: a fresh start, what a hold leaves, and what is late.

What belongs to the worker (replays, timers) runs in a real one, which a test starts when it needs it.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from local.emulators.fault_proxy import Fault
from local.emulators.models.behaviour import says
from memnet.operations.governance.erase_user import Erased
from tests.domain.event_samples import event_body
from tests.domain.extraction_samples import answered_patch
from tests.e2e.client import DYNAMIC, Answer, User, add, eventually, prefer, project
from tests.e2e.erasing import MODEL, Stage, create, forget, live, memnet, over, quiet_stage, refused, tell
from tests.e2e.erasure_furniture import REPLAYS, furnish, message, session
from tests.e2e.replays import answered, ended

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVER = 10**6
OLD, NEW = "oldcanaryword", "newcanaryword"
TIMERS = (
    "reconcile_events",
    "requeue_jobs",
    "sweep_outboxes",
    "sign_checkpoints",
    "compact_documents",
    "refresh_documents",
)


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
        await asyncio.to_thread(world.models.script, MODEL, says(answered(patch, text=f"It was about {NEW}.")))
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
    said = await memnet(world, "audit", "verify", "--tenant", user.tenant_id, "--user", user.user_id)
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


async def test_a_worker_in_the_middle_of_a_replay_writes_nothing_more(world: Stage) -> None:
    """It waits for its model while the user is erased, and holds the user's session: until it lets go, it is unknown
    whether the queues are empty.
    """
    user = world.user("replayed")
    await live(user, OLD, projects=1, events=1, snapshots=0)
    patch = answered_patch(prefer(OLD), confidence=0.75)
    await asyncio.to_thread(world.models.reset)
    await asyncio.to_thread(world.models.script, MODEL, says(answered(patch, text=OLD)).behind("erasure"))
    async with working(world):
        await tell(user, 7, f"I prefer {OLD}.")

        async def is_asked() -> bool:
            return bool(await asyncio.to_thread(world.models.asked))

        await eventually(is_asked)
        erasure = await forget(user)

        async def is_held_up() -> bool:
            return await world.run(user) is Erased.FAILING

        await eventually(is_held_up)
        answer = await user.send("GET", f"/erasures/{erasure['erasure_id']}")
        assert (answer.body["status"], answer.body["failing"]) == ("running", {"queues": "UNAVAILABLE"})
        await asyncio.to_thread(world.models.open, "erasure")
        await invoked(world, "replay_snapshot")
        await world.finish(user)
    assert (await over(user, erasure["erasure_id"]))["status"] == "complete"
    found = await world.look(user)
    assert found.of(user) == {}
    assert found.holding(user.user_id) == []


async def test_timers_leave_the_user_alone_and_do_their_work_for_others(world: Stage) -> None:
    """While the storage refuses the removals, so that all of them meet everything half done."""
    user, neighbour = world.user("erased"), world.user("neighbour")
    for each in (user, neighbour):
        await furnish(world, each, OLD)
    changed = await create(neighbour, project("more"), "more", key="more")
    assert changed.status == 201
    world.proxy.inject(Fault.ANSWER_503, method="DELETE", path="/users/", times=EVER)
    erasure_id = (await forget(user))["erasure_id"]
    before = await world.blobs(user)
    async with working(world):
        for timer in TIMERS:
            await asyncio.to_thread(world.worker.fire, timer)
            await invoked(world, timer)
    assert (await world.blobs(user)).keys() <= before.keys()
    assert len([name for name in await world.blobs(neighbour) if "/heads/" in name]) == 2
    world.proxy.heal()
    await world.finish(user)
    assert (await over(user, erasure_id))["status"] == "complete"
    assert await world.blobs(user) == {}


@pytest.mark.parametrize("covers", ["user", pytest.param("tenant", marks=pytest.mark.slow)])
async def test_a_hold_leaves_everything_and_the_receipt_says_so(world: Stage, covers: str) -> None:
    user = world.user("held", "t2")
    await live(user, OLD, projects=1)
    hold = f"/v1/tenants/{user.tenant_id}" + (f"/users/{user.user_id}" if covers == "user" else "") + "/legal-hold"
    assert (await at(user, "PUT", hold, json={"reason": "litigation"})).status == 200

    async def flushed() -> bool:
        return len([name for name in await world.blobs(user) if "/audit/" in name]) == 2

    await eventually(flushed)
    etag = (await user.get(project("p0"))).etag
    before = await world.look(user)
    counts = before.counts(user)
    erasure_id = (await forget(user, key="first time"))["erasure_id"]
    receipt = await over(user, erasure_id)
    after = await world.look(user)
    assert after.of(user) == before.of(user)
    assert after.indexed == before.indexed
    assert after.messages == before.messages
    assert receipt["status"] == "partial"
    assert receipt["removed"] == {}
    kept = {kind: number for kind, number in counts.items() if kind != "messages"}
    assert {one["kind"]: one["count"] for one in receipt["remaining"]} == kept
    assert {(one["reason"], one["covers"], one["until"]) for one in receipt["remaining"]} == {
        ("legal_hold", covers, None)
    }

    # Writes continue, also from the version before the hold.
    assert (await user.patch(project("p0"), add("/content/facets/on", NEW), etag=etag, key="on")).status == 200
    assert (await at(user, "DELETE", hold, params={"reason": "settled"})).status == 200
    assert (await forget(user, key="first time"))["receipt"] == receipt
    second = await forget(user, key="second time")
    assert refused(await create(user, project("no"), OLD, key="no"))

    async def has_ended() -> bool:
        return await world.run(user) in (Erased.FINISHED, Erased.NOTHING)

    await eventually(has_ended)
    assert second["erasure_id"] != erasure_id
    assert (await over(user, second["erasure_id"]))["status"] == "complete"
    found = await world.look(user)
    assert found.of(user) == {}
    assert found.holding(user.user_id) == []


async def at(user: User, method: str, url: str, **more: Any) -> Answer:
    """A request that need not be below the user."""
    async with user.session.request(method, user.api + url, headers=user.authorization, **more) as answer:
        return Answer(answer.status, answer.headers.copy(), await answer.text())
