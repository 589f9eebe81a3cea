"""When two texts say the same: no grammar of any language, only what Unicode says of their characters."""

import re
import unicodedata
from functools import lru_cache

from memnet.domain.core.scope import Json

_HIDDEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff"))
"""Characters that show nothing and mean nothing: soft hyphen, zero width space, direction marks, word joiner."""

_MEANT = frozenset("#%&*@/\\")
"""Marks that Unicode counts as punctuation and that change what is said: "C#", "100%", "a/b"."""

_PERHAPS_PUNCTUATION = re.compile(r"[^\w\s]|_")


@lru_cache(maxsize=4096)
def normalize(text: str) -> str:
    """Fold case, compatibility forms, punctuation and white space of `text`; equal results say the same.

    Kept is what changes a meaning: symbols ("C++", "€"), a mark between digits ("1.5", "1-5"), a minus before a
    number, a dot before a word (".NET"). A text of nothing but punctuation stays. The result is its own normal form.
    """
    folded = _folded(text.translate(_HIDDEN))
    return " ".join(_PERHAPS_PUNCTUATION.sub(_mark, folded).split()) or " ".join(folded.split())


def normalized_text(item: Json, text_field: str = "text") -> str | None:
    """What an entry says, normalised: the entry if it is a text, else its `text_field`; None: it says nothing."""
    text = item.get(text_field) if isinstance(item, dict) else item
    return (normalize(text) or None) if isinstance(text, str) else None


def _folded(text: str) -> str:
    """Without differences of case and of compatibility (Unicode, 3.13); what folding brings forth may fold again."""
    while (folded := unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())) != text:
        text = folded
    return text


def _mark(match: re.Match[str]) -> str:
    """The character, or a space for punctuation that separates and no more."""
    character = match.group()
    if not unicodedata.category(character).startswith("P") or character in _MEANT:
        return character
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    between_digits = before.isdigit() and after.isdigit()
    minus = character == "-" and after.isdigit() and not before.isalnum()
    leading_dot = character == "." and after.isalnum() and not before.strip()
    return character if between_digits or minus or leading_dot else " "
