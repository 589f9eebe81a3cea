"""The timer that erases: the end of a tenant does not delay the erasure of a user."""

from collections import Counter
from typing import Any

import pytest

from tests.operations.erasure_scenario import U1, ErasureWorld
from workers import work


async def test_users_are_erased_before_tenants_are(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ErasureWorld()
    await world.live(U1)
    await world.request()
    left: list[dict[str, int]] = []

    async def erase_tenants(_: Any) -> Counter[Any]:
        left.append(world.stored(U1))
        return Counter()

    assert world.stored(U1) != {}
    monkeypatch.setattr(work, "erase_tenants", erase_tenants)
    await work.erase(world.services)
    assert left == [{}]
