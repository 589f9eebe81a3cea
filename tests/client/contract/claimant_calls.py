"""Calls on a workspace, in which statements have claimants."""

from typing import Any

import pytest

from memnet_client import errors
from tests.client.contract.sides import ALL_ROLES, PERSONAL, WORKSPACE, Side


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
    with pytest.raises(errors.PathNotWritable):
        shared.update("workspace", _end_first_claim, claimant=people[1], confidence=0.9)
    assert shared.read("workspace").content["claims"] == entries
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


def _end_first_claim(content: Any) -> None:
    del content["claims"][0]


def disputed_claims(side: Side) -> None:
    """Claims that contradict each other are marked by a recall; about a decision the tenant is asked, and answers."""
    own = side.client(profile=WORKSPACE, tenant=side.own_tenant)
    shared = own.user(f"workspace-{side.user_id}")
    people = [f"{name}-{side.user_id}" for name in ("noor", "iris")]
    said: dict[str, Any] = {"subject": "workspace", "confidence": 0.9, "evidence": {"conversation_id": "c1"}}
    for user_id in people:
        fact = {**said, "subject": "user", "attribute": "name", "value": "x", "text": "X."}
        side.client(profile=PERSONAL, tenant=side.own_tenant).user(user_id).append("personal", "/facts", fact)
    for user_id, day in zip(people, ("Friday", "Monday"), strict=True):
        claim = {**said, "attribute": "release day", "value": day, "text": f"Our release day is {day}."}
        assert shared.append("workspace", "/claims", claim, claimant=user_id).status == "applied"
    found = shared.recall("Which is our release day?")
    assert sorted((row["text"], row["disputed"]) for row in found.results) == [
        ("Our release day is Friday.", True),
        ("Our release day is Monday.", True),
    ]
    assert found.text.count("(disputed)") == 2
    first, second, third = (
        {**said, "question": "database", "value": name, "text": f"We decided on {name}."}
        for name in ("Postgres", "MySQL", "SQLite")
    )
    assert shared.append("workspace", "/decisions", first, claimant=people[0]).status == "applied"
    asked = shared.append("workspace", "/decisions", second, claimant=people[1])
    assert asked.settled[0]["verdict"] == "asked"
    (item,) = list(shared.pending())
    assert (item.decides, [one["value"] for one in shared.read("workspace").content["decisions"]]) == (
        "tenant",
        ["Postgres"],
    )
    reviewer = side.client("my-reviewer", ALL_ROLES, profile=WORKSPACE, tenant=side.own_tenant).user(
        f"workspace-{side.user_id}"
    )
    reviewer.confirm(item, evidence={"conversation_id": "review"}, confidence=0.95)
    closed, held = shared.read("workspace").content["decisions"]
    assert (closed["replaced_by"], held["value"]) == (held["id"], "MySQL")
    assert "valid_until" not in held
    assert shared.append("workspace", "/decisions", third, claimant=people[0]).settled[0]["verdict"] == "asked"
    (item,) = list(shared.pending())
    reviewer.confirm(item, evidence={"conversation_id": "review"}, confidence=0.95, take="both")
    entries = shared.read("workspace").content["decisions"]
    assert [one["value"] for one in entries if "valid_until" not in one] == ["MySQL", "SQLite"]
    fourth = {**said, "question": "database", "value": "Oracle", "text": "We decided on Oracle."}
    assert shared.append("workspace", "/decisions", fourth, claimant=people[1]).settled[0]["verdict"] == "asked"
    (item,) = list(shared.pending())
    reviewer.confirm(item, evidence={"conversation_id": "review"}, confidence=0.95, take="both", apart="old database")
    entries = shared.read("workspace").content["decisions"]
    assert [one["question"] for one in entries if one["value"] == "Oracle"] == ["old database"]
