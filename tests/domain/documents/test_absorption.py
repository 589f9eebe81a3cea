"""One statement takes the evidence of others and closes them; nothing that is known is lost."""

from typing import Any

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES
from memnet.domain.documents.absorption import absorb
from memnet.domain.documents.statement_fold import fold
from tests.domain.consolidation_samples import AT, HOME, Consolidating, cited, statement
from tests.domain.statement_document import day

RULE = Consolidating().rules.profile.upkeep_rules["b"][0]


def absorbed(*facts: Any, stays: int = 0) -> Any:
    return absorb(facts, stays, [place for place in range(len(facts)) if place != stays], RULE, at=AT)


def test_the_one_that_stays_cites_all_and_each_keeps_its_time() -> None:
    made = absorbed(*HOME, stays=1)
    evidence = made.stays["evidence"]
    items = [evidence, *evidence["also"]]
    assert sorted((item["conversation_id"], item["at"]) for item in items if "also" not in item or item["also"]) == [
        ("c-s1", day(1)),
        ("c-s2", day(2)),
        ("c-s3", day(3)),
    ]
    assert (made.stays["text"], made.stays["confidence"]) == (HOME[1]["text"], 0.9)
    # It holds since it was first said, and was verified when the newest of them was.
    assert (made.stays["valid_from"], made.stays["last_verified_at"]) == (day(1), day(3))


def test_the_others_are_closed_whole_and_name_the_one_that_stays() -> None:
    made = absorbed(*HOME, stays=1)
    assert made.closed == {
        place: {**HOME[place], "valid_until": AT, "replaced_by": "s2"} for place in (0, 2)
    }  # fmt: skip


def test_an_original_is_not_closed_before_its_newest_observation() -> None:
    late = statement("s4", "Lives in Lisbon.", "home", "Lisbon", 30)
    assert absorbed(HOME[1], late).closed[1]["valid_until"] == day(30)


def test_what_does_not_fit_stays_with_the_closed_original() -> None:
    many = [
        statement(
            f"s{n}", "Lives in Lisbon.", f"home {n}", "Lisbon", evidence={"conversation_id": f"c{n}" * 40, "at": day(1)}
        )
        for n in range(100)
    ]
    made = absorbed(HOME[1], *many)
    assert len(made.closed) == 100
    assert len(canonical(made.stays["evidence"])) <= MAX_EVIDENCE_BYTES
    assert len(canonical(made.stays["evidence"])) > MAX_EVIDENCE_BYTES - 500
    assert all(made.closed[place + 1]["evidence"] == entry["evidence"] for place, entry in enumerate(many))
    assert "c-s2" in cited(made.stays)


def test_of_each_the_newest_evidence_is_taken_first() -> None:
    long = "x" * 1900
    items = [{"conversation_id": f"{n}{long}", "at": day(n)} for n in range(1, 6)]
    other = statement("s4", "Lives in Lisbon.", "home", "Lisbon", evidence={**items[0], "also": items[1:]})
    small = statement("s5", "Lives in Lisbon.", "town", "Lisbon", 9)
    made = absorbed(HOME[1], other, small)
    assert {name[:4] for name in cited(made.stays)} == {"c-s2", "c-s5", "5xxx", "4xxx", "3xxx", "2xxx"}


def test_the_same_message_is_cited_once() -> None:
    same = {**HOME[0], "evidence": HOME[1]["evidence"]}
    assert absorbed(HOME[1], same).stays["evidence"] == HOME[1]["evidence"]


def test_one_whose_evidence_would_change_what_held_before_is_left_open() -> None:
    porto = statement("p", "Lives in Porto.", "home town", "Porto", 5, valid_until=day(9), replaced_by="s2")
    lisbon = {**HOME[1], "valid_from": day(9), "evidence": {"conversation_id": "c", "at": day(9)}, "replaces": "p"}
    early, late = statement("e", "In Lisbon.", "x", "Lisbon", 2), statement("l", "In Lisbon.", "y", "Lisbon", 12)
    made = absorb([porto, lisbon, early, late], 1, [2, 3], RULE, at=AT)
    assert made is not None
    assert list(made.closed) == [3]
    assert absorb([porto, lisbon, early], 1, [2], RULE, at=AT) is None


def test_folding_again_changes_nothing() -> None:
    made = absorbed(*HOME, stays=1)
    entries = {1: made.stays, **made.closed}
    for place, entry in entries.items():
        (run,) = fold({place: entry}, RULE)
        assert canonical(run.entry) == canonical(entry)
