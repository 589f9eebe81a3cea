"""Hit highlights: the sentences of a field that hold a match, the matching words between two tags.

Azure's choice of fragments is its own; here a fragment is a sentence. Words under `-` are not highlighted, and of
a phrase only its whole occurrences are.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from local.emulators.search.analysis import ANALYZERS, Token, normalized_prefix
from local.emulators.search.query_syntax import Combined, Phrase, Prefix, Query, Word
from local.emulators.search.schema import Field

DEFAULT_FRAGMENTS: Final = 5
_SENTENCE: Final = re.compile(r".+?(?:(?<![.!?])[.!?]++(?=\s|$)|\n|$)", re.DOTALL)


@dataclass(frozen=True)
class Highlight:
    """What to highlight: a field, and how many fragments at most."""

    field: Field
    fragments: int


def fragments(query: Query, highlight: Highlight, values: Iterable[str], tags: tuple[str, str]) -> list[str]:
    """Return the highlighted fragments of a field's values."""
    field = highlight.field
    found: list[str] = []
    for value in values:
        tokens = ANALYZERS[field.index_analyzer](value)
        hits = sorted(_hits(query, field, tokens))
        if hits:
            found.extend(_marked(value, [tokens[hit] for hit in hits], tags))
    return found[: highlight.fragments]


def _hits(query: Query, field: Field, tokens: Sequence[Token]) -> set[int]:
    """Return the positions of the tokens that match."""
    match query:
        case Combined(_, operands):
            return set().union(*(_hits(operand, field, tokens) for operand in operands))
        case Word(text):
            terms = {token.term for token in ANALYZERS[field.search_analyzer](text)}
            return {position for position, token in enumerate(tokens) if token.term in terms}
        case Prefix(text):
            prefix = normalized_prefix(field.search_analyzer, text)
            return {position for position, token in enumerate(tokens) if token.term.startswith(prefix)}
        case Phrase(text):
            return _phrase_hits([token.term for token in ANALYZERS[field.search_analyzer](text)], tokens)
    return set()


def _phrase_hits(phrase: Sequence[str], tokens: Sequence[Token]) -> set[int]:
    terms = [token.term for token in tokens]
    size = len(phrase)
    starts = [start for start in range(len(terms) - size + 1) if terms[start : start + size] == phrase]
    return {start + step for start in starts for step in range(size)} if phrase else set()


def _marked(text: str, hits: Sequence[Token], tags: tuple[str, str]) -> list[str]:
    found = []
    for sentence in _SENTENCE.finditer(text):
        inside = [hit for hit in hits if sentence.start() <= hit.start < sentence.end()]
        if inside:
            found.append(_with_tags(text, sentence.start(), max(sentence.end(), inside[-1].end), inside, tags).strip())
    return found


def _with_tags(text: str, start: int, end: int, hits: Sequence[Token], tags: tuple[str, str]) -> str:
    pieces = []
    position = start
    for hit in hits:
        pieces += [text[position : hit.start], tags[0], text[hit.start : hit.end], tags[1]]
        position = hit.end
    return "".join([*pieces, text[position:end]])
