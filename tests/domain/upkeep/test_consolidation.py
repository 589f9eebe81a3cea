"""The plan of a consolidation: what becomes one, what is proposed, and that nothing is lost."""

from random import Random
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.documents.question_choice import is_outdated
from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.consolidation import MAX_JOINED, find_untraced
from memnet.domain.upkeep.maintenance import EntryAction
from tests.domain.consolidation_samples import AT, HOME, Consolidating, cited, plan, statement
from tests.domain.statement_document import day
from tests.domain.upkeep_samples import NOW, around

JOINED = "The user lives in the city of Lisbon."


def test_without_a_prompt_the_surest_stays() -> None:
    document = Consolidating(*HOME)
    made = document.consolidate()
    assert document.open() == ["Lisbon"]
    assert cited(document.named("s2")) == {"c-s1", "c-s2", "c-s3"}
    assert [document.named(one)["replaced_by"] for one in ("s1", "s3")] == ["s2", "s2"]
    assert made.counts() == {"consolidated": 2}


def test_the_history_names_the_members_that_changed() -> None:
    made = Consolidating(*HOME).plan()
    assert {op["path"] for op in made.ops} == {
        "/content/facts/0/valid_until",
        "/content/facts/0/replaced_by",
        "/content/facts/1/evidence",
        "/content/facts/1/last_verified_at",
        "/content/facts/1/valid_from",
        "/content/facts/2/valid_until",
        "/content/facts/2/replaced_by",
    }


def test_a_plan_for_its_own_result_is_empty() -> None:
    document = Consolidating(*HOME)
    document.consolidate()
    assert document.plan().ops == []


def test_a_statement_that_a_question_asks_about_stays_open_until_it_is_answered() -> None:
    document = Consolidating(*HOME, statements={"on_contradiction": "ask"})
    document.say("Berlin", at=20, attribute="lives in", text="The user lives in Berlin.")
    (asked,) = document.waiting
    assert asked["contradicts"] == "s1"
    document.consolidate()
    assert [entry["id"] for entry in document.facts if "valid_until" not in entry] == ["s1", "s2"]
    (shown,) = document.waiting
    assert not is_outdated(shown, document.content, document.rules.profile.upkeep_rules["b"])
    document.reject(asked["id"])
    document.consolidate()
    assert [entry["id"] for entry in document.facts if "valid_until" not in entry] == ["s2"]


def test_a_statement_is_not_closed_before_it_began() -> None:
    began = Consolidating({**HOME[0], "valid_from": day(30)}, HOME[1])
    made = began.plan(at=day(5))
    assert [entry.get("valid_until") for entry in made.content["facts"]] == [day(30), None]


def random_facts(random: Random, count: int) -> list[dict[str, Any]]:
    towns, extra = ["Lisbon", "Porto"], ["old", "small", "quiet", "lovely"]
    found = []
    for n in range(count):
        town, words = random.choice(towns), random.sample(extra, random.randint(0, 2))
        text = f"The user lives in {' '.join([*words, 'part of', town])}."
        sure = random.choice([0.7, 0.8, 0.9])
        found.append(statement(f"s{n}", text, f"attribute {n}", town, random.randint(1, 20), confidence=sure))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_at_random_it_is_a_fixpoint_that_ignores_the_order_and_loses_nothing(seed: int) -> None:
    random = Random(seed)
    facts = random_facts(random, 25)
    document, shuffled = Consolidating(*facts), Consolidating(*random.sample(facts, len(facts)))
    made = document.consolidate()
    shuffled.consolidate()
    assert document.plan().ops == []
    assert sorted(map(canonical, document.facts)) == sorted(map(canonical, shuffled.facts))
    # Every statement is there with its text and its evidence, and leads to an open one that cites its source.
    by_id = {entry["id"]: entry for entry in document.facts}
    for entry in facts:
        now = by_id[entry["id"]]
        assert (now["text"], now["value"], now["subject"]) == (entry["text"], entry["value"], entry["subject"])
        assert cited(now) >= cited(entry)
        kept = by_id[now["replaced_by"]] if "replaced_by" in now else now
        assert "valid_until" not in kept
        assert kept["value"] == entry["value"]
        assert cited(kept) >= cited(entry)
    assert made.steps


def test_500_near_duplicates_become_one() -> None:
    facts = [
        statement(f"s{n}", "The user lives in the city of Lisbon.", f"attribute {n}", "Lisbon", confidence=n / 500)
        for n in range(500)
    ]
    document = Consolidating(*facts)
    document.consolidate()
    assert [entry["id"] for entry in document.facts if "valid_until" not in entry] == ["s499"]
    assert all(cited(entry) >= cited(facts[place]) for place, entry in enumerate(document.facts))


def test_a_document_without_room_for_the_evidence_stays_as_it_is() -> None:
    document = Consolidating(*HOME)
    size = len(canonical(document.content))
    binding = document.rules.binding.model_copy(update={"max_chars": size + 50})
    rules = type(document.rules)(document.rules.profile, binding, document.rules.schema)
    assert plan(document.content, rules).ops == []


def test_closed_originals_move_to_events_before_anything_that_holds() -> None:
    document = Consolidating(*HOME)
    document.consolidate()
    limits = {"b": {"max_facts": 1}}
    profile = document.rules.profile.model_copy(update={"compaction_rules": limits, "upkeep_fill": 1.0})
    rules = type(document.rules)(profile, document.rules.binding, document.rules.schema)
    made = plan_compaction(document.content, rules, around(rules), NOW)
    assert [entry["id"] for entry in made.content["facts"]] == ["s2"]
    assert [(detail.closed, len(detail.entries)) for detail in made.details] == [(True, 2)]


def test_a_later_statement_of_what_was_closed_is_open_again_and_joins_at_the_next_run() -> None:
    document = Consolidating(*HOME)
    document.consolidate()
    document.say("Lisbon", at=29, attribute="residence", text="In Lisbon the user lives.", confidence=0.5, id="s4")
    assert [entry["id"] for entry in document.facts if "valid_until" not in entry] == ["s2", "s4"]
    document.consolidate()
    assert document.open() == ["Lisbon"]
    assert len(cited(document.named("s2"))) == 4


def test_a_late_statement_of_what_was_closed_changes_nothing_that_is_open() -> None:
    document = Consolidating(*HOME)
    document.consolidate()
    before = document.named("s2")
    document.say("Lisbon", at=10, attribute="residence", text="In Lisbon the user lives.", confidence=0.5)
    assert document.named("s2") == before
    assert len(cited(document.named("s3"))) == 2


def test_another_value_closes_the_one_that_stays_alone() -> None:
    document = Consolidating(*HOME)
    document.consolidate()
    closed = document.named("s1")
    document.say("Berlin", at=30, attribute="home town", text="The user lives in Berlin.", confidence=0.9)
    assert document.open() == ["Berlin"]
    assert document.named("s1") == closed


def joined(document: Consolidating, text: str = JOINED) -> dict[str, str]:
    return {joint.key: text for joint in document.joints()}


def test_with_a_text_of_a_model_the_one_that_stays_says_it_as_surely_as_the_least_sure() -> None:
    document = Consolidating(*HOME, prompt=True)
    made = document.consolidate(joined(document, "In the city of Lisbon the user lives."))
    kept = document.named("s2")
    assert (kept["text"], kept["confidence"]) == ("In the city of Lisbon the user lives.", 0.8)
    assert cited(kept) == {"c-s1", "c-s2", "c-s3"}
    assert [document.named(one)["replaced_by"] for one in ("s1", "s3")] == ["s2", "s2"]
    assert made.counts() == {"consolidated": 2, "reworded": 1}


def test_with_a_model_and_no_text_everything_stays() -> None:
    document = Consolidating(*HOME, prompt=True)
    assert document.plan({}).ops == []
    assert document.plan(None).counts() == {"consolidated": 2}


def durable(*facts: Any, required: float = 0.7, sections: tuple[str, ...] = ("/facts",)) -> Consolidating:
    document = Consolidating(*facts, prompt=True)
    profile = document.rules.profile
    thresholds = profile.confidence_rules.model_copy(update={"min_confidence_for_auto_apply": required})
    members = {"durable_sections": {"b": sections}, "confidence_rules": thresholds}
    profile = profile.model_copy(update=members)
    document.rules = type(document.rules)(profile, document.rules.binding, document.rules.schema)
    return document


@pytest.mark.parametrize("unsure", [False, True])
def test_where_it_needs_a_confirmation_it_is_proposed(unsure: bool) -> None:
    facts = [{**entry, "confidence": 0.4} for entry in HOME] if unsure else HOME
    document = durable(*facts, sections=() if unsure else ("/facts",))
    made = document.consolidate(joined(document))
    (item,) = document.waiting
    assert made.counts() == {"proposed": 1}
    assert document.facts == list(facts)
    assert (item["text"], item["confidence"]) == (JOINED, 0.4 if unsure else 0.8)
    assert len(item["merges"]) == 2
    assert len(cited(item)) == 3
    # While it waits, nothing else may touch them, and they are not joined again.
    assert document.joints() == []
    assert document.plan(None).ops == []


def test_the_confirmation_writes_the_text_and_closes_the_others() -> None:
    document = durable(*HOME)
    document.consolidate(joined(document, "In the city of Lisbon the user lives."))
    document.confirm(document.waiting[0]["id"])
    kept = document.named("s2")
    assert kept["text"] == "In the city of Lisbon the user lives."
    assert cited(kept) == {"c-s1", "c-s2", "c-s3", "confirmation"}
    assert sorted(kept_times(kept)) == [("c-s1", day(1)), ("c-s2", day(2)), ("c-s3", day(3))]
    assert [(document.named(one)["replaced_by"], document.named(one)["valid_until"]) for one in ("s1", "s3")] == [
        ("s2", day(31)),
        ("s2", day(31)),
    ]
    assert document.waiting == []


def kept_times(entry: dict[str, Any]) -> list[tuple[str, str]]:
    items = [entry["evidence"], *entry["evidence"]["also"]]
    return [(item["conversation_id"], item["at"]) for item in items if item["conversation_id"] != "confirmation"]


def test_a_confirmation_leaves_what_was_closed_meanwhile() -> None:
    document = durable(*HOME)
    document.consolidate(joined(document))
    document.tend({"op": "add", "path": "/content/facts/2/valid_until", "value": day(29)})
    closed = document.named("s3")
    document.confirm(document.waiting[0]["id"])
    assert document.named("s3") == closed
    assert document.named("s1")["replaced_by"] == "s2"
    assert document.open() == ["Lisbon"]


def test_without_room_in_the_pending_section_nothing_is_proposed() -> None:
    document = durable(*HOME)
    profile = document.rules.profile.model_copy(update={"compaction_rules": {"b": {"max_waiting": 0}}})
    document.rules = type(document.rules)(profile, document.rules.binding, document.rules.schema)
    assert document.plan(joined(document)).ops == []


def test_a_text_that_the_schema_refuses_is_not_written() -> None:
    document = Consolidating(*HOME, prompt=True)
    schema = document.rules.schema
    body = {**schema.body, "properties": {**schema.body["properties"]}}
    body["properties"]["facts"] = {"items": {"properties": {"text": {"maxLength": 37}}}}
    rules = type(document.rules)(
        document.rules.profile, document.rules.binding, type(schema).compile("any", "1.0.0", body)
    )
    texts = joined(document, "In the old city of Lisbon the user lives.")
    assert plan(document.content, rules, texts).ops == []
    strict = durable(*HOME).rules
    assert plan(document.content, type(rules)(strict.profile, strict.binding, rules.schema), texts).ops == []


def test_a_joint_is_the_same_for_the_same_statements_and_prompt_only() -> None:
    document = Consolidating(*HOME, prompt=True)
    (joint,) = document.joints()
    assert joint.texts == [HOME[1]["text"], HOME[2]["text"], HOME[0]["text"]]
    document.content["facts"].reverse()
    assert document.joints()[0].key == joint.key
    document.content["facts"][0]["text"] += " "
    assert document.joints()[0].key != joint.key


def test_one_text_joins_a_bounded_number() -> None:
    facts = [statement(f"s{n:02}", "The user lives in Lisbon.", f"attribute {n}", "Lisbon") for n in range(30)]
    (joint,) = Consolidating(*facts, prompt=True).joints()
    assert len(joint.texts) == MAX_JOINED


@pytest.mark.parametrize("harm", ["remove", "reword", "cut", "unlink", "reopen", "move"])
def test_a_plan_that_loses_something_is_found(harm: str) -> None:
    document = Consolidating(*HOME)
    made = document.plan()
    facts = made.content["facts"]
    if harm == "remove":
        facts.pop(0)
    elif harm == "reword":
        facts[1]["text"] = "The user lives on the moon."
    elif harm == "cut":
        facts[0]["evidence"] = {}
    elif harm == "unlink":
        facts[0]["replaced_by"] = "s3"
    elif harm == "reopen":
        facts[1]["evidence"] = {"conversation_id": "other"}
    else:
        facts.reverse()
    assert find_untraced(document.content, made, document.rules) == ("/facts",)


def test_each_step_names_the_one_that_stays() -> None:
    made = Consolidating(*HOME).plan()
    assert [(step.action, step.entry["id"], step.into["id"]) for step in made.steps] == [
        (EntryAction.CONSOLIDATED, "s3", "s2"),
        (EntryAction.CONSOLIDATED, "s1", "s2"),
    ]
    assert made.content["facts"][0]["valid_until"] == AT
