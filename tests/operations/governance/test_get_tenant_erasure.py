"""Telling how the end of a tenant stands."""

import pytest

from memnet.domain.core.errors import ErasureNotFound
from memnet.operations.governance.erase_tenant import get_tenant_erasure, request_tenant_erasure
from tests.operations.erasure_scenario import ADMIN, SETTLE, ErasureWorld


async def test_it_is_told_once_it_was_asked_for():
    erasing = ErasureWorld().services
    with pytest.raises(ErasureNotFound):
        await get_tenant_erasure("t1", erasing)
    asked = await request_tenant_erasure("t1", erasing, actor=ADMIN)
    found = await get_tenant_erasure("t1", erasing)
    assert found == asked
    assert found.members(SETTLE) == {
        "erasure_id": asked.erasure_id,
        "status": "running",
        "accepted_at": asked.accepted_at,
        "users": 0,
        "failing": {},
        "settled_at": None,
        "receipt": None,
    }
