"""Detect sensitive content in live writes, events and the proposals of replays: plainly written values only.

`kind_of` finds values and decides every write. `is_sensitive` is stricter, for extracted text: a sentence that only
names a password is sensitive, too. Each match has a bounded length, so the cost is linear in the text.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import STRICTEST, Kind, SensitiveContent
from memnet.domain.core.errors import FieldDenied
from memnet.domain.core.json_patch import Operation, Pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.text import readings, sentences
from memnet.domain.documents.commands import PatchDocument
from memnet.domain.events.event import Event

_STATED = MappingProxyType(
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
"""Names of each kind. Every alternative begins with letters, because searching for them is fast."""
_ABOUT = r"(?:[ \t](?:for|to|of|on|at|für|zu|von)[ \t][^.:=\n]{1,40}?)?"
"""The purpose of the secret, between its name and the verb."""
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
"""Words after "the password is" that are no password."""
KEY_CHARS: Final = 12


def stated_kind(text: str, allowed: Collection[Kind] = ()) -> Kind | None:
    """Return the kind of the first secret that the text states and that is not in `allowed`, or None."""
    low = text.lower()
    for kind, names in _STATED.items():
        if kind not in allowed and any(_is_given(kind, low, name.end()) for name in names.finditer(low)):
            return kind
    return None


def _is_given(kind: Kind, text: str, end: int) -> bool:
    if kind is Kind.SECURITY_CODE:
        return _CODE.match(text, end) is not None
    given = _GIVEN.match(text, end)
    if given is None:
        return False
    value = given["value"].rstrip(".!?:)}]")
    if len(value) < len("abc") or value in _ORDINARY or _PLACEHOLDER.fullmatch(value):
        return False
    if kind is Kind.ACCESS_TOKEN:
        return len(value) >= KEY_CHARS and _is_mixed(value)
    if given["quote"] or given["sign"] or _is_mixed(value):
        return True
    # A plain word is a password if it ends the sentence: "my password is sunshine."
    return value != given["value"] or _END.match(text, given.end("value")) is not None


def _is_mixed(value: str) -> bool:
    """Whether the value has more than letters, unlike most words."""
    return not value.replace("-", "").replace("'", "").isalpha()


_NAMES: Mapping[Kind, tuple[str, ...]] = MappingProxyType(
    {
        Kind.PASSWORD: ("password", "passwort", "passwd", "pwd", "passphrase", "passcode"),
        Kind.SECURITY_CODE: ("pin code", "one time code", "otp", "security code", "cvv", "cvc"),
        Kind.ACCESS_TOKEN: ("api key", "apikey", "secret key", "access key", "access token", "bearer token"),
        Kind.PRIVATE_KEY: ("private key",),
        Kind.CARD_NUMBER: ("credit card", "card number"),
        Kind.IBAN: ("iban", "account number"),
        Kind.SOCIAL_SECURITY_NUMBER: ("social security number", "ssn"),
    }
)
_PIN = re.compile(r"\bPIN\b|\b[Pp]in(?:\s+(?:is|was|number)\b|\W{0,3}\d)")
"""A PIN. The lower-case word has other meanings, so it needs a verb or digits."""

_CARD = re.compile(
    r"[2-6](?<![^\W_].)(?:"
    r"(?:(?<=4)\d|(?<=5)[0-8]|(?<=2)[2-7]|(?<=3)5|(?<=6)\d)\d\d[ .-]?\d{4}[ .-]?\d{4}[ .-]?\d{4}(?:[ .-]?\d{3})?"
    r"|(?<=3)[47]\d\d[ .-]?\d{6}[ .-]?\d{5}"
    r"|(?<=3)[0689]\d\d[ .-]?\d{6}[ .-]?\d{4}"
    r")(?![^\W_])",
    re.ASCII,
)
"""Numbers with the prefix and length of the card networks (ISO/IEC 7812-1), grouped as on a card. The first digit comes
before its conditions, because searching for a set of characters is fast.
"""
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")

_UUID = re.compile(r"(?<![^\W_])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![^\W_])", re.ASCII)
"""A random id (RFC 9562). One in thousands has, by chance, the form and check digits of an account or card number."""

_IBAN = re.compile(r"\d\d(?<=[A-Za-z]{2}..)(?<![^\W_]....)", re.ASCII)
_STRUCTURES = """
AD8n12c AE19n AL8n16c AT16n AZ4a20c BA16n BE12n BG4a6n8c BH4a14c BI23n BR23n1a1c BY4c4n16c CH5n12c CR18n CY8n16c CZ20n
DE18n DJ23n DK14n DO4c20n EE16n EG25n ES20n FI14n FK2a12n FO14n FR10n11c2n GB4a14n GE2a16n GI4a15c GL14n GR7n16c GT24c
HN4a20n HR17n HU24n IE4a14n IL19n IQ4a15n IS22n IT1a10n12c JO4a4n18c KW4a22c KZ3n13c LB4n20c LC4a24c LI5n12c LT16n
LU3n13c LV4a13c LY21n MC10n11c2n MD20c ME18n MK3n10c2n MN16n MR23n MT4a5n18c MU4a19n3a NI4a20n NL4a10n NO11n OM3n16c
PK4a16c PL24n PS4a21c PT21n QA4a21c RO4a16c RS18n RU14n15c SA2n18c SC4a20n3a SD14n SE20n SI15n SK20n SM1a10n12c SO19n
ST21n SV4a20n TL19n TN20n TR6n16c UA6n19c VA18n VG4a16n XK16n YE4a4n18c
"""
_CLASSES = MappingProxyType({"n": r"\d", "a": "[A-Za-z]", "c": "[A-Za-z0-9]"})


def _account(structure: str) -> re.Pattern[str]:
    parts = (rf"(?:[ -]?{_CLASSES[kind]}){{{count}}}" for count, kind in re.findall(r"(\d+)([nac])", structure))
    return re.compile("".join(parts), re.ASCII)


_ACCOUNTS = MappingProxyType({row[:2]: _account(row[2:]) for row in _STRUCTURES.split()})
"""What follows the check digits by country: n digits, a letters, c either (the IBAN registry of SWIFT, ISO 13616)."""
_AS_DIGITS = MappingProxyType(
    {ord(letter): str(value) for value, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 10)}
)
_SSN = re.compile(r"\d{3}-(?<![\w-]....)(?<!000-)(?<!666-)(?<!9..-)(?!00)\d\d-(?!0000)\d{4}(?![\w-])", re.ASCII)
"""US social security numbers that can have been issued."""

_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY")
_WORD = r"[A-Za-z0-9_-]"
_TOKENS: Final = tuple(
    (marker, re.compile(pattern, re.ASCII))
    for marker, pattern in (
        ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"),
        ("ASIA", r"\bASIA[A-Z0-9]{16}\b"),
        ("AIza", rf"\bAIza{_WORD}{{35}}"),
        ("ya29.", rf"\bya29\.{_WORD}{{20}}"),
        ("gh", r"\bgh[pousr]_[A-Za-z0-9]{16}"),
        ("github_pat_", r"\bgithub_pat_\w{22}"),
        ("glpat", rf"\bglpat-{_WORD}{{16}}"),
        ("xox", rf"\bxox[a-z]-{_WORD}{{10}}"),
        ("hooks.slack.com/services/", r"hooks\.slack\.com/services/\w{6,64}/\w{6,64}/\w{16}"),
        ("k_", r"\b[prs]k_(?:live|test)_[A-Za-z0-9]{10}"),
        ("sk-", rf"\bsk-(?=[A-Za-z-]{{0,99}}\d|[a-z]{{20}}){_WORD}{{16}}"),
        ("npm_", r"\bnpm_[A-Za-z0-9]{36}"),
        ("pypi-", rf"\bpypi-{_WORD}{{32}}"),
        ("hf_", r"\bhf_[A-Za-z0-9]{30}"),
        ("SG.", rf"\bSG\.{_WORD}{{16,64}}\.{_WORD}{{16}}"),
        ("dop_v1_", r"\bdop_v1_[a-f0-9]{64}"),
        (":AA", rf"(?<!\d)\d{{8,10}}:AA{_WORD}{{33}}"),
        ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
        ("AccountKey=", r"AccountKey=[A-Za-z0-9+/]{40}"),
        ("sig=", r"[?&]sig=[A-Za-z0-9%+/]{40}"),
        ("eyJ", rf"(?<!{_WORD})eyJ{_WORD}{{8,4096}}\.{_WORD}{{8}}"),
        ("earer ", r"\b[Bb]earer [A-Za-z0-9._~+/-]{20}"),
        ("://", r"://[^/\s:@]{1,256}:[^/\s@]{1,256}@"),
    )
)
"""The formats of providers' tokens, each with a text that it always contains; the last is the user information of a URL
(RFC 3986, 3.2.1).
"""


def kind_of(text: str, rules: SensitiveContent = STRICTEST) -> str | None:
    """Return the kind (a `Kind` or the name of a shape) of the first sensitive value, or None."""
    for reading in readings(text):
        for kind, is_found in _DETECTORS:
            if kind not in rules.allow and is_found(reading):
                return kind.value
        if (stated := stated_kind(reading, rules.allow)) is not None:
            return stated.value
        for name, shape in rules.shapes.items():
            if _shape(shape).search(reading):
                return name
    return None


def is_sensitive(text: str, denied: Iterable[str] = (), rules: SensitiveContent = STRICTEST) -> bool:
    """Whether the text contains or names a sensitive value; `denied` are a profile's denied member names."""
    named = _named(frozenset(denied), frozenset(rules.allow))
    for reading in readings(text):
        if named.search(reading) or (Kind.SECURITY_CODE not in rules.allow and _PIN.search(reading)):
            return True
    return kind_of(text, rules) is not None


def redact_secrets(text: str, denied: Iterable[str] = (), rules: SensitiveContent = STRICTEST) -> str:
    """Return the sentences of the text that are not sensitive, in one line."""
    names = frozenset(denied)
    return " ".join(sentence for sentence in sentences(text) if not is_sensitive(sentence, names, rules))


@lru_cache(maxsize=64)
def _named(denied: frozenset[str], allowed: frozenset[Kind]) -> re.Pattern[str]:
    """Compile a pattern for the names: singular or plural, any separator between their parts."""
    known = {name for kind, names in _NAMES.items() if kind not in allowed for name in names}
    names = {*known, *(re.sub(r"[_-]+", " ", name) for name in denied if not name.startswith("/"))}
    alternatives = sorted((name.strip() for name in names if name.strip()), key=lambda name: (-len(name), name))
    joined = "|".join(r"[ _-]?".join(map(re.escape, name.split())) for name in alternatives) or "(?!)"
    return re.compile(rf"(?<![^\W_])(?:{joined})s?(?![^\W_])", re.IGNORECASE)


@lru_cache(maxsize=64)
def _shape(shape: str) -> re.Pattern[str]:
    parts = ("[0-9]" if char == "#" else "[A-Za-z]" if char == "@" else re.escape(char) for char in shape)
    return re.compile(rf"(?<![^\W_]){''.join(parts)}(?![^\W_])")


def _has_card(text: str) -> bool:
    if _CARD.search(text) is None:
        return False
    return any(_has_check_digit(match[0]) for match in _CARD.finditer(_UUID.sub(" ", text)))


def _has_check_digit(text: str) -> bool:
    """Verify the check digit of a card number (Luhn, ISO/IEC 7812-1, annex B)."""
    digits = text.encode().translate(None, b" .-")
    values = digits[-1::-2] + digits[-2::-2].translate(_DOUBLED)
    return (sum(values) - ord("0") * len(values)) % 10 == 0


def _has_iban(text: str) -> bool:
    return _IBAN.search(text) is not None and any(map(_is_iban, _ibans(_UUID.sub(" ", text))))


def _ibans(text: str) -> Iterator[str]:
    for match in _IBAN.finditer(text):
        head = text[match.start() - 2 : match.end()].upper()
        account = _ACCOUNTS[head[:2]].match(text, match.end()) if head[:2] in _ACCOUNTS else None
        if account is not None:
            yield head + account[0].replace(" ", "").replace("-", "").upper()


def _is_iban(compact: str) -> bool:
    """Verify the check digits of an IBAN (ISO 7064, MOD 97-10)."""
    return int((compact[4:] + compact[:4]).translate(_AS_DIGITS)) % 97 == 1


_DETECTORS: tuple[tuple[Kind, Callable[[str], bool]], ...] = (
    (Kind.CARD_NUMBER, _has_card),
    (Kind.IBAN, _has_iban),
    (Kind.SOCIAL_SECURITY_NUMBER, lambda text: _SSN.search(text) is not None),
    (Kind.PRIVATE_KEY, lambda text: "PRIVATE KEY" in text and _PRIVATE_KEY.search(text) is not None),
    (Kind.ACCESS_TOKEN, lambda text: any(marker in text and pattern.search(text) for marker, pattern in _TOKENS)),
)


_REFUSAL = "The content is sensitive, and the profile does not allow its kind."
MIN_INTEGER = 10**12
"""Smaller numbers cannot be card numbers."""


def check_patch(command: PatchDocument, ops: Sequence[Operation], rules: SensitiveContent) -> None:
    """Raise FieldDenied, with operation, pointer and kind, if the patch or its evidence is sensitive."""
    for index, op in enumerate(ops):
        if op.verb not in ("test", "remove"):
            for segment in op.path:
                _check_name(segment, rules, op_index=index)
            if "value" in op.body:
                _check(op.value, op.path, rules, op_index=index)
    _check(command.evidence, ("evidence",), rules)


def check_content(content: Json, rules: SensitiveContent) -> None:
    """Raise FieldDenied, with pointer and kind, if the content of a document is sensitive."""
    _check(content, (ROOT,), rules)


def check_remarks(remarks: Json, rules: SensitiveContent) -> None:
    """Raise FieldDenied, with pointer and kind, if the note or evidence of a write is sensitive."""
    _check(remarks, (), rules)


def check_event(event: Event) -> None:
    """Raise FieldDenied, with pointer and kind, if an event is sensitive. No profile applies to events."""
    evidence = event.evidence.members() if event.evidence else None
    texts = {"digest": event.digest, "keywords": event.keywords, "entities": event.entities, "evidence": evidence}
    _check(texts, (), STRICTEST)


def _check(value: Json, place: Pointer, rules: SensitiveContent, **details: Json) -> None:
    texts = list(_texts(value, place))
    # One search over all texts first, because nearly always nothing is found.
    if kind_of("\n".join(text for _, text in texts), rules) is None:
        return
    for where, text in texts:
        if (kind := kind_of(text, rules)) is not None:
            raise FieldDenied(_REFUSAL, **details, path=pointer_text(where), kind=kind)


def _check_name(name: str, rules: SensitiveContent, **details: Json) -> None:
    kind = kind_of(name, rules)
    if kind is not None:
        # Without the path, which contains the value.
        raise FieldDenied(_REFUSAL, **details, kind=kind)


def _texts(value: Json, place: Pointer) -> Iterator[tuple[Pointer, str]]:
    """Yield every text in the value with its pointer; names come first, with the pointer of their object."""
    waiting = [(place, value)]
    while waiting:
        here, node = waiting.pop()
        if isinstance(node, dict):
            yield from ((here, name) for name in node)
            waiting += [((*here, name), child) for name, child in node.items()]
        elif isinstance(node, list):
            waiting += [((*here, str(index)), child) for index, child in enumerate(node)]
        elif isinstance(node, str):
            yield here, node
        elif isinstance(node, (int, float)) and abs(node) >= MIN_INTEGER and node % 1 == 0:
            yield here, str(abs(int(node)))
