"""Which of a user's projects, tickets or the like a conversation is about, by names and keywords alone.

Text is folded (case and accents) and compared word by word. An alias, or the id itself, counts more the more of the
words it matches; a keyword counts less. Two entries that match equally well are ambiguous, and then none is chosen.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from memnet.domain.document import Json
from memnet.domain.errors import PatchNotApplicable
from memnet.domain.identifiers import SEGMENT
from memnet.domain.patch import resolve
from memnet.domain.profile import RoutingRules

WORDS = re.compile(r"\w+")
ALIAS_SCORE = 0.9
WORD_BONUS = 0.02
"""What each further word of an alias adds: the longer of two matching names is meant."""
KEYWORD_SCORE = 0.5
KEYWORD_BONUS = 0.1
MAX_SCORE = 0.99
MAX_KEYWORD_SCORE = 0.8


class RoutingReason(StrEnum):
    """How the id was found, or why none was."""

    EXPLICIT = "explicit_id"
    ALIAS = "alias_match"
    KEYWORD = "keyword_match"
    SEMANTIC = "semantic_match"
    AMBIGUOUS = "ambiguous"
    NO_MATCH = "no_match"
    NO_TEXT = "no_text"
    NO_ROUTING = "profile_has_no_routing"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that can be meant."""

    id: str
    aliases: tuple[tuple[str, ...], ...]
    keywords: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Route:
    """The outcome: an id or none, why, how sure, and the rivals if it was ambiguous."""

    id: str | None
    reason: RoutingReason
    deterministic_score: float = 0.0
    semantic_score: float | None = None
    candidates: tuple[str, ...] = ()

    def debug(self) -> dict[str, Any]:
        """What the orchestrator is told of it."""
        told: dict[str, Any] = {
            "deterministic_score": self.deterministic_score,
            "semantic_score": self.semantic_score,
            "reason": self.reason.value,
        }
        return {**told, "candidates": list(self.candidates)} if self.candidates else told


def fold(text: str) -> tuple[str, ...]:
    """The words of a text without case and accents; '_' and '-' part words as spaces do."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("_", " "))
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return tuple(WORDS.findall(bare))


def read_entries(content: Json, rules: RoutingRules) -> list[Entry]:
    """The entries of a routing document's content; what is not an entry, or has no usable id, is passed over."""
    try:
        rows = resolve(content, rules.entries)
    except PatchNotApplicable:
        return []
    found = []
    for row in rows if isinstance(rows, list) else []:
        entry_id = row.get(rules.id_field) if isinstance(row, dict) else None
        if isinstance(entry_id, str) and SEGMENT.fullmatch(entry_id):
            aliases = [entry_id, *_texts(row, rules.alias_fields)]
            keywords = _texts(row, rules.keyword_fields)
            found.append(Entry(entry_id, _folded(aliases), _folded(keywords)))
    return found


def route(text: str, entries: Sequence[Entry], rules: RoutingRules) -> Route:
    """Choose among `entries` by names and keywords; none when unsure."""
    words = fold(text)
    if not words:
        return Route(None, RoutingReason.NO_TEXT)
    scores = {entry.id: _score(words, entry) for entry in entries}
    best = max((score for score, _ in scores.values()), default=0.0)
    if best <= 0 or best < rules.min_score:
        return Route(None, RoutingReason.NO_MATCH, best)
    winners = [entry_id for entry_id, (score, _) in scores.items() if score == best]
    if len(winners) > 1:
        return Route(None, RoutingReason.AMBIGUOUS, best, candidates=tuple(sorted(winners)))
    return Route(winners[0], scores[winners[0]][1], best)


def disambiguate(decision: Route, scores: Sequence[float] | None) -> Route:
    """Settle an ambiguous decision by one similarity per candidate, if one of them is strictly the best."""
    if scores is None or not decision.candidates:
        return decision
    best = max(scores)
    winners = [entry_id for entry_id, score in zip(decision.candidates, scores, strict=True) if score == best]
    if len(winners) > 1:
        return replace(decision, semantic_score=best)
    return replace(decision, id=winners[0], reason=RoutingReason.SEMANTIC, semantic_score=best)


def _score(words: tuple[str, ...], entry: Entry) -> tuple[float, RoutingReason]:
    alias_words = max((len(alias) for alias in entry.aliases if _contains(words, alias)), default=0)
    if alias_words:
        return min(MAX_SCORE, round(ALIAS_SCORE + WORD_BONUS * alias_words, 4)), RoutingReason.ALIAS
    hits = sum(_contains(words, keyword) for keyword in set(entry.keywords))
    if hits:
        return min(MAX_KEYWORD_SCORE, round(KEYWORD_SCORE + KEYWORD_BONUS * (hits - 1), 4)), RoutingReason.KEYWORD
    return 0.0, RoutingReason.NO_MATCH


def _contains(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))


def _texts(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    values = [row.get(name) for name in names]
    return [
        text for value in values for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
    ]


def _folded(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(words for words in map(fold, texts) if words)
