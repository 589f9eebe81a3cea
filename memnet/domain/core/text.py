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
"""Words that are looked for one after the other."""


def fold(text: str) -> Phrase:
    """The words of a text without case and accents; '_' and '-' part words as spaces do."""
    # Decomposition brings capitals out of ligatures and styled letters: hence case is folded on both sides of it.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return tuple(WORDS.findall(bare.replace("_", " ")))


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


_SENTENCE_END = re.compile("(?<=[.!?])\\s+|(?<=[\u3002\uff01\uff1f])\\s*|\n+")
_LETTERS = re.compile(r"[^\W\d_][\w'-]*")
_STRETCH = re.compile(r"[^\W_][\w'-]*(?: [^\W_][\w'-]*)*")
"""Words with nothing but a space between them."""
SHORTEST_WORD = 4
STEM = 5
"""Letters by which two forms of a word are taken for one: "prefer", "prefers", "preferred"."""
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
"""Words that say nothing of what a text is about."""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, each on one line."""
    for part in _SENTENCE_END.split(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        sentence = " ".join(part.split())
        if sentence:
            yield sentence


def names(sentence: str) -> list[str]:
    """The names in a sentence, as far as capitals tell: capitalised words side by side.

    The first word of a sentence is capitalised whatever it is, so a word next to it is no name either.
    """
    found: list[str] = []
    is_first = True
    for stretch in _STRETCH.findall(sentence):
        for is_name, run in groupby(stretch.split(), _is_capitalised):
            if is_name and not is_first:
                found.append(" ".join(run).removesuffix("'s"))
            is_first = False
    return found


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and word.partition("'")[0] != "I"


def words(text: str) -> set[str]:
    """The words of a text that say something, in lower case."""
    return {word for word in _LETTERS.findall(text.casefold()) if len(word) >= SHORTEST_WORD} - COMMON


def traces(text: str) -> set[str]:
    """What two texts have in common if they are about the same: beginnings of words, numbers.

    Where a script has no case and often no spaces, it is each pair of adjacent characters.
    """
    found: set[str] = set()
    for word in fold(text):
        if word.isdigit():
            found |= {word} if len(word) > 1 else set()
        elif word.isascii() or word.upper() != word:
            found |= {word[:STEM]} if len(word) >= SHORTEST_WORD and word not in COMMON else set()
        else:
            found |= {word[place : place + 2] for place in range(len(word) - 1)}
    return found
