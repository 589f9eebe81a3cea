"""What no digest and no proposal may hold: credentials and account numbers, told by their names and their forms.

A list of names and forms finds what is written plainly, and no more; it errs towards leaving out. A sentence that
only speaks of a password goes, too.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from memnet.domain.sentences import sentences

_NAMES = (
    "password", "passwort", "passwd", "pwd", "passphrase", "passcode", "pin code", "one time code", "otp",
    "api key", "apikey", "secret key", "private key", "access key", "access token", "bearer token", "credit card",
    "card number", "security code", "cvv", "cvc", "iban", "account number", "social security number", "ssn",
)  # fmt: skip
_FORMS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[a-z])[-_][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"
    r"|\b\d{3}-\d{2}-\d{4}\b"
    r"|://[^/\s:@]+:[^/\s@]+@"
    r"|\bPIN\b|\b[Pp]in(?:\s+(?:is|was|number)\b|\W{0,3}\d)"
)
"""Private keys, tokens of known shapes, IBANs, US social security numbers, passwords in URLs, and a PIN, which as a
word in lower case means other things, too.
"""
_DIGITS = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
"""As many digits as a card number has."""


def is_sensitive(text: str, denied: Iterable[str] = ()) -> bool:
    """Whether the text names or looks like a secret; `denied` are a profile's denied member names."""
    return (
        _named(frozenset(denied)).search(text) is not None
        or _FORMS.search(text) is not None
        or any(_is_card(match[0]) for match in _DIGITS.finditer(text))
    )


def without_secrets(text: str, denied: Iterable[str] = ()) -> str:
    """The sentences of the text that are not sensitive, in one line."""
    names = frozenset(denied)
    return " ".join(sentence for sentence in sentences(text) if not is_sensitive(sentence, names))


@lru_cache(maxsize=64)
def _named(denied: frozenset[str]) -> re.Pattern[str]:
    """Finds the names as words, in the plural too, their parts joined by anything that joins parts of a name."""
    names = {*_NAMES, *(re.sub(r"[_-]+", " ", name) for name in denied if not name.startswith("/"))}
    alternatives = sorted((name.strip() for name in names if name.strip()), key=lambda name: (-len(name), name))
    joined = "|".join(r"[ _-]?".join(map(re.escape, name.split())) for name in alternatives)
    return re.compile(rf"(?<![^\W_])(?:{joined})s?(?![^\W_])", re.IGNORECASE)


def _is_card(text: str) -> bool:
    """Whether the digits have the check digit of a card number (Luhn, ISO/IEC 7812-1)."""
    digits = [int(character) for character in text if character.isdecimal()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
