"""An entry's class sets when it expires, and no write leaves an entry that has expired already."""

from typing import Any

import pytest

from memnet.domain.core.access import Reason
from memnet.domain.core.errors import EntryExpired, SchemaViolation
from tests.domain.samples import EVIDENCE, History, draft, op, patch_command, small_rules

RULE = {"section": "/facts", "expires_field": "until", "ttl_field": "lives"}
TTL = {"this week": "P7D", "soon": "PT12H"}
RULES = small_rules(upkeep_rules={"b": [RULE]}, ttl_classes=TTL)
SAID = "2026-02-10T08:00:00Z"
WEEK_LATER = "2026-02-17T08:00:00.000000Z"


def written(*ops: Any, content: Any = None, rules: Any = RULES, **members: Any) -> Any:
    return draft(rules, patch_command(*ops, **members), content or {"facts": []}).content["facts"]


def add(**members: Any) -> Any:
    return op("add", "/content/facts/-", value={"text": "x", **members})


def test_the_class_counts_from_the_source_time() -> None:
    assert written(add(lives="this week"), source_time=SAID) == [
        {"text": "x", "lives": "this week", "until": WEEK_LATER}
    ]


def test_without_a_source_time_the_class_counts_from_now() -> None:
    (entry,) = written(add(lives="soon"))
    assert entry["until"] == "2026-02-15T08:00:00.000000Z"


def test_the_class_decides_whatever_the_entry_says() -> None:
    (entry,) = written(add(lives="this week", until="2030-01-01T00:00:00Z"), source_time=SAID)
    assert entry["until"] == WEEK_LATER


def test_a_changed_entry_lives_anew_and_the_others_stay_as_they_are() -> None:
    old = {"text": "x", "lives": "this week", "until": "2026-02-15T00:00:00.000000Z"}
    (changed, other) = written(
        op("replace", "/content/facts/0/text", value="y"), content={"facts": [old, old]}, source_time=SAID
    )
    assert (changed["until"], other) == (WEEK_LATER, old)


@pytest.mark.parametrize("own", [{}, {"id": "1"}], ids=["in its place", "by its id"])
@pytest.mark.parametrize(
    ("was", "until"), [("this week", "2026-02-20T00:00:00.000000Z"), ("soon", WEEK_LATER)], ids=["same", "another"]
)
def test_a_changed_entry_of_the_same_class_never_expires_earlier(own: Any, was: str, until: str) -> None:
    old = {**own, "text": "x", "lives": was, "until": "2026-02-20T00:00:00.000000Z"}
    new = {**old, "text": "y", "lives": "this week", "until": "2030-01-01T00:00:00Z"}
    (entry,) = written(op("replace", "/content/facts/0", value=new), content={"facts": [old]}, source_time=SAID)
    assert entry == {**new, "until": until}


def test_the_record_rebuilds_what_was_set() -> None:
    history = History(RULES)
    history.patch(op("add", "/content/facts", value=[{"text": "x", "lives": "this week"}]), source_time=SAID)
    assert history.records[-1]["ops"][-1] == {"op": "add", "path": "/content/facts/0/until", "value": WEEK_LATER}


def test_an_unknown_class_is_refused_with_its_place() -> None:
    with pytest.raises(SchemaViolation) as refused:
        written(add(lives="for ever"))
    assert refused.value.details == {"path": "/content/facts/0/lives", "allowed": ["soon", "this week"]}


@pytest.mark.parametrize("reason", [Reason.LIVE_UPDATE, Reason.REPLAY_UPDATE])
@pytest.mark.parametrize(
    "members",
    [{"until": "2020-01-01"}, {"until": "2026-02-14T20:00:00Z"}, {"lives": "this week"}],
    ids=["long ago", "just now", "by its class"],
)
def test_what_has_expired_already_is_refused(reason: Reason, members: dict[str, Any]) -> None:
    with pytest.raises(EntryExpired) as refused:
        written(add(**members), reason=reason, evidence=EVIDENCE, confidence=1.0, source_time="2026-01-01T00:00:00Z")
    assert refused.value.details == {"path": "/content/facts/0"}


def test_it_does_not_wait_for_a_confirmation_either() -> None:
    rules = small_rules(
        upkeep_rules={"b": [RULE]}, durable_sections={"b": ["/facts"]}, pending_sections={"b": "/pending"}
    )
    with pytest.raises(EntryExpired):
        written(add(until="2020-01-01"), content={"facts": [], "pending": []}, rules=rules)


def test_an_expired_entry_that_is_stored_blocks_nothing() -> None:
    old = {"text": "old", "until": "2020-01-01"}
    assert written(add(until="2030-01-01"), content={"facts": [old]}) == [old, {"text": "x", "until": "2030-01-01"}]
    assert written(op("remove", "/content/facts/0"), content={"facts": [old]}) == []
