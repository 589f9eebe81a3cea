"""The origins of a document: of one segment, or of all records that are kept."""

from typing import Any

from memnet.operations.history.read_origins import read_origins
from tests.operations.baseline_scenario import split
from tests.operations.service_scenario import ALPHA, Service
from tests.services import service_of


async def test_all_values_before_are_known_from_the_whole_history_only(service: Any) -> None:
    await _three_summaries(service)
    ports = service_of(**service.ports())
    for is_whole, begins, before in ((False, 2, ["note 1"]), (True, 0, ["note 1", "note 0", ""])):
        found = await read_origins(ALPHA, ports, is_whole=is_whole)
        assert found.origins.content is not None
        node = found.origins.content.at(("summary",))
        assert (found.origins.begins, [one.value for one in node.before()]) == (begins, before)
        assert found.origins.knows_before(node)
        assert (found.version.sequence, found.version.etag) == (3, (await service.head()).commit.etag)


async def _three_summaries(service: Service) -> None:
    await service.count_up(3)
    await split(service, ALPHA, 3)  # type: ignore[arg-type]
