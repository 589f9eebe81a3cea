"""Calls on a workspace, in which statements have claimants."""

from typing import Any

import pytest

from memnet_client import errors
from tests.client.contract.sides import PERSONAL, WORKSPACE, Side


def claimants(side: Side) -> None:
    """Two colleagues disagree in a workspace: each has a code, and both stay."""
    shared = side.client(profile=WORKSPACE).user(f"workspace-{side.user_id}")
    people = [f"{name}-{side.user_id}" for name in ("noor", "iris")]
    claim: dict[str, Any] = {
        "subject": "workspace",
        "attribute": "release day",
        "confidence": 0.9,
        "evidence": {"conversation_id": "c1"},
    }
    claims = [{**claim, "value": value, "text": f"Our release day is {value}."} for value in ("Friday", "Monday")]
    with pytest.raises(errors.ClaimantNotFound):
        shared.append("workspace", "/claims", claims[0], claimant=people[0])
    for user_id in people:
        side.client(profile=PERSONAL).user(user_id).append("personal", "/facts", {**claim, "value": "x", "text": "X."})
    for user_id, one in zip(people, claims, strict=True):
        assert shared.append("workspace", "/claims", one, claimant=user_id).status == "applied"
    entries = shared.read("workspace").content["claims"]
    assert [(one["value"], "valid_until" in one) for one in entries] == [("Friday", False), ("Monday", False)]
    assert len({one["claimed_by"] for one in entries} - {None}) == 2
    assert not any(user_id in str(entries) for user_id in people)
    forged = {
        **claims[0],
        "value": "Sunday",
        "text": "Our release day is Sunday.",
        "claimed_by": entries[0]["claimed_by"],
    }
    with pytest.raises(errors.PathNotWritable):
        shared.append("workspace", "/claims", forged, claimant=people[1])
    with pytest.raises(errors.ClaimantNotAccepted):
        side.user(profile=PERSONAL).append("personal", "/facts", claims[0], claimant=people[0])
    said = {"turn_id": "t1", "messages": [{"role": "user", "content": "Our release day is Friday."}]}
    (first,) = shared.store_turns("c1", [{**said, "claimant": {"user_id": people[0]}}])
    (again,) = shared.store_turns("c1", [{**said, "claimant": {"user_id": people[0]}}])
    assert again.replay_id == first.replay_id
    with pytest.raises(errors.SnapshotExists):
        shared.store_turns("c1", [{**said, "claimant": {"user_id": people[1]}}])
    with pytest.raises(errors.ClaimantNotFound):
        shared.store_turns("c1", [{**said, "claimant": {"user_id": f"stranger-{side.user_id}"}}])
