"""The request of an erasure: afterwards every write is refused, and a repeated request is the same erasure."""

from typing import Any

import pytest

from memnet.domain.core.errors import DecryptionFailed, ErasureRunning
from memnet.domain.core.scope import ETag
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents.commands import IfAbsent, IfMatch
from memnet.domain.governance.erasure import Status
from memnet.operations.governance.erase_user import Erased
from tests.operations.erasure_scenario import SETTLE, U1, U10, ErasureWorld, alpha
from tests.operations.retention_scenario import Between, Fails, FallsAt, StopsAt


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    await made.live(U1)
    return made


async def test_after_the_response_every_write_is_refused(world: Any) -> None:
    stored = await world.services.documents.get(alpha(U1))
    await world.request()
    for over in (IfAbsent(), IfMatch(stored.view.etag), IfMatch(ETag('"9-0000000000000000"'))):
        with pytest.raises(ErasureRunning):
            await world.patch(U1, "again", over)
    with pytest.raises(ErasureRunning):
        await world.event(U1, "evt-late")
    with pytest.raises(ErasureRunning):
        await world.snapshot(U1, "s-late")
    assert (await world.patch(U10, "another user's")).created


async def test_a_repeated_request_is_the_same_erasure(world: Any) -> None:
    first = await world.request()
    again = await world.request()
    assert first.erasure_id == again.erasure_id
    assert (first.status, again.status) == (Status.RUNNING, Status.RUNNING)
    assert first.settled_at == again.settled_at


async def test_another_request_during_an_erasure_is_refused_with_its_id(world: Any) -> None:
    """Were it answered with the other one, its own repetition would erase what the user has stored since."""
    first = await world.request()
    with pytest.raises(ErasureRunning) as refused:
        await world.request("forget-2")
    assert refused.value.details == {"erasure_id": first.erasure_id}
    await world.finish()
    await world.patch(U1, "afresh")
    assert (await world.request()).status is Status.COMPLETE
    assert (await world.services.documents.get(alpha(U1))).view is not None


async def test_without_a_signing_key_nothing_is_started(world: Any) -> None:
    with pytest.raises(DecryptionFailed):
        await world.request(watch=Fails("signing.newest", DecryptionFailed()))
    assert await world.services.erasures.read(U1) is None
    stored = await world.services.documents.get(alpha(U1))
    assert stored is not None
    assert stored.view is not None


async def test_tombstones_are_dated_when_the_fence_was_read(world: Any) -> None:
    """It is dated when the fence was known to stand: what would arrive after the end is refused for its age."""
    then = world.services.clock.now()
    dates: list[object] = []
    inner = world.services.documents.put

    async def put(*given: Any, known_at: Any = None, **named: Any) -> None:
        dates.append(known_at)
        await inner(*given, known_at=known_at, **named)

    world.services.documents.put = put
    await world.request(watch=Between("documents.list", world.pause))
    assert dates == [then]


async def test_the_settle_time_starts_when_the_fence_exists(world: Any) -> None:
    status = await world.request(watch=Between("erasures.write", world.pause))
    now = world.services.clock.now()
    assert status.settled_at == to_text(now + SETTLE)
    assert await world.run() is Erased.WAITING
    with pytest.raises(ErasureRunning):
        await world.patch(U1, "again")


async def test_a_request_interrupted_at_any_call_can_be_repeated(world: Any) -> None:
    counter = FallsAt(0, applied=False)
    await ErasureWorld().request(watch=counter)
    for number in range(1, len(counter.calls) + 1):
        fresh = ErasureWorld()
        await fresh.live(U1)
        with pytest.raises(StopsAt):
            await fresh.request(watch=FallsAt(number, applied=True))
        status = await fresh.request()
        with pytest.raises(ErasureRunning):
            await fresh.patch(U1, "again")
        fresh.advance()
        assert await fresh.run() is Erased.FINISHED
        assert (await fresh.status(status.erasure_id)).status is Status.COMPLETE


async def test_concurrent_requests_create_one_fence(world: Any) -> None:
    ids = list[str]()

    async def other() -> None:
        ids.append((await world.request()).erasure_id)

    status = await world.request(watch=Between("erasures.write", other))
    assert ids == [status.erasure_id]
    third = Between("erasures.write", lambda: world.request("forget-2", scope=U10))
    with pytest.raises(ErasureRunning):
        await world.request("forget-3", scope=U10, watch=third)


async def test_an_erasure_that_ends_meanwhile_is_not_started_again(world: Any) -> None:
    """The receipt is created between the read of the receipt and the write of the fence."""
    first = (await world.request()).erasure_id
    await world.run()
    world.advance()
    await world.services.erasures.lift(U1, tag=(await world.services.erasures.read(U1)).storage_etag)

    async def ends() -> None:
        # As if the other process had been a moment slower than it was.
        await world.request()
        await world.run()
        world.advance()
        await world.run()
        await world.patch(U1, "afresh")

    status = await world.request(watch=Between("erasures.write", ends))
    assert status.erasure_id == first
    assert status.status is Status.COMPLETE
    stored = await world.services.documents.get(alpha(U1))
    assert stored is not None
    assert stored.view is not None
    assert await world.services.erasures.read(U1) is None
