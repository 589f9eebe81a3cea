"""The client, MCP and A2A know every status of a replay that the service answers."""

from typing import get_args

from memnet.domain.replay.replay import FINISHED, ReplayStatus
from memnet_client.a2a.tasks import STATES
from memnet_client.mcp.values import Replayed
from memnet_client.values import FINAL


def test_every_status_of_the_service_is_known() -> None:
    statuses = {status.value for status in ReplayStatus}
    assert {status.value for status in FINISHED} == FINAL
    assert set(get_args(Replayed.model_fields["status"].annotation)) == statuses
    assert STATES.keys() == statuses
