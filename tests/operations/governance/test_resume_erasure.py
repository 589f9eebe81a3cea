"""Taking up an erasure: when its fence was first seen, and that nobody removes what has become something else."""

from datetime import datetime
from functools import partial
from typing import Any

import pytest

from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import Found, kind_of
from memnet.operations.governance.erase_user import Erased
from memnet.operations.governance.erasure_request import ErasureJournal, resume_erasure
from memnet.paging import rows
from memnet.ports import StoreConflict
from tests.domain.erasure_samples import erasure
from tests.operations.erasure_scenario import U1, U10, ErasureWorld, alpha
from tests.operations.retention_scenario import Between


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    await made.live(U1)
    return made


async def opened(world: ErasureWorld) -> ErasureJournal:
    journal = await resume_erasure(U1, world.erasing())
    assert journal is not None
    return journal


async def test_without_a_fence_there_is_nothing_to_take_up(world: Any) -> None:
    assert await resume_erasure(U10, world.erasing()) is None


async def test_whoever_sees_the_fence_first_notes_when(world: Any) -> None:
    """Its writer may have been killed, or never have had an answer, and the time that it named be long ago."""
    asked = erasure(U1, started_at=None)
    await world.services.erasures.write(U1, erasures.dump(asked), replaces=None)
    world.advance()
    seen = to_text(world.services.clock.now())
    assert (await opened(world)).erasure.started_at == seen
    world.advance()
    journal = await opened(world)
    assert journal.erasure.started_at == seen
    stored = await world.services.erasures.read(U1)
    assert stored is not None
    assert (erasures.load(U1, stored.data), stored.storage_etag) == (journal.erasure, journal.tag)


async def test_one_that_is_overtaken_while_it_looks_stops(world: Any) -> None:
    await world.request()
    journal = await opened(world)
    await (await opened(world)).note(erasures.counted(journal.erasure, {"messages": 1}))
    with pytest.raises(StoreConflict):
        await journal.note(erasures.counted(journal.erasure, {"messages": 2}))


async def test_what_is_removed_is_dated_when_the_record_was_last_known(world: Any) -> None:
    await world.request()
    journal = await opened(world)
    assert journal.known_at == world.services.clock.now()
    world.advance()
    dates: list[datetime] = []
    storage = world.services.user_storage
    inner = storage.delete

    async def delete(scope: UserScope, found: Found, *, known_at: datetime) -> None:
        dates.append(known_at)
        # However long each takes.
        world.advance()
        await inner(scope, found, known_at=known_at)

    storage.delete = delete
    noted = world.services.clock.now()
    await journal.remove([found async for found in rows(partial(storage.list, U1))][:3])
    assert dates == [noted] * 3
    assert journal.known_at > noted


async def test_what_has_become_something_else_is_left_and_not_counted(world: Any) -> None:
    await world.request()
    journal = await opened(world)
    there = [found async for found in rows(partial(world.services.user_storage.list, U1))]
    altered = [Found(one.name, '"another"') if kind_of(U1, one.name) == "audit" else one for one in there]
    await journal.remove(altered)
    assert world.stored(U1) == {"audit": 2}
    assert "audit" not in journal.erasure.removed
    assert sum(journal.erasure.removed.values()) == len(there) - 2
    assert journal.erasure.batch == ()


async def test_a_process_that_stood_still_removes_nothing_of_the_fresh_start(world: Any) -> None:
    """It has written down what it is going to remove; when it wakes up, all of it is somebody's new memory."""
    await world.request()
    fresh: dict[str, int] = {}

    async def meanwhile() -> None:
        await world.run()
        await world.finish()
        await world.live(U1)
        fresh.update(world.stored(U1))

    watch: Any = Between("storage.delete", meanwhile)
    assert await world.run(watch=watch) is Erased.TAKEN_OVER
    assert world.stored(U1) == fresh
    stored = await world.services.documents.get(alpha(U1))
    assert stored is not None
    assert stored.view is not None
