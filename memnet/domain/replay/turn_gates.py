"""The quality gates of turns: pure decisions whether a replay extracts, never whether a turn is stored.

L2 measures the user's own words, L3 recognises what was said lately, L4 limits the work of a day. (L1, the limit of
turns a minute, refuses a request before anything is stored.)
"""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from math import sqrt
from typing import Any, Final

from memnet.domain.catalog.turn_rules import TurnGates
from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.json_types import members_of
from memnet.domain.core.text import WORDS, normalize, sentences
from memnet.domain.replay.snapshot import Message
from memnet.domain.replay.usage import Spent

ENOUGH_WORDS: Final = 6
"""The different words from which a text has the quality 1."""
_QUESTION_MARKS: Final = "?\u037e\u055e\u061f\u1367\uff1f"
_CLOSING: Final = "\"'\u00bb\u201c\u201d\u2019)] "
_COURTESIES: Final = frozenset(
    [
        "hi",
        "hey",
        "hello",
        "good",
        "morning",
        "afternoon",
        "evening",
        "night",
        "day",
        "bye",
        "goodbye",
        "thanks",
        "thank",
        "you",
        "thx",
        "please",
        "welcome",
        "ok",
        "okay",
        "cool",
        "great",
        "nice",
        "sure",
        "well",
        "hallo",
        "guten",
        "morgen",
        "tag",
        "abend",
        "danke",
        "bitte",
        "hola",
        "buenos",
        "buenas",
        "dias",
        "tardes",
        "noches",
        "gracias",
        "bonjour",
        "bonsoir",
        "salut",
        "merci",
        "ciao",
        "buongiorno",
        "buonasera",
        "grazie",
        "prego",
        "ola",
        "bom",
        "dia",
        "obrigado",
        "obrigada",
        "hej",
        "tak",
        "tack",
        "hei",
        "kiitos",
        "dzien",
        "dobry",
        "dziekuje",
        "privet",
        "spasibo",
        "merhaba",
        "selam",
        "tesekkurler",
        "namaste",
        "salam",
        "shukran",
    ]
)
"""Greetings and thanks in common languages, without accents; in any other language they count as words."""


class Gate(StrEnum):
    """A gate that decides whether a turn is extracted."""

    QUALITY = "L2"
    SAID_LATELY = "L3"
    BUDGET = "L4"


@dataclass(frozen=True, slots=True)
class Skipped:
    """The gate that kept a replay from extracting, and why, without content."""

    gate: Gate
    reason: str

    def members(self) -> dict[str, Any]:
        """Return the members of the replay's record."""
        return members_of(self)


def own_words(messages: Sequence[Message]) -> list[str]:
    """Return what the user says in messages without injected memory, one text a message; empty texts are left out."""
    return [text for message in messages if message.role == "user" and (text := message.content.strip())]


def quality(messages: Sequence[Message], *, earlier: Collection[str] = ()) -> float:
    """Return how much the user's own words say, 0 to 1, deterministic and in any language.

    It is the share of ENOUGH_WORDS different words, less if words are repeated. Questions, greetings and thanks do not
    count. An answer to a question of the assistant counts at least half: "Berlin." says much after "Where do you
    live?".
    `messages` are without injected memory; those with ids in `earlier` only show what a user answers.
    """
    counted: list[str] = []
    answers = False
    asked = False
    for message in messages:
        if message.role == "user" and message.message_id not in earlier:
            told = [word for sentence in sentences(message.content) for word in _words(sentence)]
            counted += told
            answers = answers or (asked and bool(told))
        if message.content.strip():
            asked = message.role == "assistant" and _is_question(message.content)
    if not counted:
        return 0.0
    different = len(set(counted))
    score = min(1.0, different / ENOUGH_WORDS) * sqrt(different / len(counted))
    return round(max(score, 0.5 if answers else 0.0), 6)


def fingerprints(messages: Sequence[Message], claimed_by: str | None = None) -> list[str]:
    """Return the hashes of the user's normalised texts, in order and without duplicates.

    The same words of another claimant have another hash: they are another statement.
    """
    texts = filter(None, map(normalize, own_words(messages)))
    said = texts if claimed_by is None else (f"{claimed_by}\n{text}" for text in texts)
    return list(dict.fromkeys(sha256_hex(text.encode())[:32] for text in said))


def low_quality(messages: Sequence[Message], earlier: Collection[str], gates: TurnGates) -> Skipped | None:
    """Return why gate L2 skips the extraction, if it does."""
    if gates.min_quality is None:
        return None
    found = quality(messages, earlier=earlier)
    if found >= gates.min_quality:
        return None
    return Skipped(Gate.QUALITY, f"the user's own words have the quality {found:.2f}, less than {gates.min_quality:g}")


def said_lately(texts: Sequence[str], recent: Collection[str], gates: TurnGates) -> Skipped | None:
    """Return why gate L3 skips the extraction, if it does: each of the user's texts equals a recent one.

    `texts` and `recent` are `fingerprints`.
    """
    if gates.same_above is None or not texts or not set(texts) <= set(recent):
        return None
    return Skipped(Gate.SAID_LATELY, "the user said the same lately, word for word")


def is_repeated(similarities: Sequence[float], gates: TurnGates) -> Skipped | None:
    """Return why gate L3 skips the extraction, if it does: each of the user's texts means what an earlier one does.

    `similarities` has the greatest cosine of each text with an earlier text of the conversation.
    """
    if gates.same_above is None or not similarities or min(similarities) < gates.same_above:
        return None
    return Skipped(
        Gate.SAID_LATELY,
        f"the user said the same lately; the similarity is {min(similarities):.2f}, not less than {gates.same_above:g}",
    )


def over_budget(spent: Spent, gates: TurnGates) -> str | None:
    """Return which limit of the day is reached, if one is. `spent` is without this replay."""
    if gates.replays_per_day is not None and spent.replays >= gates.replays_per_day:
        return f"the limit of {gates.replays_per_day} replays a day is reached"
    if gates.model_tokens_per_day is not None and spent.tokens >= gates.model_tokens_per_day:
        return f"the limit of {gates.model_tokens_per_day} model tokens a day is reached"
    return None


def next_day(now: datetime) -> datetime:
    """Return when the counters of the next day begin: midnight, UTC."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)


def _words(sentence: str) -> list[str]:
    """Return the words of a sentence that count; in scripts without spaces a pair of characters is a word."""
    if _is_question(sentence):
        return []
    found: list[str] = []
    for word in WORDS.findall(normalize(sentence)):
        if _without_accents(word) in _COURTESIES:
            continue
        if _is_spaceless(word):
            found += [word[place : place + 2] for place in range(0, len(word), 2)]
        else:
            found.append(word)
    return found


def _is_question(text: str) -> bool:
    return text.rstrip(_CLOSING).endswith(tuple(_QUESTION_MARKS))


def _without_accents(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))


def _is_spaceless(word: str) -> bool:
    """Whether the word is of a script that writes no spaces between words: CJK, kana, Thai, Lao, Khmer, Burmese."""
    first = ord(word[0])
    return any(low <= first <= high for low, high in _SPACELESS)


_SPACELESS: Final = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF))
