"""Counting what a legal hold keeps."""

from memnet.domain.governance.erasure import INDEXED
from memnet.domain.governance.erasure_receipt import LATE, Remainder
from memnet.operations.governance.erasure_request import count_remaining
from tests.operations.erasure_scenario import OTHER, U1, ErasureWorld


async def test_it_is_counted_by_kind_and_the_index_too():
    world = ErasureWorld()
    await world.live(U1)
    remains = await count_remaining(U1, "tenant", world.erasing())
    assert {one.kind: one.count for one in remains} == world.stored(U1) | {INDEXED: 5}
    assert {(one.reason, one.covers) for one in remains} == {("legal_hold", "tenant")}


async def test_where_nothing_is_something_may_still_arrive():
    assert await count_remaining(OTHER, "user", ErasureWorld().erasing()) == [Remainder(LATE, 0, "legal_hold", "user")]
