"""Passwords, keys and codes that a text states as such: a name, a word or sign that gives a value, and the value."""

import re
from collections.abc import Collection
from types import MappingProxyType
from typing import Final

from memnet.domain.catalog.sensitive_rules import Kind

_NAMES = MappingProxyType(
    {
        Kind.PASSWORD: re.compile(
            r"pass(?:word|wort|wd|[ _-](?:word|phrase|code)|phrase|code)s?|pwd(?<!\wpwd)|kennwort"
        ),
        Kind.ACCESS_TOKEN: re.compile(
            r"key(?:(?<=api.key)|(?<=apikey)|(?<=secret.key)|(?<=secretkey)|(?<=access.key)|(?<=accesskey)|(?<=account.key)|(?<=accountkey))"
            r"|token(?:(?<=access.token)|(?<=bearer.token)|(?<=auth.token)|(?<=refresh.token))"
            r"|secret(?:(?<=client.secret)|(?<=clientsecret))"
        ),
        Kind.SECURITY_CODE: re.compile(
            r"pin(?<!\wpin)(?:[ -]?(?:code|number|nummer))?\b|otp(?<!\wotp)\b|one[ -]time[ -]code\b"
            r"|cv[vc]2?(?<!\wcv[vc])(?<!\wcv[vc]2)\b|security[ -]code\b"
        ),
    }
)
"""How each kind is named. Every alternative begins with letters, because a search for those is fast."""
_ABOUT = r"(?:[ \t](?:for|to|of|on|at|für|zu|von)[ \t][^.:=\n]{1,40}?)?"
"""What the secret is for."""
_VERB = r"[ \t]{1,3}(?:is|was|are|ist|war|lautet)(?:[ \t](?:now|still|currently|jetzt|nun))?:?[ \t]{1,3}"
_SIGN = r"[\"'`\]]{0,2}[ \t]{0,3}(?P<sign>:|=>?|->)[ \t]{0,3}"
_GIVEN = re.compile(rf"{_ABOUT}(?:{_SIGN}|{_VERB})(?P<quote>[\"'`“„«]?)(?P<value>[^\s\"'`”“»,;]{{3,128}})")
_CODE = re.compile(rf"{_ABOUT}(?:{_SIGN}|{_VERB}|[ \t]{{1,3}})[\"'`“„«]?\d{{3,8}}(?!\w|[.,-]\d)")
_END = re.compile(r"[ \t]*(?:[,;\n]|\Z)")
_PLACEHOLDER = re.compile(r"[<\[{$%(].*|([*•x.…_-])\1*")
_SAID = """
a an the not never no none null nil true false yes too very so on in at by from for with and or still only also
required optional missing empty unknown secret private hidden redacted encrypted hashed stored saved kept expired
reset changed rotated secure safe strong weak long short good bad gone lost forgotten wrong right correct valid
invalid incorrect compromised leaked disabled enabled managed shared there here see ask string text field hint
policy important sensitive confidential mandatory protected unique different same fine okay set unset sent due
ready working broken blank default one two three both nötig falsch richtig sicher geheim vergessen geändert
abgelaufen
"""
_ORDINARY = frozenset(_SAID.split())
"""What is said of a password without being one."""
KEY_CHARS: Final = 12
"""A key or token stated as such is at least that long."""


def stated_kind(text: str, allowed: Collection[Kind] = ()) -> Kind | None:
    """The kind of the first secret that the text states, of those that are not `allowed`; None if it states none."""
    low = text.lower()
    for kind, names in _NAMES.items():
        if kind not in allowed and any(_is_given(kind, low, name.end()) for name in names.finditer(low)):
            return kind
    return None


def _is_given(kind: Kind, text: str, end: int) -> bool:
    if kind is Kind.SECURITY_CODE:
        return _CODE.match(text, end) is not None
    given = _GIVEN.match(text, end)
    if given is None:
        return False
    value = given["value"].rstrip(".!?:)")
    if len(value) < len("abc") or value in _ORDINARY or _PLACEHOLDER.fullmatch(value):
        return False
    if kind is Kind.ACCESS_TOKEN:
        return len(value) >= KEY_CHARS and _is_mixed(value)
    if given["quote"] or given["sign"] or _is_mixed(value):
        return True
    # One plain word is a password if the sentence ends with it: "my password is sunshine."
    return value != given["value"] or _END.match(text, given.end("value")) is not None


def _is_mixed(value: str) -> bool:
    """Whether the value is more than letters, as few words are."""
    return not value.replace("-", "").replace("'", "").isalpha()
