"""Sentences, words, and what two texts have in common."""

from memnet.domain.core.text import names, sentences, traces, words


def test_a_text_falls_into_sentences() -> None:
    text = "Hi!  It\u2019s 1.5 ms.\nAnd then? Well\n\n  \nよし。次。"

    assert list(sentences(text)) == ["Hi!", "It's 1.5 ms.", "And then?", "Well", "よし。", "次。"]


def test_names_are_capitalised_words_that_do_not_begin_a_sentence() -> None:
    text = "Yesterday I met Maya Quist and O'Brien, Ana of Contoso's team in Porto, I'm told."
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
