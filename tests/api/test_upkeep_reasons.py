"""The reasons of upkeep are the service's own: no client can claim them."""

import pytest
from pydantic import ValidationError

from api.bodies import PatchBody
from memnet.domain.core.access import ROLE_OF_REASON
from memnet.domain.core.reason import Reason


@pytest.mark.parametrize("reason", [Reason.COMPACTION, Reason.FRESHNESS])
def test_no_role_gives_them_and_no_body_takes_them(reason: Reason) -> None:
    assert reason not in ROLE_OF_REASON
    body = {"profile_id": "p", "binding_id": "b", "ops": []}
    assert PatchBody(**body, reason="live_update").reason == "live_update"
    with pytest.raises(ValidationError):
        PatchBody(**body, reason=reason.value)
