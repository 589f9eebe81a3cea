"""Words that turn a statement around, narrow it, or set it apart from one with similar words.

Vectors hardly see them: "in the morning" is near "in the evening". No such list is complete, so a statement is closed
without a model only if all words agree (`same_words`). This one decides what a model is not even asked to join, and
which words its text must keep. English and German.
"""

import re
from collections import Counter
from typing import Final

from memnet.domain.core.words import plain_words, stem

_WORDS: Final = """
    no not never none nothing without cannot neither nor dont doesnt didnt isnt arent wasnt werent wont cant couldnt
    shouldnt wouldnt hasnt havent hadnt non unable hardly barely scarcely yet fail fails failed refuse refuses refused
    cancel cancels cancelled canceled stopped stop stops quit gave free out
    former formerly ex past once used longer anymore except but only instead rather than
    nicht nie niemals kein keine keinen keinem keiner keines ohne kaum aufgehört früher ehemals ehemalig mehr statt
    ausser nur verzichtet verweigert abgesagt schlecht

    hate hates hated love loves loved dislike dislikes avoid avoids against before after
    hasst hasse liebt liebe mag mochte gegen vor nach aber

    zero half one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million dozen
    first second third fourth fifth sixth seventh eighth ninth tenth last next once twice thrice single double
    null halb halbe zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreissig hundert tausend
    erste erster zweite zweiter dritte dritter vierte letzte nächste einmal zweimal dreimal viermal

    monday tuesday wednesday thursday friday saturday sunday weekday weekend january february march april may june
    july august september october november december spring summer autumn fall winter morning noon afternoon evening
    night midnight today tomorrow yesterday day week month year decade nineties eighties seventies sixties daily
    weekly monthly yearly annually hourly nightly am pm
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz mai juni juli oktober
    dezember frühling sommer herbst morgen mittag nachmittag abend nacht heute gestern tag woche monat jahr täglich
    wöchentlich monatlich jährlich

    second minute hour mile km kilometre kilometer metre meter foot feet inch kg kilo kilogram gram pound ounce litre
    liter gallon euro dollar pound franc cent percent mb gb tb kb degree celsius fahrenheit
    sekunde minute minuten stunde stunden meile meilen gramm pfund franken prozent grad

    always often usually sometimes seldom rarely occasionally almost nearly maybe perhaps probably possibly might may
    must should could would will want wants wish wishes hope hopes plan plans intend intends if unless when applied
    thinks think believes believe says
    immer oft meist manchmal selten gelegentlich fast vielleicht wahrscheinlich möchte will soll muss darf könnte
    würde
    plant hofft wenn falls

    old older young younger new early earlier late later long longer short shorter big bigger small smaller large
    larger high higher low lower more most less least fewer better best worse worst good bad hot cold warm cool loud
    quiet dark light left right fast slow cheap expensive rich poor happy sad safe safely dangerous strong weak easy
    hard open closed start starts started begin begins began bought buy buys sold sell sells won win wins lost lose
    loses lent lend lends borrowed borrow borrows owe owes accept accepts accepted decline declines declined reject
    rejects rejected agree agrees support supports supported oppose opposes opposed married divorced widowed allergic
    alt älter ältere älterer jung jünger jüngere jüngerer neu früh spät lange lang kurz kurze gross grosse klein
    kleine
    hoch niedrig laut laute leise heiss kalt warm dunkel hell links rechts schnell langsam billig teuer besser gut
    schlechter kauft gekauft verkauft
    gewonnen verloren ledig verheiratet geschieden allergisch

    mother father brother sister son daughter wife husband uncle aunt niece nephew grandmother grandfather
    mutter vater bruder schwester sohn tochter frau mann onkel tante oma opa

    black white red blue green yellow brown grey gray orange purple pink
    schwarz weiss rot blau grün gelb braun grau rosa
"""
_TURNING: Final = frozenset(map(stem, _WORDS.split()))
_APOSTROPHE: Final = re.compile("['\N{RIGHT SINGLE QUOTATION MARK}]")
_PREFIXES: Final = ("dis", "un", "non", "in", "im", "mis", "anti", "ver")
_SUFFIXES: Final = ("less", "los")


def words_of(text: str) -> list[str]:
    """Return the words of a text, with "don't" as one word."""
    return plain_words(_APOSTROPHE.sub("", text))


def turning_words(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that turn it around or set it apart, such as "not" and "evening"."""
    return frozenset(count_turning_words(text))


def count_turning_words(text: str) -> Counter[str]:
    """Return how often each of these words is in a text: "does not not drink" says what "does not drink" denies."""
    return Counter(word for word in map(stem, words_of(text)) if word in _TURNING)


def are_opposite(one: str, other: str) -> bool:
    """Whether a word of one text is one of the other's with an affix that denies it: "likes" and "dislikes"."""
    return _denies(one, other) or _denies(other, one)


def _denies(one: str, other: str) -> bool:
    known = set(map(stem, words_of(other)))
    new = [word for word in words_of(one) if stem(word) not in known]
    bare = [word.removeprefix(prefix) for word in new for prefix in _PREFIXES if word.startswith(prefix)]
    bare += [word.removesuffix(suffix) for word in new for suffix in _SUFFIXES if word.endswith(suffix)]
    return any(stem(word) in known for word in bare)
