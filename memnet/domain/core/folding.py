"""Fold a text for comparison: case and accents."""

import re
import unicodedata

WORDS = re.compile(r"\w+")


Phrase = tuple[str, ...]
"""Words that are looked for one after the other."""


def fold(text: str) -> Phrase:
    """The words of a text without case and accents; '_' and '-' part words as spaces do."""
    # Decomposition brings capitals out of ligatures and styled letters: hence case is folded on both sides of it.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return tuple(WORDS.findall(bare.replace("_", " ")))
