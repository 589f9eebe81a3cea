"""The erasure of a tenant and legal holds: one placed during it stays, and none is placed after a complete receipt."""

from typing import Any

import pytest

from memnet.domain.core.errors import TenantEnded
from memnet.domain.core.job import Job, JobKind
from memnet.domain.governance.erasure import Status
from memnet.operations.governance.erase_user import Erased
from memnet.operations.history.sign_checkpoints import sign_checkpoints
from tests.memory_blobs import unfenced
from tests.operations.erasure_scenario import ON_T1, U1, alpha
from tests.operations.governance.test_erase_tenant import TenantWorld
from tests.operations.retention_scenario import Between
from tests.services import service_of


@pytest.fixture
async def world() -> TenantWorld:
    made = TenantWorld()
    await made.fill()
    return made


async def test_tampering_with_a_user_on_hold_of_an_ended_tenant_is_detected(world: Any) -> None:
    services = world.services
    await world.hold()
    await world.end()
    await world.finish_tenant()
    names = ("users", "documents", "audit", "records", "clock", "erasures")
    ports = {name: getattr(services, name) for name in names} | {"keys": services.signing}
    assert (await sign_checkpoints(service_of(**ports))).broken == 0
    await world.drop(alpha(U1).blob_name)
    report = await sign_checkpoints(service_of(**ports))
    assert (report.broken, report.postponed) == (1, 0)


async def test_no_hold_is_placed_after_a_complete_receipt(world: Any) -> None:
    await world.hold()
    await world.end()
    assert (await world.finish_tenant()).status is Status.PARTIAL
    await world.hold(ON_T1)
    await world.release(ON_T1)
    await world.release()
    await world.end()
    await world.hold()
    await world.release()
    assert (await world.finish_tenant()).status is Status.COMPLETE
    with pytest.raises(TenantEnded):
        await world.hold()
    with pytest.raises(TenantEnded):
        await world.hold(ON_T1)
    await world.release()
    await world.release(ON_T1)
    assert world.names() == []


@pytest.mark.parametrize(
    ("call", "number"),
    [("users.list_users", 1), ("storage.list", 1), ("storage.list", 2), ("queue.purge", 1), ("signing.newest", 1)],
)
async def test_a_hold_on_the_tenant_placed_during_a_run_pauses_it(world: Any, call: Any, number: Any) -> None:
    await world.almost()
    assert await world.tenant(Between(call, lambda: world.hold(ON_T1), number)) is Erased.FAILING
    found = await world.erasure()
    assert (found.status, found.failing) == (Status.RUNNING, {"legal_hold": "TENANT_HELD"})
    assert await world.is_held(ON_T1)
    await world.release(ON_T1)
    assert (await world.finish_tenant()).status is Status.COMPLETE
    assert world.names() == []


async def test_a_hold_on_a_user_placed_during_a_run_stays_in_force(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    services = world.services
    monkeypatch.setattr("memnet.operations.governance.erase_tenant.PAGE", 1)
    await world.almost()
    # Marks are removed before holds: the user is known as not held when the hold is placed.
    for job_id in ("late", "later"):
        await unfenced(services.marks).mark(Job(JobKind.REPLAY, "t1", "u1", job_id))
    await world.tenant(Between("storage.delete", world.hold))
    assert await world.is_held()
