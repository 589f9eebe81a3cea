"""Text into terms, as the analyzer `standard.lucene`, the default of Azure AI Search.

It breaks words as Lucene's StandardTokenizer does (Unicode UAX #29 with the word-break classes of
Unicode 6.3), lower-cases, drops nothing: Azure's default stop list for it is empty.
"""

import re
import unicodedata
from typing import Final

LONGEST_TERM: Final = 255


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


def lower(text: str) -> str:
    """Lower-case character by character, as Lucene does: no rule looks at the neighbours (the final sigma)."""
    return text.lower() if text.isascii() else "".join(character.lower() for character in text)


def terms(text: str) -> list[str]:
    """Return the words in lower case, cut where they are too long; underscores alone are none."""
    found = []
    for match in _WORD.finditer(text):
        word = match[0]
        for start in range(0, len(word), LONGEST_TERM):
            found.append(lower(word[start : start + LONGEST_TERM]))
    return [term for term in found if term[0] != "_" or term.strip("_")]
