"""The terms of a text."""

from dataclasses import replace

from memnet.domain.core.terms import Terms
from tests.domain.recall.stage_samples import turn


def test_the_words_of_a_text_are_its_stems_with_their_counts() -> None:
    terms = Terms("The beagles ran, and a beagle slept.")
    assert terms.words == ("beagl", "ran", "beagl", "slept")
    assert terms.counts == {"beagl": 2, "ran": 1, "slept": 1}
    assert (terms.head, terms.head_chars) == ((), 0)


def test_the_head_of_a_message_is_its_day_and_its_speaker() -> None:
    terms = Terms("Hello.", day="2026-05-08", speaker="Vera Walker")
    assert terms.head == ("2026", "05", "08", "vera", "walker")
    assert terms.head_chars == sum(map(len, terms.head))


def test_a_copy_of_a_candidate_keeps_its_terms_unless_its_text_changes() -> None:
    one = turn("t1", "I live in Porto.")
    assert replace(one, uses=3).terms is one.terms
    assert replace(one, text="My dog sleeps.").terms.words == ("dog", "sleep")
