"""A version is found in one baseline and one segment, and its origins with it."""

from typing import Any

import pytest

from memnet.domain.core.errors import VersionNotFound
from memnet.operations.history.find_version import find_version
from tests.operations.baseline_scenario import split
from tests.operations.service_scenario import ALPHA, SCOPE
from tests.operations.storage_calls import StorageCalls
from tests.services import service_of


async def test_a_version_is_found_with_and_without_its_origins(service: Any) -> None:
    await service.count_up(4)
    await split(service, ALPHA, 3)
    ports, current = service_of(**service.ports()), await service.head()
    for moment in range(1, 5):
        plain = await find_version(ALPHA, current, moment, ports)
        traced = await find_version(ALPHA, current, moment, ports, is_traced=True)
        assert (plain.origins, plain.version().sequence) == (None, moment)
        assert traced.origins is not None
        assert traced.origins.content is not None
        assert traced.origins.content.plain() == traced.version().document["content"]
    with pytest.raises(VersionNotFound):
        await find_version(ALPHA, current, "2020-01-01T00:00:00.000000Z", ports)


async def test_a_history_that_is_given_is_not_listed(service: Any) -> None:
    await service.count_up(2)
    current = await service.head()
    history = await service.audit.history(SCOPE, current.doc_id)
    calls = StorageCalls(service)
    await find_version(ALPHA, current, 2, service_of(**service.ports()), history=history)
    assert [method for method, _ in calls.made] == ["get"]
