"""Normal forms of texts, sentences and words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.text import names, normalize, normalized_text, sentences, traces, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Likes tea.", " \t“Likes tea” !\n"),
        ("Don't!", "don\u2019t"),
        ("e-mail", "E mail"),
        ("Done.Next", "done next"),
        ("\u1fb3\u0301", "\u1fb4"),
        ("\ufb01ne \uff11\uff12", "fine 12"),
        ("É", "e\u0301"),
        ("co\u00adop\u200berate\ufeff", "cooperate"),
        ("Yes (really), please…", "yes really please"),
        ("お茶が、好き。", "お茶が 好き"),
    ],
)
def test_the_same_is_said(one: str, other: str) -> None:
    assert normalize(one) == normalize(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C#"),
        ("net", ".NET"),
        ("1.5 kg", "15 kg"),
        ("1.5 kg", "1 5 kg"),
        ("at -5", "at 5"),
        ("a/b", "a b"),
        ("resume", "résumé"),
        ("हिन्दी", "हिनदी"),
        ("👩‍💻", "👩💻"),
        ("therapist", "the rapist"),
        ("Likes tea", "Does not like tea"),
    ],
)
def test_something_else_is_said(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


@given(st.text())
def test_a_normal_form_is_its_own(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@pytest.mark.parametrize(
    ("item", "field", "said"),
    [
        ("Likes tea.", "text", "likes tea"),
        ({"text": "Likes tea."}, "text", "likes tea"),
        ({"note": "Likes tea."}, "note", "likes tea"),
        ({"note": "Likes tea."}, "text", None),
        ({"text": 5}, "text", None),
        ("!", "text", "!"),
        (None, "text", None),
    ],
)
def test_what_an_entry_says(item: object, field: str, said: str | None) -> None:
    assert normalized_text(item, field) == said


def test_a_text_falls_into_sentences() -> None:
    text = "Hi!  It\u2019s 1.5 ms.\nAnd then? Well\n\n  \nよし。次。"

    assert list(sentences(text)) == ["Hi!", "It's 1.5 ms.", "And then?", "Well", "よし。", "次。"]


def test_names_are_capitalised_words_that_do_not_begin_a_sentence() -> None:
    text = "Yesterday I met Maya Quist and O'Brien, Ana of Contoso's team in Porto, I hear."
    assert names(text) == ["Maya Quist", "O'Brien", "Ana", "Contoso", "Porto"]
    assert names("Maya Quist moved to Zürich.") == ["Zürich"]
    assert names('"Good" was all.') == names("") == names("よし。") == []


def test_words_that_say_something() -> None:
    assert words("What about the Reranker, again and again? p95 it's don't") == {"reranker", "don't"}


def test_forms_of_a_word_leave_the_same_trace() -> None:
    assert traces("prefers tables") & traces("I PREFERRED a tàble") == {"prefe", "table"}
    assert traces("with that there") == set()
    assert traces("call 112, in 5") == {"call", "112"}
    assert traces("短い答え") == {"短い", "い答", "答え"}
    assert traces("") == set()
