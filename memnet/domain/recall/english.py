"""What recall knows of English: its greetings, months, and how a time is asked for and named.

In another language these words count as any other, and nothing is recognised as a time but dates in digits.
"""

import re
from typing import Final

from memnet.domain.core.words import plain_words, words

_GREETINGS: Final = """
    hey hi hello wow thanks thank great cool nice awesome good glad sounds amazing sorry yeah yes yep yup sure ok okay
    oh haha lol bye definitely absolutely really totally exactly
"""
GREETINGS: Final = frozenset(_GREETINGS.split())
"""Words of small talk: they make a text no more informative."""
_MONTHS: Final = "january february march april may june july august september october november december"
MONTHS: Final = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
_MONTH: Final = "|".join(f"{name}|{name[:3]}" for name in MONTHS) + "|sept"
_DAYS: Final = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_UNITS: Final = "days?|weeks?|months?|years?"
_NUMBERS: Final = r"\d+|two|three|four|five|six|seven|few|couple of"
ASKS_WHEN: Final = re.compile(
    r"\bwhen\b|\b(?:what|which)\s+(?:date|day|month|year)\b|\bwhat\s+time\b|\bhow\s+long\b"
    r"|\bhow\s+(?:many|much)\s+(?:days|weeks|months|years|times?)\b",
    re.IGNORECASE,
)
"""A question that asks when, how long ago, or how long."""
TIME_EXPRESSION: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|just|since"
    rf"|(?:last|next|this)\s+(?:night|morning|day|week|weekend|month|year|season|{_DAYS})"
    rf"|{_DAYS}|january|february|april|june|july|august|september|october|november|december"
    rf"|20\d\d|(?:{_NUMBERS})\s+(?:{_UNITS}))\b",
    re.IGNORECASE,
)
"""A text that names a time."""
DATE_NAMED: Final = (
    re.compile(r"\b(?P<year>20\d\d)-(?P<month>0[1-9]|1[0-2])\b(?:-(?P<day>\d\d)\b)?"),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})\b[,.]?\s*(?P<year>20\d\d)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<month>{_MONTH})\b\.?\s*(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b)?[,.]?\s*(?P<year>20\d\d)?",
        re.IGNORECASE,
    ),
)
"""A date in digits, or with the name of its month before or after the day."""
_ASKING: Final = """
    name kind type sort many much long likely way mean call called might could would may know tell say said remember
    remind recall think thing things anything something everything happen happened user
"""
ASKING: Final = frozenset(_ASKING.split())
"""Words that ask, and say nothing of what is asked for."""
_NEGATIONS: Final = frozenset({"no", "not", "nor", "t"})
"""Common words that turn a sentence into its opposite; the last one is the end of "don't"."""
NAME: Final = re.compile(r"(?<=[\w,;:]\s)[\"'\u201c]?([A-Z][a-z]+)")
"""A capitalised word that does not begin the sentence: in English a name."""


def says(text: str, other: str) -> bool:
    """Return whether a text has every word of another one that is not common, and its negations."""
    wanted = _telling(other)
    return bool(wanted) and wanted <= _telling(text)


def _telling(text: str) -> frozenset[str]:
    return frozenset(words(text)) | _NEGATIONS.intersection(plain_words(text))
