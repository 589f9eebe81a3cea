"""Statements about different things that say the same, and a document that consolidates them."""

import copy
from typing import Any

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Json
from memnet.domain.upkeep.consolidation import find_joints, find_untraced, plan_consolidation
from memnet.domain.upkeep.maintenance import MaintenancePlan, find_lost
from memnet.domain.upkeep.near_statements import Vectors
from tests.domain.statement_document import SERVICE, Statements, day, statement_rules
from tests.domain.upkeep_samples import applied, around

PROMPT = {"prompt_id": "consolidation", "prompt_version": "1.0.0"}
AT = day(28)


def statement(entry_id: str, text: str, attribute: str, value: str, at: int = 1, **members: Any) -> dict[str, Any]:
    """An open statement about the user, said on a day in a conversation of its own."""
    since = day(at)
    found = {
        "id": entry_id,
        "text": text,
        "subject": "user",
        "attribute": attribute,
        "value": value,
        "confidence": 0.8,
        "evidence": {"conversation_id": f"c-{entry_id}", "at": since},
        "valid_from": since,
        "last_verified_at": since,
    }
    return {name: value for name, value in {**found, **members}.items() if value is not None}


HOME = [
    statement("s1", "The user lives in Lisbon.", "lives in", "Lisbon", 1),
    statement("s2", "The user lives in the city of Lisbon.", "home town", "Lisbon", 2, confidence=0.9),
    statement("s3", "In Lisbon the user lives.", "residence", "Lisbon", 3),
]
"""Three ways to say where the user lives; s2 is the surest."""


class Consolidating(Statements):
    """A document whose facts are consolidated."""

    def __init__(self, *facts: dict[str, Any], above: float = 0.6, prompt: bool = False, **members: Any) -> None:
        rule = {"consolidate": {"above": above, **(PROMPT if prompt else {})}}
        statements = members.pop("statements", {})
        super().__init__(statement_rules(upkeep=rule | members, **statements))
        self.content["facts"] = copy.deepcopy(list(facts))

    def plan(
        self, texts: dict[str, str] | None = None, *, vectors: Vectors | None = None, at: str = AT
    ) -> MaintenancePlan:
        """Return the plan, after its proofs."""
        return plan(self.content, self.rules, texts, vectors=vectors, at=at)

    def consolidate(self, texts: dict[str, str] | None = None, *, vectors: Vectors | None = None) -> MaintenancePlan:
        """Apply the plan as upkeep does."""
        made = self.plan(texts, vectors=vectors)
        if made.ops:
            self.tend(*made.ops)
        return made

    def joints(self) -> Any:
        """Return what a model would be asked to join."""
        return find_joints(self.content, self.rules, around(self.rules), at=AT, vectors=None)

    def named(self, entry_id: str) -> dict[str, Any]:
        """Return the entry with an id."""
        (found,) = [entry for entry in self.facts if entry["id"] == entry_id]
        return found


def plan(
    content: Json, rules: Any, texts: dict[str, str] | None = None, *, vectors: Vectors | None = None, at: str = AT
) -> MaintenancePlan:
    """Plan the consolidation of a content, and check that its operations and its proofs hold."""
    made = plan_consolidation(
        content, rules, around(rules), at=at, vectors=vectors, texts=texts, proposer=SERVICE.principal
    )
    replayed = applied(content, made)
    assert canonical(replayed) == canonical(made.content)
    assert find_untraced(content, made, rules) == ()
    assert find_lost(content, made, rules, around(rules), saved=[]) == ()
    return made


def cited(entry: dict[str, Any]) -> set[str]:
    """Return the conversations that an entry cites."""
    evidence = entry.get("evidence", {})
    items = [evidence, *evidence.get("also", [])]
    return {item["conversation_id"] for item in items if "conversation_id" in item}
