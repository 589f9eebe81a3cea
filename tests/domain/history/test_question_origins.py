"""Origins of the answers to a question: each value rests on the proposal that was taken, and on no other one."""

from typing import Any

import pytest

from memnet.domain.history.origins import Origins
from tests.domain.documents.test_question_answers import asked
from tests.domain.history.test_origins import at, op, origins_of, record

LISBON = {"id": "f1", "text": "Lives in Lisbon.", "confidence": 0.9}
BERLIN = {"id": "f2", "text": "Lives in Berlin."}
ROME = {"id": "f3", "text": "Lives in Rome."}
ASKED = {"id": "p1", "proposed_by": "svc-a", "proposed_at": "t3", "contradicts": "f1", "target": {"value": BERLIN}}
JOINED = {"id": "p2", "proposed_by": "svc-b", "proposed_at": "t4", "target": {"value": ROME}}


def answered(*ops: Any, **evidence: Any) -> Origins:
    """Lisbon is known from change 2; Berlin (change 3) and Rome (change 4) contradict it; change 5 answers."""
    return origins_of(
        record(2, op("add", "/facts/-", LISBON), evidence={"conversation_id": "c2"}),
        record(3, op("add", "/notes/-", ASKED), evidence={"conversation_id": "c3"}),
        record(4, op("add", "/notes/0/alternatives", [JOINED]), evidence={"conversation_id": "c4"}),
        record(5, op("remove", "/notes/0"), *ops, reason="confirmation", evidence={"pending_id": "p1", **evidence}),
    )


def said(origins: Origins, path: str) -> list[int]:
    return [one.sequence for one in at(origins, path).sources()]


SURER = op("replace", "/facts/0/confidence", 0.95)
CONFIRMED = op("add", "/facts/0/evidence", {"conversation_id": "c2", "also": [{"conversation_id": "c5"}]})


@pytest.mark.parametrize(("choice", "entry", "change"), [(1, BERLIN, 3), (2, ROME, 4)])
@pytest.mark.parametrize("take", ["proposed", "both"])
def test_a_proposal_that_was_taken_is_the_source_and_its_proposer_is_named(
    take: str, choice: int, entry: dict[str, Any], change: int
) -> None:
    origins = answered(SURER, CONFIRMED, op("add", "/facts/-", entry), take=take, choice=choice)
    assert said(origins, "/facts/1/text") == [change]
    origin = at(origins, "/facts/1/text").origin
    assert (origin.proposed_by, origin.proposed_at) == (("svc-a", "t3") if choice == 1 else ("svc-b", "t4"))


@pytest.mark.parametrize("evidence", [{}, {"conversation_id": "c5"}])
@pytest.mark.parametrize("take", ["existing", "both"])
def test_what_is_kept_does_not_rest_on_what_contradicts_it(take: str, evidence: dict[str, str]) -> None:
    entry = [op("add", "/facts/-", BERLIN)] if take == "both" else []
    origins = answered(SURER, CONFIRMED, *entry, take=take, **evidence)
    assert said(origins, "/facts/0/text") == ([2, 5] if evidence else [2])
    assert said(origins, "/facts/0/confidence") == [5]
    origin = at(origins, "/facts/0/confidence").origin
    assert (origin.is_confirmed, origin.proposed_by) == (True, None if take == "existing" else "svc-a")


def test_an_alternative_that_a_patch_applies_is_its_source() -> None:
    origins = origins_of(
        record(2, op("add", "/facts/-", LISBON), evidence={"conversation_id": "c2"}),
        record(3, op("add", "/notes/-", ASKED), evidence={"conversation_id": "c3"}),
        record(4, op("add", "/notes/0/alternatives", [JOINED]), evidence={"conversation_id": "c4"}),
        record(5, op("remove", "/notes/0"), op("add", "/facts/-", ROME), evidence={"conversation_id": "c5"}),
    )
    assert said(origins, "/facts/1/text") == [5, 4]


def test_the_record_of_an_answer_names_the_proposal_that_was_taken() -> None:
    memory, pending_id = asked("Rome")
    memory.confirm(pending_id, choice=2)
    assert memory.open() == ["Rome"]
    assert memory.decision is not None
    assert memory.decision.evidence is not None
    assert (memory.decision.evidence["take"], memory.decision.evidence["choice"]) == ("proposed", 2)
