"""Calls of retractions: one function per operation, as in `memory_calls`."""

import pytest

from memnet_client import errors
from tests.client.contract.governance_calls import TALK
from tests.client.contract.memory_calls import OPERATOR
from tests.client.contract.sides import Side

SOURCE = {"kind": "conversation", "conversation_id": "c1"}


def plan_retraction(side: Side) -> None:
    """Plan to take a conversation back; the plan names what was said, and nothing changes."""
    maya = side.user(*OPERATOR)
    with pytest.raises(errors.UserNotFound):
        maya.plan_retraction(SOURCE, reason="It was injected.", key="k1")
    maya.hand_in("c1", TALK)
    plan = maya.plan_retraction(SOURCE, reason="It was injected.", key="k1")
    assert (plan["status"], plan["source"], plan["planned_by"]) == ("planned", SOURCE, "operator")
    assert [one["kind"] for one in plan["items"]].count("snapshot") == 1
    again = maya.plan_retraction(SOURCE, reason="It was injected.", key="k1")
    assert again["retraction_id"] == plan["retraction_id"]
    with pytest.raises(errors.IdempotencyKeyReused):
        maya.plan_retraction(SOURCE, reason="Another reason.", key="k1")
    with pytest.raises(errors.MalformedRequest):
        maya.plan_retraction({"kind": "replay"}, reason="It was injected.")
    with pytest.raises(errors.RoleRequired):
        side.user().plan_retraction(SOURCE, reason="It was injected.")
    maya.place_hold("Case 4711")
    with pytest.raises(errors.UserHeld):
        maya.plan_retraction(SOURCE, reason="It was injected.", key="k2")


def list_retractions(side: Side) -> None:
    """List the retractions of a user."""
    maya = side.user(*OPERATOR)
    assert list(maya.retractions()) == []
    maya.hand_in("c1", TALK)
    plan = maya.plan_retraction(SOURCE, reason="It was injected.")
    (row,) = list(maya.retractions())
    assert (row["retraction_id"], row["etag"]) == (plan["retraction_id"], plan["etag"])
    assert "documents" not in row


def get_retraction(side: Side) -> None:
    """Get a retraction with its plan."""
    maya = side.user(*OPERATOR)
    maya.hand_in("c1", TALK)
    plan = maya.plan_retraction(SOURCE, reason="It was injected.")
    assert maya.retraction(plan["retraction_id"]) == plan
    with pytest.raises(errors.RetractionNotFound):
        maya.retraction("rtr-none")


def apply_retraction(side: Side) -> None:
    """Apply a plan by its ETag."""
    maya = side.user(*OPERATOR)
    maya.hand_in("c1", TALK)
    plan = maya.plan_retraction(SOURCE, reason="It was injected.")
    with pytest.raises(errors.ETagMismatch):
        maya.apply_retraction(plan["retraction_id"], etag='"other"')
    begun = maya.apply_retraction(plan["retraction_id"], etag=plan["etag"])
    assert (begun["status"] in ("applying", "applied"), begun["applied_by"]) == (True, "operator")
    with pytest.raises(errors.RoleRequired):
        side.user().apply_retraction(plan["retraction_id"], etag=plan["etag"])


def undo_retraction(side: Side) -> None:
    """Undo a retraction; one that is undone is not applied again."""
    maya = side.user(*OPERATOR)
    maya.hand_in("c1", TALK)
    plan = maya.plan_retraction(SOURCE, reason="It was injected.")
    begun = maya.undo_retraction(plan["retraction_id"])
    assert (begun["status"] in ("undoing", "undone"), begun["undone_by"]) == (True, "operator")
    with pytest.raises(errors.RetractionClosed):
        maya.apply_retraction(plan["retraction_id"], etag=plan["etag"])


def retract_conversation(side: Side) -> None:
    """Take a conversation back in one call; a dry run only plans it, and the same key takes it back once."""
    maya = side.user(*OPERATOR)
    maya.hand_in("c1", TALK)
    planned = maya.retract_conversation("c1", reason="It was poisoned.", dry_run=True, key="k1")
    assert (planned["status"], planned["source"], planned["applied_by"]) == ("planned", SOURCE, None)
    assert planned["counts"]["items"] > 0
    assert planned["documents"] == []
    assert ("snapshot", "remove") in [(item["kind"], item["fate"]) for item in planned["items"]]
    assert [row["conversation_id"] for row in maya.conversations()] == ["c1"]
    begun = maya.retract_conversation("c1", reason="It was poisoned.", key="k1")
    assert (begun["status"] in ("applying", "applied"), begun["applied_by"]) == (True, "operator")
    assert begun["retraction_id"] == planned["retraction_id"]
    again = maya.retract_conversation("c1", reason="It was poisoned.", key="k1")
    assert (again["retraction_id"], again["applied_by"]) == (begun["retraction_id"], "operator")
    with pytest.raises(errors.IdempotencyKeyReused):
        maya.retract_conversation("c2", reason="It was poisoned.", key="k1")
    with pytest.raises(errors.MalformedRequest):
        maya.retract_conversation("c2", reason="")
    with pytest.raises(errors.RoleRequired):
        side.user().retract_conversation("c1", reason="It was poisoned.")
    maya.place_hold("Case 4711")
    with pytest.raises(errors.UserHeld):
        maya.retract_conversation("c2", reason="It was poisoned.", key="k2")
