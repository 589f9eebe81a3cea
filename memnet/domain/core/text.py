"""Compare and split texts: folding, normal forms, invisible characters, sentences and words."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Final

from memnet.domain.core.scope import Json

WORDS = re.compile(r"\w+")
Phrase = tuple[str, ...]


def fold(text: str) -> Phrase:
    """Return the words of a text without case and accents; '_' and '-' separate words."""
    if text.isascii():
        return tuple(WORDS.findall(text.lower().replace("_", " ")))
    # Decomposing ligatures and styled letters can give capitals, so case is folded before and after.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return tuple(WORDS.findall(bare.replace("_", " ")))


_HIDDEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff"))
"""Invisible characters without meaning: soft hyphen, zero width space, direction marks, word joiner."""

_MEANT = frozenset("#%&*@/\\")
"""Punctuation (in Unicode) that changes the meaning: "C#", "100%", "a/b"."""

_MINUS = frozenset("-\N{HYPHEN}\N{FIGURE DASH}\N{EN DASH}")
"""Punctuation that is written for a minus."""

_PERHAPS_PUNCTUATION = re.compile(r"[^\w\s]|_")


@lru_cache(maxsize=4096)
def normalize(text: str) -> str:
    """Return the normal form of `text`: case, compatibility, punctuation and white space are folded.

    Characters that change the meaning are kept: symbols ("C++", "€"), a mark between digits ("1.5", "1-5"), a minus
    before a number, a dot before a word (".NET"), and text of only punctuation. The function is idempotent.
    """
    folded = _folded(text.translate(_HIDDEN))
    return " ".join(_PERHAPS_PUNCTUATION.sub(_mark, folded).split()) or " ".join(folded.split())


def normalized_text(item: Json, text_field: str = "text") -> str | None:
    """Return the normalised text of an entry: the entry itself if it is a string, else its `text_field`."""
    text = item.get(text_field) if isinstance(item, dict) else item
    return (normalize(text) or None) if isinstance(text, str) else None


def _folded(text: str) -> str:
    """Fold case and compatibility (Unicode, 3.13) until the text no longer changes."""
    while (folded := unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())) != text:
        text = folded
    return text


def _mark(match: re.Match[str]) -> str:
    character = match.group()
    if not unicodedata.category(character).startswith("P") or character in _MEANT:
        return character
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    between_digits = before.isdigit() and after.isdigit()
    if character in _MINUS and after.isdigit() and not before.isalnum():
        return "-"
    leading_dot = character == "." and after.isalnum() and not before.strip()
    return character if between_digits or leading_dot else " "


_ALWAYS = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ue000-\uf8ff\U000e0000-\U0010ffff"
)
"""Controls, directions, fillers, word joiners, tags, private use, most variation selectors."""
_WITHIN_WORDS = "\u200c\u200d\ufe0e\ufe0f"
"""Joiners and the two common variation selectors: some scripts, and emoji, are written with them."""
INVISIBLE: Final = re.compile(f"[\x00-\x1f{_ALWAYS}{_WITHIN_WORDS}]")
"""All invisible characters, line ends and tabs too."""
_SUSPECT = re.compile(f"[\x00-\x08\x0b-\x1f{_ALWAYS}]|[{_WITHIN_WORDS}]{{2}}")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_INVISIBLE = re.compile(f"[\x00-\x08\x0e-\x1f{_ALWAYS}{_WITHIN_WORDS}]")


def readings(text: str) -> tuple[str, ...]:
    """Return the text (NFKC) without invisible characters and, if it has any, with a space for each."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    if (_CONTROL if plain.isascii() else _INVISIBLE).search(plain) is None:
        return (plain,)
    return (_INVISIBLE.sub("", plain), _INVISIBLE.sub(" ", plain))


def has_invisible_characters(text: str) -> bool:
    """Whether a text contains invisible characters that no script needs."""
    return _SUSPECT.search(text) is not None


def strip_invisible(text: str) -> str:
    """Return the text in one line, a space for each invisible character that no script needs."""
    return " ".join(_SUSPECT.sub(" ", text).split())


_SENTENCE_END = re.compile("(?<=[.!?])\\s+|(?<=[\u3002\uff01\uff1f])\\s*|\n+")
_LETTERS = re.compile(r"[^\W\d_][\w'-]*")
_STRETCH = re.compile(r"[^\W_][\w'-]*(?: [^\W_][\w'-]*)*")
SHORTEST_WORD = 4
STEM = 5
"""Words with this many first letters in common count as one: "prefer", "prefers", "preferred"."""
_COMMON = """
about actually after again almost also always amazing another anything around awesome because been before being
between both come could does doing done down during each either enough even every everyone everything excited
first from going gonna good great happened have hello here here's i'll into it's just keep know like little
look looking made make many maybe might more most much must myself need never nothing once only other over people
please pretty quite really right said same shall should since someone something sometimes still such sure take tell
than thank thanks that that's their them then there there's these they they're thing things think thinking this
those though through time today tomorrow totally under understood until upon used using very want wanted well were
what what's when where which while will with without would yesterday you're your yours
"""
COMMON = frozenset(_COMMON.split())
"""English words that do not indicate a subject."""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, each on one line."""
    for part in _SENTENCE_END.split(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        sentence = " ".join(part.split())
        if sentence:
            yield sentence


def names(sentence: str) -> list[str]:
    """Return the names in a sentence: runs of capitalised words, except at the start of the sentence."""
    found: list[str] = []
    is_first = True
    for stretch in _STRETCH.findall(sentence):
        for is_name, run in groupby(stretch.split(), lambda word: word[0].isupper() and word.partition("'")[0] != "I"):
            if is_name and not is_first:
                found.append(" ".join(run).removesuffix("'s"))
            is_first = False
    return found


def words(text: str) -> set[str]:
    """Return the significant words of a text in lower case."""
    return {word for word in _LETTERS.findall(text.casefold()) if len(word) >= SHORTEST_WORD} - COMMON


def traces(text: str) -> set[str]:
    """Return word stems and numbers or, in scripts without case, character pairs: texts on a subject share them."""
    found: set[str] = set()
    for word in fold(text):
        if word.isdigit():
            found |= {word} if len(word) > 1 else set()
        elif word.isascii() or word.upper() != word:
            found |= {word[:STEM]} if len(word) >= SHORTEST_WORD and word not in COMMON else set()
        else:
            found |= {word[place : place + 2] for place in range(len(word) - 1)}
    return found
