"""Asking for the end of a tenant."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import ErasureNotFound, HistoryCorrupt, InvalidIdentifier, TenantEnded, TenantHeld
from memnet.domain.governance.erasure import Status
from memnet.operations.governance.erase_tenant import get_tenant_erasure, request_tenant_erasure
from tests.operations.erasure_scenario import ADMIN, ON_T1, SETTLE, ErasureWorld
from tests.operations.replay_scenario import Watched
from tests.operations.retention_scenario import Between


@pytest.fixture
def world() -> ErasureWorld:
    return ErasureWorld()


async def test_the_same_request_again_is_the_same_erasure(world: Any) -> None:
    erasing = world.services
    first = await request_tenant_erasure("t1", erasing, actor=ADMIN)
    assert (first.status, first.requested_by) == (Status.RUNNING, ADMIN.principal)
    assert await request_tenant_erasure("t1", erasing, actor=ADMIN) == first
    with pytest.raises(TenantEnded):
        await erasing.erasures.check_tenant("t1")
    await erasing.erasures.check_tenant("t10")


async def test_of_two_at_once_one_stands(world: Any) -> None:
    erasing = world.services
    found = []

    async def other() -> None:
        found.append(await request_tenant_erasure("t1", erasing, actor=ADMIN))

    watched = replace(erasing, erasures=Watched("erasures", erasing.erasures, Between("erasures.write_end", other)))
    assert [await request_tenant_erasure("t1", watched, actor=ADMIN)] == found


async def test_a_hold_on_the_tenant_refuses_it_and_nothing_is_fenced(world: Any) -> None:
    services = world.services
    await world.hold(ON_T1)
    with pytest.raises(TenantHeld):
        await request_tenant_erasure("t1", services, actor=ADMIN)
    await services.erasures.check_tenant("t1")


async def test_nothing_is_accepted_that_could_not_be_signed_or_read(world: Any) -> None:
    erasing = world.services
    with pytest.raises(InvalidIdentifier):
        await request_tenant_erasure("t/1", erasing, actor=ADMIN)
    await erasing.erasures.write_end("t2", b"{}", replaces=None, runs=True)
    with pytest.raises(HistoryCorrupt):
        await request_tenant_erasure("t2", erasing, actor=ADMIN)


async def test_it_is_told_once_it_was_asked_for() -> None:
    erasing = ErasureWorld().services
    with pytest.raises(ErasureNotFound):
        await get_tenant_erasure("t1", erasing)
    asked = await request_tenant_erasure("t1", erasing, actor=ADMIN)
    found = await get_tenant_erasure("t1", erasing)
    assert found == asked
    assert found.to_json(SETTLE) == {
        "erasure_id": asked.erasure_id,
        "status": "running",
        "accepted_at": asked.accepted_at,
        "users": 0,
        "failing": {},
        "settled_at": None,
        "receipt": None,
    }
