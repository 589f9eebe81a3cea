"""Words as Lucene's StandardTokenizer breaks them (Unicode UAX #29)."""

import pytest

from local.emulators.search.analysis import ANALYZERS, LONGEST_TOKEN, normalized_prefix, standard


def terms(text: str, analyzer: str = "standard.lucene") -> list[str]:
    return [token.term for token in ANALYZERS[analyzer](text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Quick, brown FOX!", ["the", "quick", "brown", "fox"]),
        ("can't o'neill's it\u2019s", ["can't", "o'neill's", "it\u2019s"]),
        ("wi-fi e-mail", ["wi", "fi", "e", "mail"]),
        ("3.14 1,000 1.5.2 192.168.0.1", ["3.14", "1,000", "1.5.2", "192.168.0.1"]),
        ("end. Of sentence.", ["end", "of", "sentence"]),
        ("example.com a:b", ["example.com", "a:b"]),
        ("snake_case _private __", ["snake_case", "_private"]),
        ("x86_64 v2 b2b", ["x86_64", "v2", "b2b"]),
        ("a.1 1.a", ["a", "1", "1", "a"]),
        ("Ünïcode e\u0301te\u0301", ["ünïcode", "e\u0301te\u0301"]),
        ("東京都 ひら カタカナ", ["東", "京", "都", "ひ", "ら", "カタカナ"]),
        ("한국어 текст", ["한국어", "текст"]),
        ("ΣΊΣΥΦΟΣ", ["σίσυφοσ"]),
        ("a@b.com #tag $5", ["a", "b.com", "tag", "5"]),
        ("", []),
        (" \t\n…❤ ", []),
    ],
)
def test_standard_words(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_tokens_know_where_they_stood() -> None:
    text = "Ab, cd-EF"
    assert [(token.term, text[token.start : token.end]) for token in standard(text)] == [
        ("ab", "Ab"),
        ("cd", "cd"),
        ("ef", "EF"),
    ]


def test_a_long_token_is_cut() -> None:
    assert [len(term) for term in terms("x" * (LONGEST_TOKEN + 3))] == [LONGEST_TOKEN, 3]


@pytest.mark.parametrize(
    ("analyzer", "expected"),
    [("keyword", ["Ab-3 c"]), ("simple", ["ab", "c"]), ("whitespace", ["Ab-3", "c"])],
)
def test_other_analyzers(analyzer: str, expected: list[str]) -> None:
    assert terms("Ab-3 c", analyzer) == expected


def test_only_analyzers_that_fold_case_fold_a_prefix() -> None:
    assert normalized_prefix("standard.lucene", "AbC") == "abc"
    assert normalized_prefix("keyword", "AbC") == "AbC"
