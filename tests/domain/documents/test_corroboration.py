"""A repeated proposal joins the item that waits, and the profile's rule applies what the user stated often enough."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.statement_rules import Corroboration
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.errors import PendingItemNotFound, ProposerCannotConfirm
from memnet.domain.core.json_patch import apply
from memnet.domain.core.scope import Actor, Json
from memnet.domain.documents.commands import ConfirmPending, IfMatch, PatchDocument, RejectPending
from memnet.domain.documents.confirmation import decide_confirmation, decide_rejection
from memnet.domain.documents.corroboration import is_met
from memnet.domain.documents.entry import evidence_of, rule_of
from memnet.domain.documents.pending_item import proposals_of
from memnet.domain.documents.pending_join import MAX_STATED
from memnet.domain.documents.write_decision import Decision
from tests.domain.samples import (
    ALICE,
    ANYTHING,
    BOB,
    CATALOG,
    KEY,
    NOW,
    draft,
    shipped_command,
    shipped_rules,
    small_rules,
    version_with,
)

PERSONAL = "personal-memory-v1"
RULES = shipped_rules(PERSONAL, "personal")
EMPTY = RULES.binding.initial_content
WORKER = Actor("memnet-worker", frozenset())
FACTS = "/content/facts/-"
RULE = Corroboration(statements=2, days_apart=1)


def fact(value: str, attribute: str = "lives in", **members: Json) -> dict[str, Json]:
    """A statement as a replay proposes it."""
    text = f"I {attribute} {value}."
    named = {"subject": "user", "attribute": attribute, "value": value, "text": text, "confidence": 0.5}
    return {**named, **members}


def evidence(conversation: str) -> dict[str, Json]:
    return {"conversation_id": conversation, "message_ids": ["m1"], "snapshot_uri": f"blob://{conversation}"}


def replayed(entry: Any, conversation: str, day: int, *, path: str = FACTS, **members: Any) -> PatchDocument:
    """What a replay proposes of a conversation on a day of May."""
    at = f"2026-05-{day:02}T12:00:00.000000Z"
    if isinstance(entry, dict):
        entry = {"id": f"e-{conversation}-{day}", "evidence": evidence(conversation), **entry}
    chosen: dict[str, Any] = {
        "actor": WORKER,
        "reason": Reason.REPLAY_UPDATE,
        "confidence": 0.5,
        "evidence": evidence(conversation) | {"replay_id": f"rpl-{conversation}"},
        "source_time": at,
        "stated_at": at,
        "on_behalf_of": "svc-a",
        "idempotency_key": f"{conversation}-{day}",
    }
    ops = [{"op": "add", "path": path, "value": entry}]
    return shipped_command(PERSONAL, "personal", *ops, **chosen | members)


def after(*commands: PatchDocument, content: Json = EMPTY, rules: Any = RULES) -> Decision:
    """The decision on the last command, each on what those before it left."""
    for number, command in enumerate(commands):
        made = replace(draft(rules, command, content))
        content = _named(made.content, f"p{number}")
    return replace(made, content=content)


def _named(content: Json, pending_id: str) -> Json:
    """`draft` names every item alike."""
    for item in content["to_confirm"]:
        item["id"] = pending_id if item["id"] == "proposal" else item["id"]
    return content


def conversations(item: Json) -> list[tuple[str, str, str]]:
    return [(row["conversation_id"], row["from"][8:10], row["until"][8:10]) for row in item.get("stated", [])]


def sources(entry: Json) -> list[Json]:
    return [one.get("conversation_id") for one in evidence_of(entry, rule_of(("facts",), ()))]


def without_rule() -> Any:
    return replace(RULES, profile=RULES.profile.model_copy(update={"corroboration": None}))


def test_an_item_that_is_stated_again_elsewhere_a_day_later_is_applied() -> None:
    made = after(replayed(fact("Berlin"), "c1", 1), replayed(fact("berlin!", text="Berlin it is."), "c2", 2))
    (entry,) = made.content["facts"]
    assert (entry["value"], entry["text"], entry["valid_from"][:10]) == ("Berlin", "I lives in Berlin.", "2026-05-01")
    assert sources(entry) == ["c1", "c2"]
    assert "confirmed_by" not in str(entry)
    assert (made.content["to_confirm"], made.redirected) == ([], ())
    assert made.note == "corroboration (statements 2, days_apart 1): the user stated p0 in 2 conversations"
    assert [one["conversation_id"] for one in [made.evidence, *(made.evidence or {})["also"]]] == ["c2", "c1"]
    assert [(row["op_index"], row["verdict"], row["entry_id"]) for row in made.settled] == [(0, "new", "e-c1-1")]


def test_the_ops_of_a_promotion_give_its_content() -> None:
    first = after(replayed(fact("Berlin"), "c1", 1))
    before = {"content": first.content}
    made = draft(RULES, replayed(fact("Berlin"), "c2", 2), first.content)
    assert apply(before, made.ops)["content"] == made.content


@pytest.mark.parametrize(
    ("second", "stated"),
    [
        (replayed(fact("Berlin"), "c1", 3), [("c1", "01", "03")]),
        (replayed(fact("Berlin"), "c2", 1), [("c1", "01", "01"), ("c2", "01", "01")]),
        (replayed(fact("Berlin"), "c2", 3, stated_at=None), [("c1", "01", "01")]),
        (replayed(fact("Berlin"), "c2", 3, evidence={"message_ids": ["m1"]}), [("c1", "01", "01")]),
    ],
    ids=["the same conversation", "the same day", "not in the user's words", "no conversation"],
)
def test_these_join_and_are_not_enough(second: PatchDocument, stated: Any) -> None:
    made = after(replayed(fact("Berlin"), "c1", 1), second)
    (item,) = made.content["to_confirm"]
    assert (made.content["facts"], conversations(item)) == ([], stated)
    assert [row["pending_id"] for row in made.redirected] == ["p0"]


def test_without_a_rule_an_item_gets_the_further_evidence_and_waits() -> None:
    rules = without_rule()
    made = after(*[replayed(fact("Berlin"), f"c{n}", n) for n in (1, 2, 3)], rules=rules)
    (item,) = made.content["to_confirm"]
    assert made.content["facts"] == []
    assert sources(item["target"]["value"]) == sources(item) == ["c1", "c2", "c3"]
    assert "stated" not in item


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (fact("Berlin"), fact("Rome")),
        (fact("Berlin"), fact("Berlin", "was born in")),
        (fact("Berlin"), fact("Berlin", aspect="in winter")),
    ],
)
def test_other_statements_wait_side_by_side(first: Any, second: Any) -> None:
    made = after(replayed(first, "c1", 1), replayed(second, "c2", 2))
    assert ([sources(item) for item in made.content["to_confirm"]], made.content["facts"]) == ([["c1"], ["c2"]], [])


def test_a_live_writer_neither_joins_a_replay_nor_counts() -> None:
    forged = {"stated": [{"conversation_id": "c9", "from": NOW, "until": NOW}]}
    live = replayed(fact("Berlin"), "c2", 2, actor=ALICE, evidence=evidence("c2") | forged)
    made = after(replayed(fact("Berlin"), "c1", 1), live, replayed(fact("Berlin"), "c1", 4))
    waiting = made.content["to_confirm"]
    assert [item["proposed_by"] for item in waiting] == ["memnet-worker", "svc-alice"]
    assert (conversations(waiting[0]), made.content["facts"]) == ([("c1", "01", "04")], [])


def test_a_corroborated_statement_closes_what_it_contradicts_by_its_own_time() -> None:
    lisbon = replayed(fact("Lisbon", confidence=0.95), "c0", 3, confidence=0.95)
    berlin = [replayed(fact("Berlin"), "c1", 1), replayed(fact("Berlin"), "c2", 2)]
    late = after(lisbon, *berlin)
    closed = {entry["value"]: entry.get("valid_until") for entry in late.content["facts"]}
    assert (closed["Berlin"][:10], closed["Lisbon"]) == ("2026-05-03", None)
    later = [replayed(fact("Berlin"), "c1", 4), replayed(fact("Berlin"), "c2", 5)]
    moved = after(lisbon, *later)
    closed = {entry["value"]: entry.get("valid_until") for entry in moved.content["facts"]}
    assert (closed["Berlin"], closed["Lisbon"][:10]) == (None, "2026-05-04")
    assert [row["verdict"] for row in moved.settled] == ["superseded"]


def test_an_asked_statement_joins_and_is_applied_by_the_rule() -> None:
    rules = replace(
        RULES, profile=RULES.profile.model_copy(update={"confidence_rules": type(RULES.profile.confidence_rules)()})
    )
    lisbon = replayed(fact("Lisbon", confidence=0.95), "c0", 1, confidence=0.95)
    first = after(lisbon, replayed(fact("Berlin"), "c1", 2), rules=rules)
    (item,) = first.content["to_confirm"]
    assert [row["verdict"] for row in first.settled] == ["asked"]
    assert item["question"] == "Earlier: I lives in Lisbon. Now: I lives in Berlin. Which is right?"
    made = after(replayed(fact("Berlin"), "c2", 3), content=first.content, rules=rules)
    assert (made.content["to_confirm"], [row["verdict"] for row in made.settled]) == ([], ["superseded"])
    assert [entry["value"] for entry in made.content["facts"] if not entry.get("valid_until")] == ["Berlin"]


def test_an_unsure_statement_waits_with_a_question_about_the_entry_that_was_shown() -> None:
    lisbon = after(replayed(fact("Lisbon", id="e-lisbon"), "c0", 1, confidence=0.95)).content
    unsure = replayed(fact("Berlin", "is based in"), "c1", 2, confidence=0.95, asks_about="e-lisbon")
    made = after(unsure, content=lisbon)
    (item,) = made.content["to_confirm"]
    assert item["question"] == "Earlier: I lives in Lisbon. Now: I is based in Berlin. Which is right?"
    (row,) = made.settled
    assert (row["verdict"], row["replaced_by"], len(made.content["facts"])) == ("asked", "e-lisbon", 1)
    gone = replace(unsure, asks_about="e-gone")
    assert len(after(gone, content=lisbon).content["facts"]) == 2


PLAIN = small_rules(
    corroboration={"statements": 2},
    pending_sections={"b": "/waiting"},
    confidence_rules={"min_confidence_for_auto_apply": 0.7},
    upkeep_rules={"b": [{"section": "/notes", "expires_field": "expires_at"}]},
)


def noted(text: str, conversation: str, **members: Json) -> PatchDocument:
    """A replay's proposal of a note, which is no statement."""
    value = {"text": text, "evidence": evidence(conversation), **members}
    command = replayed(value, conversation, 1, path="/content/notes/-")
    return replace(command, key=KEY, profile_id="p", binding_id="b")


def test_an_entry_without_statements_joins_by_its_text_and_other_members() -> None:
    empty: Json = {"notes": [], "waiting": []}
    first = draft(PLAIN, noted("Tea, please", "c1"), empty)
    same = draft(PLAIN, noted("tea please!", "c2"), first.content)
    assert ([sources(entry) for entry in same.content["notes"]], same.content["waiting"]) == ([["c1", "c2"]], [])
    assert (same.redirected, same.settled) == ((), ())
    other = draft(PLAIN, noted("Tea, please", "c2", day="Monday"), first.content)
    assert (other.content["notes"], len(other.content["waiting"])) == ([], 2)


@pytest.mark.parametrize(("shared_by", "waiting"), [({"p"}, 0), ({"other"}, 2)])
def test_statements_count_together_under_profiles_that_share_the_rules_of_the_document(
    shared_by: set[str], waiting: int
) -> None:
    first = draft(PLAIN, noted("Tea, please", "c1"), {"notes": [], "waiting": []})
    overlay = replace(PLAIN, shared_by=frozenset(shared_by))
    found = draft(overlay, replace(noted("Tea, please", "c2"), profile_id="q"), first.content).content
    assert (len(found["notes"]), len(found["waiting"])) == (int(not waiting), waiting)


@pytest.mark.parametrize("entry_id", ["n-1", "too-long"])
def test_what_cannot_be_applied_waits_on(entry_id: str) -> None:
    shape = {"properties": {"notes": {"items": {"properties": {"id": {"maxLength": 6}}}}}}
    rules = replace(PLAIN, schema=Schema.compile("any", "1.0.0", {**ANYTHING, **shape}))
    first = draft(rules, noted("Tea", "c1"), {"notes": [], "waiting": []}).content
    first["waiting"][0]["target"]["value"]["id"] = entry_id
    held = [{"id": "n-1", "text": "Milk"}]
    made = draft(rules, noted("Tea", "c2"), {**first, "notes": held})
    assert (made.content["notes"], made.note, len(made.redirected)) == (held, None, 1)
    assert [conversations(item) for item in made.content["waiting"]] == [[("c1", "01", "01"), ("c2", "01", "01")]]


@pytest.mark.parametrize(
    ("rows", "met"),
    [
        ([("c1", 1, 1), ("c2", 2, 2)], True),
        ([("c1", 1, 2), ("c2", 1, 1)], True),
        ([("c1", 1, 9)], False),
        ([("c1", 1, 1), ("c2", 1, 1)], False),
        ([], False),
    ],
)
def test_the_rule(rows: list[tuple[str, int, int]], met: bool) -> None:
    stated = [
        {"conversation_id": name, "from": f"2026-05-0{first}T12:00:00Z", "until": f"2026-05-0{last}T12:00:00Z"}
        for name, first, last in rows
    ]
    assert is_met(RULE, {"stated": stated}) is met


@pytest.mark.parametrize("stated", [None, 5, [5], [{}], [{"conversation_id": "c", "from": "x", "until": NOW}] * 3])
def test_what_an_administrator_spoilt_does_not_count(stated: Json) -> None:
    assert not is_met(Corroboration(statements=2), {"stated": stated})


def test_the_conversations_of_an_item_are_bounded() -> None:
    rule = Corroboration(statements=2, days_apart=365)
    rules = replace(RULES, profile=RULES.profile.model_copy(update={"corroboration": rule}))
    made = after(*[replayed(fact("Berlin"), f"c{n:02}", n) for n in range(1, MAX_STATED + 4)], rules=rules)
    (item,) = made.content["to_confirm"]
    found = conversations(item)
    assert (len(found), found[0][0], found[-1][0]) == (MAX_STATED, "c01", f"c{MAX_STATED + 3}")


# Random histories: replays in any order, a person who confirms or rejects, and a checker that counts on its own.

VALUES = ("Berlin", "Rome")
STEPS = st.one_of(
    st.tuples(st.just("state"), st.sampled_from(VALUES), st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.just("assistant"), st.sampled_from(VALUES), st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.sampled_from(["confirm", "reject"]), st.sampled_from(VALUES), st.just(0), st.just(0)),
)


@dataclass
class Checker:
    """The document, and by value the statements of the user since the item began to wait."""

    content: Json = field(default_factory=lambda: EMPTY)
    stated: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    steps: int = 0

    def item(self, value: str) -> Json:
        """The item that proposes the value, alone or as one of the choices of a question."""
        return next((one for one in self.content["to_confirm"] if value in self.values(one)), None)

    @staticmethod
    def values(item: Json) -> list[str]:
        return [one["target"]["value"]["value"] for one in proposals_of(item)]

    def settle(self, item: Json) -> None:
        """What an item proposed does not wait any more, whatever was decided."""
        for value in self.values(item):
            self.stated.pop(value, None)

    def state(self, value: str, conversation: int, day: int, *, by_user: bool) -> None:
        members: dict[str, Any] = {} if by_user else {"stated_at": None}
        command = replayed(fact(value), f"c{conversation}", day, **members)
        command = replace(command, idempotency_key=f"k{self.steps}")
        held = [one["id"] for one in self.content["facts"]]
        waited = self.item(value)
        made = draft(RULES, command, self.content)
        self.content = _named(made.content, f"p{self.steps}")
        if [row["verdict"] for row in made.settled] == ["same"] and made.note is None:
            # An entry says so already: it gets the source.
            assert ([one["id"] for one in self.content["facts"]], self.item(value)) == (held, waited)
            return
        if [row["verdict"] for row in made.settled] == ["kept"]:
            # A person has answered that it is not so, with this source among what was weighed.
            assert (self.item(value), made.ops) == (waited, [])
            return
        heard = self.stated.setdefault(value, [])
        heard += [(conversation, day)] if by_user else []
        days = [one for _, one in heard]
        due = len({one for one, _ in heard}) >= RULE.statements and max(days) - min(days) >= RULE.days_apart
        if due:
            self.settle(waited)
            self.stated.pop(value, None)
            assert self.item(value) is None
            assert made.note is not None
            assert any(entry["value"] == value for entry in self.content["facts"])
        else:
            assert self.item(value) is not None
            assert made.note is None
            assert [one["id"] for one in self.content["facts"]] == held

    def decide(self, kind: str, value: str) -> None:
        item = self.item(value)
        head = version_with(RULES, self.content)
        chosen: dict[str, Any] = {
            "key": RULES.binding.resolve(replayed(fact("x"), "c", 1).key.scope),
            "actor": replace(BOB, roles=frozenset({Role.WRITE})),
            "precondition": IfMatch(head.commit.etag),
            "idempotency_key": f"k{self.steps}",
            "pending_id": "none" if item is None else item["id"],
        }
        sure: dict[str, Any] = {"confidence": 0.95, "evidence": evidence("c9")}
        try:
            if kind == "reject":
                made = decide_rejection(RejectPending(**chosen), CATALOG, head)
            else:
                own: dict[str, Any] = {**chosen, "actor": Actor("svc-a", frozenset({Role.WRITE}))}
                if item is not None:
                    with pytest.raises(ProposerCannotConfirm):
                        decide_confirmation(ConfirmPending(**own, **sure), CATALOG, head, now=NOW)
                choice = 1 if item is None else self.values(item).index(value) + 1
                made = decide_confirmation(ConfirmPending(**chosen, **sure, choice=choice), CATALOG, head, now=NOW)
        except PendingItemNotFound:
            assert item is None
            return
        self.settle(item)
        self.content = made.content
        assert self.item(value) is None

    def check(self) -> None:
        waiting = [value for item in self.content["to_confirm"] for value in self.values(item)]
        assert len(waiting) == len(set(waiting))
        still_so = [entry for entry in self.content["facts"] if not entry.get("valid_until")]
        assert len(still_so) <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=10))
def test_whatever_the_order_an_item_is_applied_by_a_person_or_by_the_rule(steps: Sequence[Any]) -> None:
    checker = Checker()
    for kind, value, conversation, day in steps:
        checker.steps += 1
        if kind in ("state", "assistant"):
            checker.state(value, conversation, day, by_user=kind == "state")
        else:
            checker.decide(kind, value)
        checker.check()
