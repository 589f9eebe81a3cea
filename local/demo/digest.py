"""The event that the demo's orchestrator records at the end of a session: what was said, in a few of its sentences.

A real product asks a language model for a digest. The rule that stands in for it takes the sentences that the demo
learns something from, and those with the most of the session's own words; it never takes a secret.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from local.demo.conversation import Session, Turn
from local.demo.extraction import SECRET, proposals, sentences

LONGEST_DIGEST: Final = 320
LONGEST_SENTENCE: Final = 240
SHORTEST_SENTENCE: Final = 4
"""Words; what is shorter tells little by itself."""
MOST_KEYWORDS: Final = 5
SHORTEST_KEYWORD: Final = 5
LEARNT: Final = 3
"""A sentence that teaches something counts like so many keywords more."""
_COMMON: Final = """
about actually after again almost always amazing another anything around awesome because been before being
between could doing during either enough every everyone everything excited first going gonna great happened
hello here's i'll it's just know little looking maybe might much myself never nothing other people please pretty
quite really right shall should since someone something sometimes still super thank thanks that's their there
there's these they're thing things think thinking those though through today tomorrow totally under understood
until using wanted what's where which while without would yesterday you're yours
"""
COMMON: Final = frozenset(_COMMON.split())
"""Words of five letters and more that say nothing of what a session is about."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence, and the turn it stands in."""

    text: str
    turn: Turn


def event_of(session: Session, *, service: str, project: str | None) -> dict[str, Any] | None:
    """The body of the event, or None if nothing was said that could be told."""
    said = list(_said(session))
    keywords = _keywords(said, speakers={turn.speaker.casefold() for turn in session.turns})
    chosen = _choose(said, keywords)
    if not chosen:
        return None
    turns = dict.fromkeys(one.turn for one in chosen)
    return {
        "event_id": f"evt-{session.conversation_id}",
        "service_id": service,
        "timestamp": session.turns[-1].timestamp.isoformat().replace("+00:00", "Z"),
        "source_type": "chat",
        "digest": " ".join(one.text for one in chosen),
        "keywords": keywords if project is None or project in keywords else [project, *keywords],
        "project_ids": [] if project is None else [project],
        "evidence": {
            "conversation_id": session.conversation_id,
            "message_ids": [turn.message_id for turn in turns],
            "span": {"start": session.turns[0].number, "end": session.turns[-1].number},
        },
    }


def _said(session: Session) -> Iterator[Said]:
    for turn in session.turns:
        for sentence in sentences(turn.content):
            text = "".join(char for char in sentence if char.isprintable()).strip()
            if text and len(text) <= LONGEST_SENTENCE and not SECRET.search(text):
                yield Said(text, turn)


def _keywords(said: Sequence[Said], *, speakers: set[str]) -> list[str]:
    counts = Counter(word for one in said for word in _words(one.text) - speakers)
    ordered = sorted(counts, key=lambda word: (-counts[word], -len(word), word))
    return ordered[:MOST_KEYWORDS]


def _choose(said: Sequence[Said], keywords: Sequence[str]) -> list[Said]:
    """The best sentences that fit, in the order in which they were said."""
    worth = {number: _worth(one, keywords) for number, one in enumerate(said)}
    if any(worth.values()):
        worth = {number: value for number, value in worth.items() if value}
    taken: list[int] = []
    left = LONGEST_DIGEST
    for number in sorted(worth, key=lambda number: (-worth[number], number)):
        length = len(said[number].text) + 1
        if length <= left and said[number].text not in (said[other].text for other in taken):
            taken.append(number)
            left -= length
    return [said[number] for number in sorted(taken)]


def _worth(one: Said, keywords: Sequence[str]) -> int:
    if len(one.text.split()) < SHORTEST_SENTENCE:
        return 0
    learnt = one.turn.role == "user" and bool(proposals(one.text))
    return len(_words(one.text) & set(keywords)) + (LEARNT if learnt else 0)


def _words(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_][\w'-]*", text.casefold())
    return {word for word in words if SHORTEST_KEYWORD <= len(word) <= 40} - COMMON
