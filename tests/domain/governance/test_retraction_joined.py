"""Statements that consolidation has joined are parted again when one of their sources is taken back."""

from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from tests.domain.retraction_document import Recorded, op
from tests.domain.statement_document import day

JOINED = "The user and a stranger walk."


def said(document: Recorded) -> list[Any]:
    """(text, confidence, who closed it) of each statement."""
    facts = document.document.facts
    return [(one["text"], one["confidence"], one.get("replaced_by")) for one in facts]


def joined(first: str, second: str, *, text: str | None = None) -> Recorded:
    """A document in which the first statement has taken over the second one, which is about something else."""
    document = Recorded()
    for number, source in ((1, first), (2, second)):
        about = {"attribute": f"does {source}", "confidence": 0.9 if source == first else 0.8}
        document.say("walks", source, number, text=f"Walks, says {source}.", **about)
    kept, other = document.document.facts
    ops = [
        op("replace", "/facts/0/evidence", {**kept["evidence"], "also": [other["evidence"]]}),
        op("add", "/facts/1/valid_until", day(5)),
        op("add", "/facts/1/replaced_by", kept["id"]),
    ]
    if text is not None:
        ops += [op("replace", "/facts/0/text", text), op("replace", "/facts/0/confidence", 0.8)]
    rows = [{"from": ["/content/facts/0", "/content/facts/1"], "into": "/content/facts/0"}]
    document.record(ops, reason="compaction", evidence={"merged": rows})
    assert document.origins.content is not None
    document.document.content = document.origins.content.plain()
    return document


@pytest.mark.parametrize("text", [None, JOINED])
def test_a_statement_of_the_source_goes_with_all_that_it_took_over(text: str | None) -> None:
    document, clean = joined("bad", "good", text=text), Recorded()
    clean.say("walks", "good", 2, text="Walks, says good.", attribute="does good", confidence=0.8)
    document.take_back()
    assert said(document) == [("Walks, says good.", 0.8, None)]
    assert canonical(normal(document)) == canonical(normal(clean))
    assert list(document.plan().ops) == []


@pytest.mark.parametrize("text", [None, JOINED])
def test_a_statement_that_took_over_one_of_the_source_is_what_it_was(text: str | None) -> None:
    document, clean = joined("good", "bad", text=text), Recorded()
    clean.say("walks", "good", 1, text="Walks, says good.", attribute="does good", confidence=0.9)
    document.take_back()
    assert said(document) == [("Walks, says good.", 0.9, None)]
    assert canonical(normal(document)) == canonical(normal(clean))
    assert list(document.plan().ops) == []


def test_both_stay_joined_if_neither_rests_on_the_source() -> None:
    document = joined("good", "better", text=JOINED)
    before = document.copied()
    assert list(document.take_back().ops) == []
    assert document.copied() == before


def normal(document: Recorded) -> Any:
    """The content without the ids of its statements."""
    facts = [{name: one for name, one in fact.items() if name != "id"} for fact in document.document.facts]
    return {**document.copied(), "facts": facts}
