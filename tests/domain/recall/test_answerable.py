"""A question about what was never mentioned has no answer."""

import pytest

from memnet.domain.core.terms import Terms
from memnet.domain.recall.answerable import is_answerable
from tests.domain.samples import CATALOG

CONSTANTS = CATALOG.rankers["conversation", "1.0.0"].file.constants
SAID = [Terms("Mira adopted a beagle in spring."), Terms("I moved to Porto for the job.")]


@pytest.mark.parametrize(
    ("asked", "answerable"),
    [
        ("When did Mira adopt the beagle?", True),
        ("Where does Mira's beagle sleep at night?", True),
        ("Which orchestra does Mira play the violin in?", False),
        ("What is the name of the beagle?", True),
        ("What do you know about me?", True),
        ("Did Mira move to Lisbon for the job?", False),
        ("Who moved in October 2024?", True),
        ("", True),
        ("住所はどこですか", False),
    ],
)
def test_a_question_needs_its_names_and_a_third_of_its_words(asked: str, answerable: bool) -> None:
    assert is_answerable(asked, frozenset(), SAID, CONSTANTS) is answerable


def test_the_name_of_a_speaker_is_no_word_of_the_question() -> None:
    assert not is_answerable("Which football club does Mira like?", frozenset({"Mira"}), SAID, CONSTANTS)
    assert not is_answerable("When did Mira buy guitars?", frozenset({"Mira"}), SAID, CONSTANTS)


def test_without_candidates_nothing_is_answered() -> None:
    assert not is_answerable("beagle", frozenset(), [], CONSTANTS)
