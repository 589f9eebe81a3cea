"""Text into terms: Lucene's analyzers that Azure AI Search offers by name, those the emulator has.

`standard.lucene` breaks words as Lucene's StandardTokenizer does (Unicode UAX #29 with the word-break classes of
Unicode 6.3), lower-cases, drops nothing: Azure's default stop list for it is empty.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

LONGEST_TOKEN: Final = 255


class Token(NamedTuple):
    """A term and where it stood in the text."""

    term: str
    start: int
    end: int


Analyzer = Callable[[str], list[Token]]


def _marks() -> str:
    """Return the combining marks and joiners of the basic plane as ranges of a character class."""
    ranges: list[list[int]] = []
    for code in range(0x300, 0xFFFF):
        if unicodedata.category(chr(code))[0] == "M" or code in (0x200C, 0x200D):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)


_MARKS: Final = _marks()
_IDEOGRAPH: Final = "\\u2e80-\\u2fdf\\u3005\\u3007\\u3021-\\u3029\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff"
_IDEOGRAPHS: Final = f"{_IDEOGRAPH}\\U00020000-\\U0003ffff"
_HIRAGANA: Final = "\\u3041-\\u3096\\u309d-\\u309f"
_KATAKANA: Final = "\\u30a1-\\u30fa\\u30fc-\\u30ff\\u31f0-\\u31ff\\uff66-\\uff9f"
_LETTER: Final = r"[^\W\d_]"
_AFTER_LETTER: Final = f"(?:(?<={_LETTER})|(?<=[{_MARKS}]))"
_MID_LETTER: Final = "[.'\\u2018\\u2019\\u2024\\ufe52\\uff07\\uff0e:\\u00b7\\u0387\\u05f4\\u2027\\ufe13\\ufe55\\uff1a]"
_MID_NUMBER: Final = (
    "[.'\\u2018\\u2019\\u2024\\ufe52\\uff07\\uff0e,;"
    "\\u037e\\u0589\\u060c\\u060d\\u066c\\u07f8\\u2044\\ufe10\\ufe14\\uff0c\\uff1b]"
)
_WORD: Final = re.compile(
    f"[{_IDEOGRAPHS}{_HIRAGANA}][{_MARKS}]*"
    f"|[{_KATAKANA}][{_KATAKANA}{_MARKS}]*"
    f"|(?:(?![{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}])\\w"
    f"(?:(?![{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}])\\w|[{_MARKS}]"
    f"|{_AFTER_LETTER}{_MID_LETTER}(?={_LETTER})|(?<=\\d){_MID_NUMBER}(?=\\d))*)"
)
_LETTERS: Final = re.compile(f"{_LETTER}+")
_NON_SPACE: Final = re.compile(r"\S+")


def _lower(text: str) -> str:
    """Lower-case character by character, as Lucene does: no rule looks at the neighbours (the final sigma)."""
    return text.lower() if text.isascii() else "".join(character.lower() for character in text)


def _tokens(pattern: re.Pattern[str], text: str) -> Iterator[Token]:
    """Yield what the pattern finds, cut where it is too long, unchanged."""
    for match in pattern.finditer(text):
        start, end = match.span()
        if end - start <= LONGEST_TOKEN:
            yield Token(match[0], start, end)
        else:
            for cut in range(start, end, LONGEST_TOKEN):
                yield Token(text[cut : min(cut + LONGEST_TOKEN, end)], cut, min(cut + LONGEST_TOKEN, end))


def standard(text: str) -> list[Token]:
    """Words in lower case; underscores alone are none."""
    return [
        Token(_lower(term), start, end)
        for term, start, end in _tokens(_WORD, text)
        if term[0] != "_" or term.strip("_")
    ]


def keyword(text: str) -> list[Token]:
    """The whole text as one term, unchanged."""
    return [Token(text, 0, len(text))] if text else []


def simple(text: str) -> list[Token]:
    """Runs of letters in lower case."""
    return [Token(_lower(term), start, end) for term, start, end in _tokens(_LETTERS, text)]


def whitespace(text: str) -> list[Token]:
    """The words between white space, unchanged."""
    return list(_tokens(_NON_SPACE, text))


DEFAULT_ANALYZER: Final = "standard.lucene"
ANALYZERS: Final[dict[str, Analyzer]] = {
    DEFAULT_ANALYZER: standard,
    "keyword": keyword,
    "simple": simple,
    "whitespace": whitespace,
}

_FOLDS_CASE: Final = {DEFAULT_ANALYZER, "simple"}


def normalized_prefix(analyzer: str, text: str) -> str:
    """Return what a prefix query looks for: a prefix is not broken into words, only its case is folded."""
    return _lower(text) if analyzer in _FOLDS_CASE else text
