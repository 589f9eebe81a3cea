"""Find and strip invisible characters, in which text can be hidden from people but not from programs."""

import re
import unicodedata
from typing import Final

_ALWAYS = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ue000-\uf8ff\U000e0000-\U0010ffff"
)
"""Controls, directions, fillers, word joiners, tags, private use, most variation selectors."""
_WITHIN_WORDS = "\u200c\u200d\ufe0e\ufe0f"
"""Joiners and the two common variation selectors: some scripts, and emoji, are written with them."""
INVISIBLE: Final = re.compile(f"[\x00-\x1f{_ALWAYS}{_WITHIN_WORDS}]")
"""All of them, line ends and tabs too."""
_SUSPECT = re.compile(f"[\x00-\x08\x0b-\x1f{_ALWAYS}]|[{_WITHIN_WORDS}]{{2}}")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_INVISIBLE = re.compile(f"[\x00-\x08\x0e-\x1f{_ALWAYS}{_WITHIN_WORDS}]")


def readings(text: str) -> tuple[str, ...]:
    """What a reader can take the text for, in compatibility form (Unicode NFKC): wide letters and digits become plain.

    The first reading leaves out invisible characters. If there are any, a second reading has a space for each.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if (_CONTROL if plain.isascii() else _INVISIBLE).search(plain) is None:
        return (plain,)
    return (_INVISIBLE.sub("", plain), _INVISIBLE.sub(" ", plain))


def has_invisible_characters(text: str) -> bool:
    """Whether a text that is to be kept holds what it has no use for."""
    return _SUSPECT.search(text) is not None


def strip_invisible(text: str) -> str:
    """The text in one line, each such character a space; those that belong within words stay."""
    return " ".join(_SUSPECT.sub(" ", text).split())
