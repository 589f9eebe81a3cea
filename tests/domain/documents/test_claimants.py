"""The gate between claimants: who may change what, what is open side by side, and what the tenant decides."""

from typing import Any

import pytest

from memnet.domain.core.errors import PathNotWritable, RoleRequired, StatementContradicted
from memnet.domain.core.scope import Actor
from tests.domain.samples import ALICE, BOB, op
from tests.domain.statement_document import Statements, day, fact, statement_rules

A, B, C = (f"clm-{digit * 32}" for digit in "abc")
TENANT = Actor("svc-tenant", frozenset({"Memory.Admin"}))


def workspace(between: str = "weigh", **statements: Any) -> Statements:
    """A document of several claimants, with `between_claimants`."""
    about = ["subject", "attribute", "aspect", "claimed_by"]
    rules = {"about": about, "claimed_by_field": "claimed_by", "between_claimants": between} | statements
    return Statements(statement_rules(**rules))


def say(memory: Statements, value: str, at: int, claimed_by: str | None, **members: Any) -> Any:
    by = members.pop("by", ALICE)
    own = {"evidence": {"conversation_id": f"c{memory.number}"}} | members
    add = op("add", "/content/facts/-", value=fact(value, **own))
    (settled,) = memory.patch(add, at=at, by=by, claimed_by=claimed_by)
    return settled


def test_each_claimant_has_one_open_answer_beside_those_of_others() -> None:
    memory = workspace()
    assert [say(memory, "Lisbon", 3, A)["verdict"], say(memory, "Berlin", 4, B)["verdict"]] == ["new", "new"]
    assert say(memory, "Porto", 5, None)["verdict"] == "new"
    assert say(memory, "Rome", 6, A)["verdict"] == "superseded"
    assert say(memory, "berlin", 7, B)["verdict"] == "same"
    held = {(entry["value"], entry.get("claimed_by")) for entry in memory.facts if not entry.get("valid_until")}
    assert held == {("Rome", A), ("Berlin", B), ("Porto", None)}
    assert memory.waiting == []


@pytest.mark.parametrize(("claimed_by", "sent"), [(None, A), (B, A), (A, "noor")])
def test_a_code_that_the_client_sends_is_refused(claimed_by: str | None, sent: str) -> None:
    memory = workspace()
    add = op("add", "/content/facts/-", value=fact("Lisbon", claimed_by=sent))
    with pytest.raises(PathNotWritable) as refused:
        memory.patch(add, at=3, claimed_by=claimed_by)
    assert refused.value.param == "/ops/0/value/claimed_by"
    assert memory.facts == []


OTHERS = [
    op("replace", "/content/facts/0/value", value="Rome"),
    op("replace", "/content/facts/0", value=fact("Rome", claimed_by=A)),
    op("replace", "/content/facts/0/text", value="Rome!"),
    op("remove", "/content/facts/0"),
    op("replace", "/content/facts", value=[fact("Rome", id="x", claimed_by=A)]),
    {"op": "copy", "from": "/content/facts/0", "path": "/content/facts/-"},
]


@pytest.mark.parametrize("change", OTHERS, ids=lambda one: f"{one['op']} {one['path']}")
def test_no_one_speaks_for_another_claimant(change: Any) -> None:
    memory = workspace()
    say(memory, "Lisbon", 3, A)
    before = memory.content
    with pytest.raises(PathNotWritable):
        memory.patch(change, at=5, claimed_by=B)
    assert memory.content == before


def test_a_code_cannot_be_moved_to_another_claimant() -> None:
    memory = workspace()
    say(memory, "Lisbon", 3, A)
    for change in (
        op("replace", "/content/facts/0/claimed_by", value=B),
        op("remove", "/content/facts/0/claimed_by"),
        op("replace", "/content/facts/0", value=fact("Lisbon", claimed_by=B)),
    ):
        with pytest.raises(StatementContradicted):
            memory.patch(change, at=5)


def test_without_a_claimant_what_someone_says_stays_and_can_be_tended_and_ended() -> None:
    memory = workspace()
    say(memory, "Lisbon", 3, A)
    with pytest.raises(PathNotWritable):
        memory.patch(op("replace", "/content/facts/0/value", value="Rome"), at=5)
    memory.patch(op("replace", "/content/facts/0/text", value="Lives in Lisbon."), at=5)
    memory.patch(op("remove", "/content/facts/0"), at=6)
    (entry,) = memory.facts
    assert (entry["text"], entry["valid_until"], entry["claimed_by"]) == ("Lives in Lisbon.", day(6), A)


def test_the_claimant_replaces_what_they_said() -> None:
    memory = workspace()
    say(memory, "Lisbon", 3, A)
    (settled,) = memory.patch(op("replace", "/content/facts/0/value", value="Rome"), at=5, claimed_by=A)
    assert settled["verdict"] == "superseded"
    assert {entry["claimed_by"] for entry in memory.facts} == {A}


# The tenant decides.


def test_review_asks_the_tenant_and_changes_nothing_else() -> None:
    memory = workspace("review")
    first = say(memory, "Lisbon", 3, A)
    settled = say(memory, "Berlin", 4, B)
    assert (settled["verdict"], settled["replaced_by"]) == ("asked", first["entry_id"])
    assert memory.open() == ["Lisbon"]
    (item,) = memory.waiting
    assert (item["decides"], item["target"]["value"]["claimed_by"]) == ("tenant", B)
    assert item["choices"] == ["User lives in Lisbon.", "User lives in Berlin."]


@pytest.mark.parametrize("value", ["Lisbon", "lisbon"])
def test_review_asks_nothing_where_claimants_agree(value: str) -> None:
    memory = workspace("review")
    say(memory, "Lisbon", 3, A)
    assert say(memory, value, 4, B)["verdict"] == "new"
    assert memory.waiting == []


def test_review_asks_nothing_of_what_was_before_and_of_what_may_be_beside() -> None:
    memory = workspace("review")
    say(memory, "Rome", 2, B)
    memory.patch(op("remove", "/content/facts/0"), at=3)
    say(memory, "Lisbon", 5, A)
    assert say(memory, "a dog", 6, A, attribute="owns")["verdict"] == "new"
    assert say(memory, "a cat", 6, B, attribute="owns")["verdict"] == "new"
    # B said so before B's own statement ended.
    assert say(memory, "Porto", 1, B)["verdict"] == "late"
    assert memory.waiting == []


def test_the_question_is_the_tenants_even_if_the_statement_is_less_sure() -> None:
    memory = workspace("review", unless_less_sure_by=0.2)
    say(memory, "Berlin", 2, B, confidence=0.9)
    memory.patch(op("remove", "/content/facts/0"), at=3)
    say(memory, "Lisbon", 4, A, confidence=0.9)
    say(memory, "Rome", 5, B, confidence=0.1)
    assert [item["decides"] for item in memory.waiting] == ["tenant"]


def test_the_answer_of_the_tenant_ends_what_others_say() -> None:
    memory = workspace("review")
    first = say(memory, "Lisbon", 3, A)
    say(memory, "Berlin", 4, B)
    (settled,) = memory.confirm(memory.waiting[0]["id"], by=TENANT)
    lisbon, berlin = memory.of("Lisbon"), memory.of("Berlin")
    assert settled["verdict"] == "new"
    assert (lisbon["id"], lisbon["valid_until"], lisbon["replaced_by"]) == (first["entry_id"], day(31), berlin["id"])
    assert (berlin["claimed_by"], berlin.get("valid_until")) == (B, None)
    assert memory.waiting == []
    # What A said ended with the answer. The same source again says nothing new.
    assert say(memory, "Lisbon", 31, A, evidence={"conversation_id": "c0"})["verdict"] == "kept"
    # Saying it again is a new statement, which is asked again.
    assert say(memory, "Lisbon", 31, A)["verdict"] == "asked"


def test_no_one_but_the_tenant_decides_between_claimants() -> None:
    memory = workspace("review")
    say(memory, "Lisbon", 3, A)
    say(memory, "Berlin", 4, B)
    before = memory.content
    with pytest.raises(RoleRequired):
        memory.confirm(memory.waiting[0]["id"], by=BOB)
    with pytest.raises(RoleRequired):
        memory.patch(
            {"op": "copy", "from": "/content/waiting/0/target/value", "path": "/content/facts/-"},
            op("remove", "/content/waiting/0"),
            at=5,
            by=BOB,
        )
    assert memory.content == before


def test_a_confirmation_keeps_the_claimant_of_the_proposal() -> None:
    memory = workspace("review")
    say(memory, "Lisbon", 3, A)
    say(memory, "Berlin", 4, B)
    item = memory.waiting[0]
    forged = {**item["target"]["value"], "claimed_by": C}
    with pytest.raises(PathNotWritable):
        memory.patch(op("add", "/content/facts/-", value=forged), op("remove", "/content/waiting/0"), at=5, by=TENANT)
    bare = {name: value for name, value in item["target"]["value"].items() if name != "claimed_by"}
    memory.patch(op("add", "/content/facts/-", value=bare), op("remove", "/content/waiting/0"), at=5, by=TENANT)
    assert memory.of("Berlin")["claimed_by"] == B


def test_a_proposal_that_someone_contradicts_since_needs_the_tenant() -> None:
    memory = workspace("review", unless_less_sure_by=0.2)
    say(memory, "Berlin", 2, B, confidence=0.9)
    say(memory, "Rome", 3, B, confidence=0.5)
    (item,) = memory.waiting
    assert item["decides"] == "user"
    say(memory, "Berlin", 4, A, confidence=0.9)
    with pytest.raises(RoleRequired):
        memory.confirm(item["id"], by=BOB)
    memory.confirm(item["id"], by=Actor("svc-tenant", frozenset({"Memory.Admin", "Memory.Write"})))
    assert memory.open() == ["Rome"]


def test_the_answer_both_leaves_what_others_say_and_existing_keeps_it() -> None:
    for take, held in (("both", ["Berlin", "Lisbon"]), ("existing", ["Lisbon"])):
        memory = workspace("review")
        say(memory, "Lisbon", 3, A)
        say(memory, "Berlin", 4, B, evidence={"conversation_id": "c9"})
        memory.confirm(memory.waiting[0]["id"], by=TENANT, take=take)
        assert (memory.open(), memory.waiting) == (held, [])
        assert {entry["value"]: entry["claimed_by"] for entry in memory.facts}.items() <= {
            "Lisbon": A,
            "Berlin": B,
        }.items()
        # The same evidence again is not asked again.
        again = say(memory, "Berlin", 4, B, evidence={"conversation_id": "c9"})
        assert (again["verdict"], memory.waiting) == ("same" if take == "both" else "kept", [])


def test_the_tenant_says_what_sets_the_proposed_claim_apart() -> None:
    memory = workspace("review")
    say(memory, "Lisbon", 3, A)
    say(memory, "Berlin", 4, B)
    memory.confirm(memory.waiting[0]["id"], by=TENANT, take="both", apart="in summer")
    assert [(entry["value"], entry.get("aspect")) for entry in memory.facts] == [
        ("Lisbon", None),
        ("Berlin", "in summer"),
    ]
    # They contradict each other no more, and the same statement of B is found where it was set apart.
    assert say(memory, "Berlin", 31, B)["verdict"] == "same"
    assert memory.open() == ["Berlin", "Lisbon"]


def test_what_sets_an_answer_apart_is_never_the_code_of_the_claimant() -> None:
    memory = workspace(unless_less_sure_by=0.2)
    say(memory, "Lisbon", 3, A, confidence=0.9)
    say(memory, "Berlin", 4, A, confidence=0.1)
    memory.confirm(memory.waiting[0]["id"], by=BOB, take="both")
    assert {(entry["value"], entry.get("aspect"), entry["claimed_by"]) for entry in memory.facts} == {
        ("Lisbon", None, A),
        ("Berlin", "Berlin", A),
    }
