"""Recalled memory is stripped whatever it is wrapped in, and nothing in it can end the wrapping."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.replay.injected_context import is_marked, neutral, strip, strip_messages, wrap
from tests.domain.extraction_samples import conversation

PIECES = st.lists(
    st.sampled_from(["<memnet-context>", "</memnet-context>", "<MEMNET-context a='>'>", "<memnet-context", "<", ">"])
    | st.text(alphabet="ab </>-memntcox\n", max_size=12)
).map("".join)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no marker at all ", "no marker at all "),
        ("1 < 2 and <memnet> is a name", "1 < 2 and <memnet> is a name"),
        ("<memnet-contextual> is another word", "<memnet-contextual> is another word"),
        ("<memnet-context>old</memnet-context>", ""),
        ("a <memnet-context>old</memnet-context> b", "a\nb"),
        ('a <memnet-context version="1" from="x">old</memnet-context>', "a"),
        ("a <MemNet-Context>old</MEMNET-CONTEXT > b", "a\nb"),
        ("a <memnet-context>old <memnet-context>older</memnet-context> old</memnet-context> b", "a\nb"),
        ("a <memnet-context>old, never closed", "a"),
        ("a <memnet-context cut off", "a"),
        ("cut off: old</memnet-context> b", "b"),
        ("a <memnet-context>x</memnet-context> y</memnet-context> b", "b"),
        ("<memnet-context/>old", ""),
        ("<memnet-context>old</memnet-context>\n\n  ", ""),
        ("a\n<memnet-context\nid='1'>old\nolder</memnet-context>\nb", "a\nb"),
    ],
)
def test_what_is_marked_is_stripped(text: str, left: str) -> None:
    assert strip(text) == left


def test_a_marker_is_not_made_of_what_is_left() -> None:
    text = "<<memnet-context></memnet-context>memnet-context>said"

    assert not is_marked(strip(text))


@given(PIECES)
def test_nothing_marked_is_left_and_nothing_is_added(text: str) -> None:
    left = strip(text)

    assert not is_marked(left)
    assert strip(left) == left
    assert not set(left) - set(text) - {"\n"}


@given(PIECES)
def test_what_is_wrapped_is_stripped_whole_whatever_it_says(text: str) -> None:
    assert strip(wrap(text)) == ""
    assert strip(f"said before\n{wrap(text)}\nsaid after") == "said before\nsaid after"


@given(PIECES)
def test_a_neutral_text_holds_no_marker_and_is_neutral(text: str) -> None:
    assert not is_marked(neutral(text))
    assert neutral(neutral(text)) == neutral(text)
    assert re.sub("&lt;", "<", neutral(text)) == text


def test_it_is_stripped_from_every_role_and_the_rest_stays() -> None:
    messages = conversation(
        "system: <memnet-context>old</memnet-context>",
        "user: hello <memnet-context>old</memnet-context>",
        "tool: fine",
        "assistant: <memnet-context>old",
    )

    stripped = strip_messages(messages)

    assert [m.content for m in stripped] == ["", "hello", "fine", ""]
    assert [(m.message_id, m.role, m.timestamp) for m in stripped] == [
        (m.message_id, m.role, m.timestamp) for m in messages
    ]


def test_a_long_text_full_of_markers_takes_no_long_time() -> None:
    assert strip("<memnet-context>" * 6_000) == ""
    assert strip("</memnet-context>" * 6_000) == ""
    assert strip("<memnet-context" * 6_000) == ""
