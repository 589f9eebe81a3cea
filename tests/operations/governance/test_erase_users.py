"""The timer: every erasure goes on, whatever becomes of the others."""

import logging
from collections import Counter
from typing import Any

import pytest

from memnet.domain.core.errors import InvalidIdentifier, Unavailable
from memnet.operations.governance.erase_user import Erased, erase_users
from tests.operations.erasure_scenario import OTHER, U1, U10, ErasureWorld


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    for scope in (U1, U10, OTHER):
        await made.live(scope)
        await made.request(scope=scope)
    return made


async def test_all_that_run_go_on_until_they_are_over(world: Any) -> None:
    assert await erase_users(None, world.services) == Counter({Erased.WAITING: 3})
    world.advance()
    assert await erase_users(None, world.services) == Counter({Erased.FINISHED: 3})
    assert await erase_users(None, world.services) == Counter()


async def test_of_one_tenant_only_its_own(world: Any) -> None:
    assert await erase_users("t1", world.services) == Counter({Erased.WAITING: 2})
    assert world.stored(OTHER) != {}


async def test_one_that_cannot_be_read_does_not_stop_the_others_and_is_not_named(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stored = await world.services.erasures.read(U1)
    await world.services.erasures.write(U1, b"{}", replaces=stored.storage_etag)
    with caplog.at_level(logging.ERROR):
        found = await erase_users(None, world.services)
    assert found == Counter({Erased.WAITING: 2, Erased.FAILING: 1})
    assert "HISTORY_CORRUPT" in caplog.text
    assert "u1" not in caplog.text


async def test_a_defect_does_not_stop_the_others_either(world: Any) -> None:
    async def fails(name: str, call: Any) -> Any:
        if name == "queue.purge" and await world.services.erasures.erasing("t10"):
            raise ZeroDivisionError
        return await call()

    found = await erase_users(None, world.erasing(fails))
    assert found == Counter({Erased.FAILING: 3})
    assert world.stored(U1) == world.stored(OTHER) == {}


async def test_a_fence_in_another_user_s_place_erases_nobody(world: Any) -> None:
    one, other = await world.services.erasures.read(U1), await world.services.erasures.read(U10)
    await world.services.erasures.write(U10, one.data, replaces=other.storage_etag)
    before = world.stored(U10)
    assert (await erase_users("t1", world.services))[Erased.FAILING] == 1
    assert world.stored(U10) == before


async def test_a_storage_that_is_down_is_told(world: Any) -> None:
    async def fails(name: str, call: Any) -> Any:
        if name == "erasures.erasing":
            raise Unavailable(dependency="blob_storage")
        return await call()

    with pytest.raises(Unavailable):
        await erase_users(None, world.erasing(fails))
    with pytest.raises(InvalidIdentifier):
        await erase_users("../t1", world.services)
