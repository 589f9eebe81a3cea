"""The stage `claims`: the weights of what claimants contradict, against values worked out by hand."""

from typing import Any

import pytest

from memnet.domain.catalog.recall_rules import Claims, Known
from memnet.domain.core.scope import ETag
from memnet.domain.documents.claim import Claim
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.candidate import Candidate, EntryPlace
from memnet.domain.recall.stage_claims import claims
from memnet.domain.recall.stage_known import known
from tests.domain.recall.stage_samples import asked, entry, ranked, scores

RULE = Claims(stage="claims")
MAY, NOVEMBER = "2026-05-01T00:00:00.000000Z", "2025-11-02T00:00:00.000000Z"
"""180 days apart."""


def claim(value: str, claimed_by: str | None, at: str = MAY, *, about: str = "day", **members: Any) -> Candidate:
    """An open statement of a claimant."""
    section = members.pop("section", "/claims")
    key = f"{about} {value} {claimed_by} {section}"
    place = EntryPlace(
        binding_id="b",
        namespace="n",
        path="p.json",
        etag=ETag("e"),
        section=section,
        pointer=f"{section}/0",
    )
    said = Claim(("workspace", about), value, claimed_by, at)
    return entry(key, claim=said, place=place, **{"confidence": 0.9} | members)


def weights(*candidates: Candidate, rule: Claims = RULE, also: tuple[Candidate, ...] = ()) -> list[float]:
    """The weights of the candidates, in their order."""
    weighed = scores(claims(rule, ranked(*((one, 1.0) for one in candidates), also=also), asked(), {}))
    return [round(weighed[one.key], 6) for one in candidates]


def test_the_older_claim_loses_half_in_each_half_life() -> None:
    old, new = claim("friday", "a", NOVEMBER), claim("monday", "b")
    assert weights(old, new) == [0.5, 1.0]
    assert weights(old, new, rule=Claims(stage="claims", half_life_days=90)) == [0.25, 1.0]


@pytest.mark.parametrize(("share", "expected"), [(1.0, 0.5), (0.5, 0.75), (0.0, 1.0)])
def test_the_less_sure_claim_has_its_share_of_the_surest(share: float, expected: float) -> None:
    unsure, sure = claim("friday", "a", confidence=0.4), claim("monday", "b", confidence=0.8)
    assert weights(unsure, sure, rule=Claims(stage="claims", share=share)) == [expected, 1.0]


def test_an_unknown_confidence_is_half_and_an_unknown_age_none() -> None:
    assert weights(claim("friday", "a", confidence=None), claim("monday", "b", confidence=1.0)) == [0.5, 1.0]
    assert weights(claim("friday", "a", ""), claim("monday", "b", NOVEMBER)) == [1.0, 1.0]
    assert weights(claim("friday", "a", confidence=0.0), claim("monday", "b", confidence=0.0)) == [1.0, 1.0]


def test_claims_that_say_the_same_are_as_new_and_as_sure_as_the_best_of_them() -> None:
    agreed = claim("friday", "a", NOVEMBER, confidence=0.9), claim("friday", "b", confidence=0.1)
    assert weights(*agreed, claim("monday", "c")) == [1.0, 1.0, 1.0]


NOT_DISPUTED = [
    (claim("friday", "a", NOVEMBER), claim("friday", "b")),
    (claim("friday", "a", NOVEMBER), claim("monday", "b", about="owner")),
    (claim("friday", "a", NOVEMBER), claim("monday", "a")),
    (claim("friday", "a", NOVEMBER), claim("monday", "b", section="/decisions")),
    (claim("friday", "a", NOVEMBER), claim("monday", "b", state=EntryState.CLOSED)),
    (claim("friday", "a", NOVEMBER), claim("monday", "b", state=EntryState.WAITING)),
    (claim("friday", "a", NOVEMBER), entry("monday")),
]


@pytest.mark.parametrize(("one", "other"), NOT_DISPUTED)
def test_what_no_one_contradicts_is_left_as_it_is(one: Candidate, other: Candidate) -> None:
    weighed = claims(RULE, ranked((one, 1.0), (other, 0.4)), asked(), {})
    assert (list(scores(weighed).values()), dict(weighed.disputed)) == ([1.0, 0.4], {})


def test_a_claim_without_a_name_is_a_claimant_of_its_own() -> None:
    assert weights(claim("friday", None, NOVEMBER), claim("monday", "b")) == [0.5, 1.0]


def test_what_was_not_found_counts_and_the_order_follows_the_weights() -> None:
    old, new, other = claim("friday", "a", NOVEMBER), claim("monday", "b"), entry("other")
    weighed = claims(RULE, ranked((old, 1.0), (other, 0.7), also=(new,)), asked(), {})
    assert scores(weighed) == {"other": 0.7, old.key: 0.5}
    assert weighed.disputed == {old.key: 0.5, new.key: 1.0}
    assert weighed.ranked[1].parts == {"claims": -0.5}
    assert weighed.left_out == ()


def test_what_is_known_for_sure_is_written_by_the_same_weights() -> None:
    old, new = claim("friday", "a", NOVEMBER), claim("monday", "b")
    weighed = claims(RULE, ranked((old, 1.0), (new, 1.0)), asked(), {})
    (group,) = known(Known(stage="known"), weighed, asked(), {}).groups
    assert [one.candidate for one in group.items] == [new, old]
    assert group.items[1].score == pytest.approx(group.items[0].score / 2)
