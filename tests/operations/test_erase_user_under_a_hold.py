"""Legal holds beat an erasure, whenever they come: nothing is removed that a hold covers, and the receipt says so."""

import pytest

from memnet.domain import erasure as erasures
from memnet.domain.erasure import INDEXED, MESSAGES
from memnet.domain.erasure_receipt import Status
from memnet.domain.errors import ErasureRunning, Unavailable
from memnet.domain.write import IfMatch
from memnet.operations.erase_user import Erased
from memnet.operations.find_holds import find_holds
from memnet.operations.place_tenant_hold import place_tenant_hold
from tests.operations.erasure_world import ADMIN, U1, ErasureWorld, alpha
from tests.operations.retention_world import Between, FallsAt, StopsAt


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    await made.live(U1)
    return made


async def remains_of(world: ErasureWorld, erasure_id: str) -> dict[str, int]:
    """What the receipt says remains, which is what there is."""
    told = await world.status(erasure_id)
    assert told.status is Status.PARTIAL
    assert told.receipt is not None
    found = {one["kind"]: one["count"] for one in told.receipt["remains"] if one["count"]}
    there = world.stored(U1)
    if indexed := await world.indexed(U1):
        there[INDEXED] = indexed
    assert found == there
    return found


async def test_nothing_goes_and_the_receipt_says_so(world):
    await world.hold()
    before = world.stored(U1)
    status = await world.request()
    assert status.status is Status.PARTIAL
    assert status.receipt is not None
    assert status.removed == {}
    assert await remains_of(world, status.erasure_id) == before | {INDEXED: 5}
    assert {(one["reason"], one["covers"], one["until"]) for one in status.receipt["remains"]} == {
        ("legal_hold", "user", None)
    }
    assert await world.run() is Erased.NOTHING
    assert world.stored(U1) == before
    stored = await world.services.documents.get(alpha(U1))
    assert stored is not None
    assert stored.view is not None
    assert (await world.patch(U1, "goes on", IfMatch(stored.view.etag))).sequence == 3


async def test_after_the_release_a_new_request_completes(world):
    await world.hold()
    first = (await world.request()).erasure_id
    await world.release()
    assert (await world.request()).erasure_id == first
    assert await world.run() is Erased.NOTHING
    second = (await world.request("forget-2")).erasure_id
    await world.run()
    await world.finish()
    told = await world.status(second)
    assert told.status is Status.COMPLETE
    assert told.removed["holds"] == 2
    assert world.stored(U1) == {}


async def test_one_that_comes_in_the_middle_stops_it_there_for_good(world):
    erasure_id = (await world.request()).erasure_id
    assert await world.run(watch=Between("storage.list", world.hold)) is Erased.WAITING
    status = await world.status(erasure_id)
    assert (status.status, status.stopped_by, status.removed) == (Status.RUNNING, "user", {})
    before = world.stored(U1)

    # Whatever becomes of it: what was seen under a hold is not removed by the request of before.
    await world.release()
    assert await world.run() is Erased.WAITING
    assert world.stored(U1) == before | {"holds": 2}
    with pytest.raises(ErasureRunning):
        await world.patch(U1, "again")

    world.advance()
    assert await world.run() is Erased.FINISHED
    # The documents had been emptied: their tombstones held nothing, and were removed.
    assert (await world.status(erasure_id)).removed == {"documents": 1}
    remains = await remains_of(world, erasure_id)
    assert "documents" not in remains
    assert (remains["audit"], remains["holds"]) == (2, 2)
    assert (await world.patch(U1, "afresh")).created


async def test_one_that_comes_when_nothing_is_left_is_no_complete_erasure(world):
    erasure_id = (await world.request()).erasure_id
    await world.run()
    await place_tenant_hold(
        "t1",
        "litigation",
        actor=ADMIN,
        holds=world.services.holds,
        erasures=world.services.erasures,
        clock=world.services.clock,
    )
    await world.finish()
    told = await world.status(erasure_id)
    assert told.status is Status.PARTIAL
    assert told.receipt is not None
    assert [(one["kind"], one["covers"]) for one in told.receipt["remains"]] == [("late_writes", "tenant")]


async def test_a_batch_that_was_not_begun_when_it_came_stays_whole_and_is_not_counted(world):
    erasure_id = (await world.request()).erasure_id

    async def fails(name, call):
        if name == "storage.delete":
            raise Unavailable(dependency="blob_storage")
        return await call()

    assert await world.run(watch=fails) is Erased.FAILING
    stored = await world.services.erasures.read(U1)
    assert stored is not None
    assert len(erasures.load(U1, stored.data).batch) == 1
    before = world.stored(U1)
    await world.hold()
    await world.finish()
    # The index and the queues had been emptied, and the documents.
    assert (await world.status(erasure_id)).removed == {"documents": 1, INDEXED: 5, MESSAGES: 1}
    remains = await remains_of(world, erasure_id)
    assert remains == {kind: n for kind, n in before.items() if kind != "documents"} | {"holds": 1}


async def test_one_that_takes_the_number_of_a_hold_that_was_removed_stands(world):
    """A released hold is removed with the rest; the next one begins to count anew, under the same name."""
    await world.hold()
    await world.release()
    erasure_id = (await world.request()).erasure_id

    async def watch(name, call):
        found = await call()
        if name == "storage.delete" and not world.stored(U1):
            # All is gone, and its end is not written down: the process is.
            raise StopsAt
        return found

    with pytest.raises(StopsAt):
        await world.run(watch=watch)
    await world.hold()
    await world.finish()
    assert (await world.status(erasure_id)).status is Status.PARTIAL
    (hold,) = await find_holds(U1, holds=world.services.holds)
    assert hold.reason == "litigation"


@pytest.mark.parametrize("applied", [False, True])
async def test_a_released_hold_is_never_in_force_again(applied):
    """Its placing goes before its release, whatever is interrupted, and what is left of the row holds together."""

    async def steps(world: ErasureWorld, watch: FallsAt) -> None:
        await world.run(watch=watch)

    async def made() -> ErasureWorld:
        world = ErasureWorld()
        await world.live(U1)
        for _ in range(3):
            await world.hold()
            await world.release()
        await world.request()
        return world

    counter = FallsAt(0, applied=False)
    await steps(await made(), counter)
    for number, name in enumerate(counter.calls, 1):
        if name != "storage.delete":
            continue
        world = await made()
        with pytest.raises(StopsAt):
            await steps(world, FallsAt(number, applied=applied))
        assert await find_holds(U1, holds=world.services.holds) == ()


@pytest.mark.parametrize("applied", [False, True])
async def test_its_end_may_be_interrupted_anywhere(applied):
    async def made() -> tuple[ErasureWorld, str]:
        world = ErasureWorld()
        await world.live(U1)
        erasure_id = (await world.request()).erasure_id
        await world.run(watch=Between("storage.list", world.hold))
        world.advance()
        return world, erasure_id

    counter = FallsAt(0, applied=False)
    await (await made())[0].run(watch=counter)
    assert len(counter.calls) > 10
    for number in range(1, len(counter.calls) + 1):
        world, erasure_id = await made()
        with pytest.raises(StopsAt):
            await world.run(watch=FallsAt(number, applied=applied))
        await world.finish()
        assert (await world.status(erasure_id)).removed == {"documents": 1}
        assert (await remains_of(world, erasure_id))["audit"] == 2


@pytest.mark.parametrize(
    ("call", "error", "failing"),
    [
        ("index.list_of_user", Unavailable(dependency="search"), {"index": "UNAVAILABLE"}),
        ("index.list_of_user", ValueError("private"), {"blobs": "INTERNAL"}),
        ("storage.list", Unavailable(dependency="blob_storage"), {"blobs": "UNAVAILABLE"}),
        ("storage.delete", Unavailable(dependency="blob_storage"), {"blobs": "UNAVAILABLE"}),
    ],
)
async def test_a_store_that_fails_at_its_end_is_named(world, call, error, failing):
    erasure_id = (await world.request()).erasure_id
    await world.run(watch=Between("storage.list", world.hold))
    world.advance()

    async def fails(name, inner):
        if name == call:
            raise error
        return await inner()

    assert await world.run(watch=fails) is Erased.FAILING
    assert (await world.status(erasure_id)).failing == failing
    assert await world.run() is Erased.FINISHED
    assert (await remains_of(world, erasure_id))[INDEXED] == 5
