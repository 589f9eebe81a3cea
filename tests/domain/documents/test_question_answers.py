"""Answers to questions: what each takes, in every state of the entry that the question shows."""

from collections.abc import Callable
from typing import Any

import pytest

from memnet.domain.core.access import Role
from memnet.domain.core.errors import (
    ConfidenceTooLow,
    MalformedRequest,
    PendingItemNotFound,
    PendingTargetChanged,
    ProfileForbidden,
    ProposerCannotConfirm,
    RoleRequired,
)
from memnet.domain.core.scope import Actor
from memnet.domain.documents.answer import find_answered
from tests.domain.samples import ALICE, BOB, op
from tests.domain.statement_document import Statements, check_chain, day, fact, statement_rules

ASKS: dict[str, Any] = {"on_contradiction": "ask"}
EVE = Actor("svc-eve", frozenset({Role.READ, Role.WRITE}))


def asked(*further: str, **rules: Any) -> tuple[Statements, str]:
    """Lisbon is open, Berlin contradicts it, and so do the further values; return also the id of the question."""
    memory = Statements(statement_rules(**ASKS | rules))
    memory.say("Lisbon", at=3, confidence=0.7)
    pending_id = memory.say("Berlin", at=9)["pending_id"]
    for at, value in enumerate(further, start=10):
        assert memory.say(value, at=at)["pending_id"] == pending_id
    return memory, pending_id


def answers(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of the entry's evidence that are answers."""
    evidence = entry["evidence"]
    return [item for item in [evidence, *evidence.get("also", [])] if "answer" in item]


# What each answer writes.


def test_existing_keeps_the_open_entry_and_confirms_it() -> None:
    memory, pending_id = asked()
    (before,) = memory.facts
    (settled,) = memory.confirm(pending_id, take="existing")
    (entry,) = memory.facts
    assert (settled["verdict"], settled["entry_id"]) == ("same", before["id"])
    assert memory.waiting == []
    assert (entry["value"], entry["confidence"], entry["last_verified_at"]) == ("Lisbon", 0.9, day(31))
    (item,) = answers(entry)
    assert (item["conversation_id"], item["at"], item["confirmed_by"]) == ("confirmation", day(31), BOB.principal)
    assert (item["answer"]["pending_id"], item["answer"]["at"]) == (pending_id, day(31))
    assert memory.decision is not None
    assert memory.decision.evidence == {
        "conversation_id": "confirmation",
        "pending_id": pending_id,
        "take": "existing",
    }
    assert memory.decision.confidence == 0.9
    check_chain(memory.facts)


def test_existing_does_not_lower_a_confidence_and_takes_no_evidence_of_the_proposal() -> None:
    memory, pending_id = asked()
    memory.content["facts"][0]["confidence"] = 0.95
    memory.confirm(pending_id, take="existing")
    assert memory.facts[0]["confidence"] == 0.95
    assert "'c0'" in str(memory.facts[0]["evidence"])
    assert "'c1'" not in str(memory.facts[0]["evidence"])


def test_existing_needs_no_evidence_to_be_an_answer() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="existing", evidence=None)
    assert answers(memory.facts[0])[0]["confirmed_by"] == BOB.principal


def test_both_sets_the_proposed_entry_apart_by_its_value() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="both")
    assert memory.open() == ["Berlin", "Lisbon"]
    assert (memory.of("Berlin")["aspect"], memory.of("Lisbon").get("aspect")) == ("Berlin", None)
    assert memory.of("Berlin")["valid_from"] == day(9)
    assert all(answers(entry) for entry in memory.facts)
    assert memory.waiting == []


def test_both_sets_the_proposed_entry_apart_by_what_the_answer_says() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="both", apart="in summer")
    assert memory.of("Berlin")["aspect"] == "in summer"


def test_what_was_set_apart_is_behind_what_it_was_about() -> None:
    memory = Statements(statement_rules(**ASKS))
    memory.say("Lisbon", at=3, aspect="home")
    memory.confirm(memory.say("Berlin", at=9, aspect="home")["pending_id"], take="both")
    assert memory.of("Berlin")["aspect"] == "home: Berlin"


def test_both_is_refused_if_another_entry_is_there() -> None:
    memory, pending_id = asked()
    memory.say("Madrid", at=4, aspect="in summer")
    with pytest.raises(MalformedRequest) as refused:
        memory.confirm(pending_id, take="both", apart="In summer.")
    assert refused.value.param == "/apart"
    with pytest.raises(MalformedRequest):
        memory.confirm(pending_id, take="both", apart=" ")


def test_a_choice_takes_a_further_statement() -> None:
    memory, pending_id = asked("Porto")
    memory.confirm(pending_id, choice=2)
    assert memory.open() == ["Porto"]
    assert memory.of("Porto")["valid_from"] == day(10)
    assert memory.waiting == []


def test_both_takes_a_further_statement() -> None:
    memory, pending_id = asked("Porto")
    memory.confirm(pending_id, take="both", choice=2)
    assert memory.open() == ["Lisbon", "Porto"]


@pytest.mark.parametrize(
    ("answer", "param"),
    [
        ({"choice": 3}, "/choice"),
        ({"choice": 0}, "/choice"),
        ({"take": "existing", "choice": 2}, "/choice"),
        ({"apart": "x"}, "/apart"),
        ({"take": "existing", "apart": "x"}, "/apart"),
        ({"take": "existing", "values": ("x",)}, "/value"),
        ({"take": "both", "values": ("x",)}, "/value"),
    ],
)
def test_an_answer_that_the_question_does_not_offer_is_refused(answer: dict[str, Any], param: str) -> None:
    memory, pending_id = asked("Porto")
    before = memory.content
    with pytest.raises(MalformedRequest) as refused:
        memory.confirm(pending_id, **answer)
    assert refused.value.param == param
    assert memory.content == before


@pytest.mark.parametrize("take", ["existing", "both"])
def test_an_item_that_contradicts_nothing_has_no_such_answer(take: str) -> None:
    memory = Statements(statement_rules(upkeep={}))
    low = op("add", "/content/facts/-", value=fact("Lisbon"))
    item: dict[str, Any] = {"id": "p-9", "profile_id": "p", "binding_id": "b", "proposed_by": "x", "on_behalf_of": None}
    item |= {"target": dict(low), "base": {"facts": []}, "text": "", "evidence": None, "confidence": None}
    memory.content["waiting"].append(item)
    with pytest.raises(MalformedRequest) as refused:
        memory.confirm("p-9", take=take)
    assert refused.value.param == "/take"


# The entry that the question shows may have changed since.


def superseded(memory: Statements) -> None:
    memory.rules = statement_rules()
    memory.say("Porto", at=12)
    memory.rules = statement_rules(**ASKS)


def closed(memory: Statements) -> None:
    memory.patch(op("remove", "/content/facts/0"), at=12)


def removed(memory: Statements) -> None:
    memory.put({**memory.content, "facts": []})


def confirmed(memory: Statements) -> None:
    memory.content["facts"][0]["evidence"] = {"conversation_id": "c9", "at": day(12), "confirmed_by": "svc-eve"}


def completed(memory: Statements) -> None:
    memory.say("Lisbon", at=12, breed="beagle")


def unchanged(memory: Statements) -> None:
    """Nothing has happened."""


@pytest.mark.parametrize(
    ("since", "take", "verdicts", "values"),
    [
        (unchanged, "proposed", ["superseded"], ["Berlin"]),
        (unchanged, "existing", ["same"], ["Lisbon"]),
        (unchanged, "both", ["same", "new"], ["Berlin", "Lisbon"]),
        (superseded, "proposed", ["late"], ["Porto"]),
        (superseded, "existing", None, ["Porto"]),
        (superseded, "both", None, ["Porto"]),
        (closed, "proposed", ["late"], []),
        (closed, "existing", None, []),
        (closed, "both", None, []),
        (removed, "proposed", ["new"], ["Berlin"]),
        (removed, "existing", None, []),
        (removed, "both", None, []),
        (confirmed, "proposed", ["superseded"], ["Berlin"]),
        (confirmed, "existing", ["same"], ["Lisbon"]),
        (confirmed, "both", ["same", "new"], ["Berlin", "Lisbon"]),
        (completed, "proposed", ["superseded"], ["Berlin"]),
        (completed, "existing", ["same"], ["Lisbon"]),
        (completed, "both", ["same", "new"], ["Berlin", "Lisbon"]),
    ],
)
def test_each_answer_in_each_state_of_the_open_entry(
    since: Callable[[Statements], None], take: str, verdicts: list[str] | None, values: list[str]
) -> None:
    memory, pending_id = asked()
    since(memory)
    before = memory.content
    if verdicts is None:
        with pytest.raises(PendingTargetChanged) as refused:
            memory.confirm(pending_id, take=take)
        assert refused.value.details["ours"] == memory.waiting[0]["target"]
        assert (refused.value.details["theirs"] or {}).get("value") == (values[0] if values else None)
        assert memory.content == before
    else:
        assert [row["verdict"] for row in memory.confirm(pending_id, take=take)] == verdicts
        assert memory.waiting == []
    assert memory.open() == values


def test_only_a_reader_is_shown_what_is_open_instead() -> None:
    memory, pending_id = asked()
    superseded(memory)
    writer = Actor("svc-eve", frozenset({Role.WRITE}))
    with pytest.raises(PendingTargetChanged) as refused:
        memory.confirm(pending_id, take="existing", by=writer)
    assert refused.value.details.keys() == {"pending_id", "why", "path"}


# Who answers.


@pytest.mark.parametrize(
    ("decides", "role", "may"),
    [
        ("user", Role.WRITE, True),
        ("user", Role.ADMIN, False),
        ("tenant", Role.ADMIN, True),
        ("tenant", Role.WRITE, False),
        (None, Role.WRITE, True),
        (None, Role.ADMIN, True),
    ],
)
@pytest.mark.parametrize("take", ["proposed", "existing", "both", None])
def test_who_decides_needs_the_role(decides: str | None, role: Role, may: bool, take: str | None) -> None:
    memory, pending_id = asked(decides=decides)
    actor = Actor("svc-eve", frozenset({role}))

    def decide() -> None:
        if take is None:
            memory.reject(pending_id, by=actor)
        else:
            memory.confirm(pending_id, by=actor, take=take)

    if may:
        decide()
        assert memory.waiting == []
        return
    with pytest.raises(RoleRequired) as refused:
        decide()
    assert refused.value.hint
    assert (refused.value.details["decides"], len(memory.waiting)) == (decides, 1)


@pytest.mark.parametrize("take", ["proposed", "existing", "both"])
def test_no_principal_that_proposed_a_statement_of_the_question_answers_it(take: str) -> None:
    memory, pending_id = asked()
    memory.say("Porto", at=10, by=BOB)
    memory.say("Berlin", at=11, by=EVE)
    for proposer in (ALICE, BOB, EVE):
        with pytest.raises(ProposerCannotConfirm):
            memory.confirm(pending_id, by=proposer, take=take)
    assert memory.waiting[0]["also_proposed_by"] == [BOB.principal, EVE.principal]


def test_the_gates_of_a_confirmation_hold_for_every_answer() -> None:
    for take in ("proposed", "existing", "both"):
        memory, pending_id = asked()
        profile = memory.rules.profile
        rules = profile.confidence_rules.model_copy(update={"min_confidence_for_durable_fact": 0.95})
        changed = profile.model_copy(update={"durable_sections": {"b": ("/facts",)}, "confidence_rules": rules})
        memory.rules = type(memory.rules)(changed, memory.rules.binding, memory.rules.schema)
        with pytest.raises(ConfidenceTooLow):
            memory.confirm(pending_id, take=take)


# What was answered is not asked again.


@pytest.mark.parametrize("take", ["existing", "both"])
def test_equal_evidence_does_not_ask_again(take: str) -> None:
    memory, pending_id = asked("Porto")
    memory.confirm(pending_id, take=take)
    before = memory.content
    settled = memory.say("Porto", at=10, evidence={"conversation_id": "another"})
    assert (settled["verdict"], settled["replaced_by"]) == ("kept", memory.of("Lisbon")["id"])
    assert memory.content == before
    with_new_time = memory.patch(
        op("add", "/content/facts/-", value=fact("Porto", evidence={"conversation_id": "c2"})), at=None
    )
    assert [row["verdict"] for row in with_new_time] == ["kept"]
    assert memory.content == before


def test_what_is_stated_after_the_answer_is_asked() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="existing", now=day(20))
    again = memory.say("Berlin", at=25, evidence={"conversation_id": "c77"})
    assert again["verdict"] == "asked"
    assert again["pending_id"] != pending_id


def test_what_was_never_asked_is_settled_by_its_time() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="existing", now=day(20))
    assert memory.say("Madrid", at=5)["verdict"] == "late"


def test_what_was_set_apart_is_found_again() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take="both", now=day(20))
    berlin = memory.of("Berlin")["id"]
    again = memory.say("Berlin", at=25, evidence={"conversation_id": "c77"})
    assert (again["verdict"], again["entry_id"]) == ("same", berlin)
    assert memory.open() == ["Berlin", "Lisbon"]


def test_no_sender_writes_an_answer() -> None:
    memory = Statements()
    forged = {"conversation_id": "c", "confirmed_by": "x", "answer": {"pending_id": "p", "at": day(30)}}
    memory.say("Lisbon", at=3, evidence=forged)
    assert memory.facts[0]["evidence"] == {"conversation_id": "c", "at": day(3)}


# Who answers late is shown what was decided.


@pytest.mark.parametrize(("take", "value"), [("proposed", "Berlin"), ("existing", "Lisbon"), ("both", "Lisbon")])
def test_who_answers_late_is_shown_what_was_decided(take: str, value: str) -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, take=take)
    for late in ({"take": "existing"}, {}):
        with pytest.raises(PendingItemNotFound) as refused:
            memory.confirm(pending_id, by=EVE, **late)
        details = refused.value.details
        assert (details["entry"]["value"], details["decided_by"], details["decided_at"]) == (
            value,
            BOB.principal,
            day(31),
        )
        assert memory.content["facts"][int(details["pointer"].rsplit("/", 1)[1])] == details["entry"]


def test_who_may_not_read_is_not_shown_it() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id)
    with pytest.raises(PendingItemNotFound) as refused:
        memory.confirm(pending_id, by=Actor("svc-eve", frozenset({Role.WRITE})))
    assert refused.value.details == {}


def test_what_is_open_now_is_shown_although_the_answer_is_older() -> None:
    memory, pending_id = asked()
    memory.confirm(pending_id, now=day(20))
    memory.rules = statement_rules()
    memory.say("Oslo", at=25, by=BOB)
    found = find_answered(memory.content, pending_id, memory.rules.profile.upkeep_rules["b"])
    assert found is not None
    assert found.entry["value"] == "Oslo"


def test_another_product_answers_a_question_that_it_sees_and_brings_in_nothing() -> None:
    memory, pending_id = asked()
    memory.admit("svc-alice", "svc-bob")
    with pytest.raises(ProfileForbidden):
        memory.confirm(pending_id, by=EVE)
    memory.others = {"q": memory.product("q", "svc-eve")}
    for brought in ({"values": (fact("Oslo"),)}, {"take": "both", "apart": "x"}):
        with pytest.raises(ProfileForbidden):
            memory.confirm(pending_id, by=EVE, **brought)
    memory.confirm(pending_id, by=EVE, take="existing")
    assert memory.open() == ["Lisbon"]
