"""Taking a tenant out of the index: all of it but what belongs to held users."""

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import Status
from memnet.operations.governance import erase_tenant as module
from memnet.operations.governance.erase_tenant import (
    erase_tenant_index,
    erase_tenants,
    get_tenant_erasure,
    request_tenant_erasure,
)
from memnet.operations.governance.erase_user import Erased
from tests.operations.erasure_scenario import ADMIN, OTHER, U1, U10, ErasureWorld


async def test_it_removes_everything_but_the_held_users_over_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INDEX_PAGE", 2)
    world = ErasureWorld()
    for scope in (U1, U10, OTHER, UserScope("t1", "u2")):
        await world.live(scope)
    search = world.services.search
    assert await erase_tenant_index("t1", [U10], search=search) == 10
    assert [await world.indexed(scope) for scope in (U1, U10, OTHER)] == [0, 5, 5]
    assert await erase_tenant_index("t1", [U10], search=search) == 0


async def test_what_cannot_be_removed_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ErasureWorld()
    await world.live(U1)
    search = world.services.search

    async def refuses(name: str, keys: list[str]) -> frozenset[str]:
        return frozenset(keys)

    monkeypatch.setattr(search.index, "delete", refuses)
    with pytest.raises(Unavailable):
        await erase_tenant_index("t1", [], search=search)


async def test_without_an_index_there_is_nothing() -> None:
    assert await erase_tenant_index("t1", [], search=ErasureWorld().services.search) == 0


async def test_one_that_cannot_be_read_stops_no_other_and_an_ended_one_is_not_looked_at() -> None:
    world = ErasureWorld()
    erasing = world.services
    assert await erase_tenants(erasing) == {}
    await erasing.erasures.write_end("t0", b"{", replaces=None, runs=True)
    await request_tenant_erasure("t1", erasing, actor=ADMIN)
    assert await erase_tenants(erasing) == {Erased.FAILING: 1, Erased.WAITING: 1}
    for _ in range(2):
        world.advance()
        found = await erase_tenants(erasing)
    assert found == {Erased.FAILING: 1, Erased.FINISHED: 1}
    assert (await get_tenant_erasure("t1", erasing)).status is Status.COMPLETE
    assert await erase_tenants(erasing) == {Erased.FAILING: 1}
