"""Words as Lucene's StandardTokenizer breaks them (Unicode UAX #29)."""

import pytest

from local.emulators.search.analysis import LONGEST_TERM, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Quick, brown FOX!", ["the", "quick", "brown", "fox"]),
        ("can't o'neill's it\u2019s", ["can't", "o'neill's", "it\u2019s"]),
        ("wi-fi e-mail", ["wi", "fi", "e", "mail"]),
        ("3.14 1,000 1.5.2 192.168.0.1", ["3.14", "1,000", "1.5.2", "192.168.0.1"]),
        ("example.com a:b", ["example.com", "a:b"]),
        ("snake_case _private __", ["snake_case", "_private"]),
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


def test_a_long_term_is_cut() -> None:
    assert [len(term) for term in terms("x" * (LONGEST_TERM + 3))] == [LONGEST_TERM, 3]
