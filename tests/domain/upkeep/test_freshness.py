"""What has expired goes; what is stale waits for someone to confirm it, as far as there is room."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.catalog.catalog import ProtectedSections
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import apply
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import to_text
from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.freshness import next_refresh, plan_freshness
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan, find_lost
from tests.domain.upkeep_samples import FACTS, NOW, SCHEMA, ago, applied, around, fact, proposal, rules

WORKER = "memnet-worker"
OLD = fact("old", last_verified_at=ago(101), evidence={"conversation_id": "c"})


def refresh(content: Json, *sections: dict[str, Any], **members: Any) -> MaintenancePlan:
    """Plan, and hold what every plan holds."""
    governance = rules(*(sections or (FACTS,)), **members)
    before = canonical(content)
    plan = plan_freshness(content, governance, around(governance), NOW, proposer=WORKER)
    assert canonical(content) == before
    assert applied(content, plan) == plan.content
    again = plan_freshness(plan.content, governance, around(governance), NOW, proposer=WORKER)
    assert (again.ops, again.kept_for_space) == ([], plan.kept_for_space)
    told = [entry for detail in plan.details for entry in detail.entries]
    assert find_lost(content, plan, governance, around(governance), saved=told) == ()
    return plan


@pytest.mark.parametrize(
    ("verified", "stale"),
    [(ago(99.9), False), (ago(100), True), (ago(4000), True), ("2026-02-20", True), ("2026-02-21", False),
     ("long ago", False), (None, False), (7, False), (ago(-3), False)],
)  # fmt: skip
def test_a_fact_is_stale_from_the_day_it_was_not_verified_for_so_long(verified: Any, stale: Any) -> None:
    plan = refresh({"facts": [{"text": "x", "last_verified_at": verified}], "waiting": []})
    assert (plan.content["facts"] == []) is stale
    assert len(plan.content["waiting"]) == stale


@pytest.mark.parametrize(
    ("entries", "days"),
    [
        ([], None),
        ([{"text": "x"}], None),
        ([{"text": "x", "last_verified_at": ago(90)}], 10),
        ([{"text": "x", "last_verified_at": ago(90), "expires_at": ago(-3)}], 3),
        ([{"text": "x", "last_verified_at": ago(90)}, {"text": "y", "expires_at": ago(-30)}], 10),
        ([{"text": "x", "last_verified_at": ago(100)}, {"text": "y", "expires_at": ago(0)}], None),
    ],
)
def test_the_next_refresh_is_when_the_first_entry_expires_or_becomes_stale(entries: Any, days: int | None) -> None:
    expected = None if days is None else NOW + timedelta(days=days)
    assert next_refresh({"facts": entries, "waiting": []}, rules(FACTS), NOW) == expected


def test_it_waits_as_a_proposal_that_would_put_it_back() -> None:
    plan = refresh({"facts": [fact("new"), OLD], "waiting": [proposal("x")]})
    assert plan.content["facts"] == [fact("new")]
    first, item = plan.content["waiting"]
    assert first == proposal("x")
    assert len(item.pop("id")) == 32
    assert item == {
        "text": "old",
        "confidence": 0.9,
        "evidence": {"conversation_id": "c"},
        "proposed_at": to_text(NOW),
        "proposed_by": WORKER,
        "profile_id": "p",
        "binding_id": "b",
        "on_behalf_of": None,
        "proposed_on": None,
        "target": {"op": "add", "path": "/content/facts/-", "value": OLD},
        "base": {"facts": []},
    }
    put_back = apply({"content": plan.content}, [item["target"]])["content"]
    assert put_back["facts"] == [fact("new"), OLD]
    assert [(step.action, step.entry, step.into["text"]) for step in plan.steps] == [(EntryAction.STALE, OLD, "old")]
    assert (plan.details, plan.kept_for_space) == ((), 0)


def test_what_a_fact_does_not_say_is_null_in_the_proposal() -> None:
    plan = refresh({"facts": [{"text": "x", "last_verified_at": ago(101)}]})
    [item] = plan.content["waiting"]
    assert (item["confidence"], item["evidence"]) == (None, None)
    assert plan.ops[0]["op"] == "remove"
    assert plan.ops[1] == {"op": "add", "path": "/content/waiting", "value": [item]}


def test_two_of_the_same_wait_under_ids_of_their_own() -> None:
    waiting = refresh({"facts": [OLD, OLD]}).content["waiting"]
    assert len({item["id"] for item in waiting}) == 2


def test_what_has_expired_goes_even_if_it_is_stale() -> None:
    entry = {**OLD, "expires_at": ago(1)}
    plan = refresh({"facts": [entry]})
    assert plan.content == {"facts": []}
    assert [detail.entries for detail in plan.details] == [(entry,)]


def test_the_stalest_go_first_into_what_room_there_is() -> None:
    facts = [{**OLD, "text": f"{days}", "last_verified_at": ago(days)} for days in (150, 300, 120, 200)]
    limits = {"b": {"max_waiting": 3}}
    plan = refresh({"facts": facts, "waiting": [proposal("x")]}, compaction_rules=limits)
    assert [item["text"] for item in plan.content["waiting"]] == ["x", "300", "200"]
    assert [entry["text"] for entry in plan.content["facts"]] == ["150", "120"]
    assert plan.kept_for_space == 2


def test_a_document_does_not_outgrow_its_limit() -> None:
    content = {"facts": [OLD, {**OLD, "text": "older", "last_verified_at": ago(300)}]}
    grown = len(canonical(refresh(content).content))
    plan = refresh(content, max_chars=grown - 1)
    assert (len(plan.content["facts"]), plan.kept_for_space) == (1, 1)
    assert refresh(content, max_chars=len(canonical(content))).ops == []


def test_what_the_schema_does_not_take_as_a_proposal_stays() -> None:
    items = {"type": "object", "properties": {"evidence": {"type": "object"}}}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "waiting": {"type": "array", "items": items}}}
    plan = refresh({"facts": [{**OLD, "evidence": {}}, OLD]}, schema=schema)
    assert [entry["evidence"] for entry in plan.content["facts"]] == [{}]
    assert plan.kept_for_space == 1


@pytest.mark.parametrize("pending", ["/waiting/deep", "/title/waiting"])
def test_a_pending_section_that_cannot_be_made_takes_nothing(pending: Any) -> None:
    plan = refresh({"title": "t", "facts": [OLD]}, pending_sections={"b": pending})
    assert (plan.ops, plan.kept_for_space) == ([], 1)


def test_a_fact_that_a_proposal_counts_on_stays() -> None:
    waits = proposal("x", target={"op": "remove", "path": "/content/facts/0"}, base={"facts": [OLD]})
    plan = refresh({"facts": [OLD, {**OLD, "text": "older"}], "waiting": [waits]})
    assert len(plan.content["facts"]) == 1
    assert plan.kept_for_space == 1


moments = st.sampled_from([ago(days) for days in (400, 101, 99, 1)])
some = st.lists(
    st.builds(
        lambda text, verified, ends: {"text": text, "last_verified_at": verified, **ends},
        st.sampled_from(["a", "A", "b", "c" * 30]),
        moments,
        st.sampled_from([{}, {"expires_at": ago(1)}, {"expires_at": ago(-1)}]),
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=80)
@given(some, st.integers(0, 5), st.sampled_from([60, 900, 100_000]), st.sampled_from([2, 100]))
def test_any_content_is_refreshed_in_one_go_then_compacted_and_nothing_is_lost(
    facts: Any, room: Any, max_chars: Any, max_ops: Any
) -> None:
    content = {"facts": facts, "waiting": []}
    limits = {"compaction_rules": {"b": {"max_waiting": room}}, "max_chars": max_chars, "max_ops": max_ops}
    plan = refresh(content, **limits)
    assert len(plan.ops) <= max_ops
    assert len(plan.content["waiting"]) <= room
    size = len(canonical(plan.content).decode())
    assert size <= max_chars or size <= len(canonical(content).decode())
    governance = rules(FACTS, **limits)
    after = plan_compaction(plan.content, governance, ProtectedSections((("facts",),), ("/waiting",)), NOW)
    told = [entry for detail in after.details for entry in detail.entries]
    assert find_lost(plan.content, after, governance, around(governance), saved=told) == ()
