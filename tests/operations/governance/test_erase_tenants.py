"""What the timer does: every tenant that ends, and one that fails stops no other."""

from memnet.domain.governance.tenant_erasure import TenantStatus
from memnet.operations.governance.erase_tenant import erase_tenants, get_tenant_erasure, request_tenant_erasure
from memnet.operations.governance.erase_user import Erased
from tests.operations.erasure_scenario import ADMIN, ErasureWorld


async def test_one_that_cannot_be_read_stops_no_other_and_an_ended_one_is_not_looked_at():
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
    assert (await get_tenant_erasure("t1", erasing)).status is TenantStatus.COMPLETE
    assert await erase_tenants(erasing) == {Erased.FAILING: 1}
