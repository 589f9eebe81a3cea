"""Extraction without a model: a digest of the most informative sentences, and what matches the profile's cues.

It is deterministic and does not understand meaning, so its proposals claim a confidence that requires confirmation.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memnet.domain.catalog.cue_set import TEXT_GROUP, Cue, CueSet
from memnet.domain.catalog.entry_template import said_members, text_member
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import TriggerPhrase
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.text import names, sentences, strip_invisible, words
from memnet.domain.documents.sensitive import is_sensitive
from memnet.domain.replay.extraction import ModelOutput, OutputDigest
from memnet.domain.replay.extraction_guardrails import ExtractionContext, routed_ids
from memnet.domain.replay.snapshot import Message

MAX_DIGEST_CHARS: Final = 320
MAX_SENTENCE_CHARS: Final = 240
MAX_TEXT_CHARS: Final = 300
MIN_SENTENCE_WORDS: Final = 4
MAX_SENTENCES: Final = 4_000
"""The last sentences of a longer conversation are read."""
MAX_KEYWORDS: Final = 5
MAX_ENTITIES: Final = 5
MIN_KEYWORD_CHARS: Final = 5
MAX_KEYWORD_CHARS: Final = 40
MAX_PER_MESSAGE: Final = 2
STATED: Final = 3
"""The score of a sentence that matches a pattern, in keywords."""


@dataclass(frozen=True, slots=True)
class Match:
    """One sentence of a message, and the cue that it matches, with the members that it fills."""

    text: str
    message: Message
    matches: Mapping[str, tuple[Cue, Mapping[str, str | float]]]
    """By the kind of phrase, what the first of the cues with this kind finds: it may be of another kind."""


def extract_by_rules(subject: ExtractionContext) -> ModelOutput:
    """Return the result of the rules in the form of a model's output, for the same guardrails."""
    said = list(_sentences(subject))[-MAX_SENTENCES:]
    keywords = _keywords(said)
    chosen = _choose(said, keywords)
    rules = subject.profile.extraction
    found = [] if rules is None else [patch for phrase in rules.cues for patch in _candidates(said, phrase, subject)]
    patches = found[: subject.max_patches]
    if not chosen:
        return ModelOutput(None, patches)
    text = " ".join(one.text for one in chosen)
    entities = list(dict.fromkeys(name for one in chosen for name in names(one.text)))[:MAX_ENTITIES]
    digest = OutputDigest(text=text, keywords=keywords, entities=entities, project_ids=routed_ids(subject))
    return ModelOutput(digest, patches)


def _sentences(subject: ExtractionContext) -> Iterator[Match]:
    """Yield the sentences of users and assistants; messages of systems and tools are ignored."""
    denied, rules = subject.profile.denied_fields, subject.profile.sensitive_content
    cues = subject.catalog.cue_sets(subject.profile)
    for message in subject.origins.taken(subject.messages):
        if message.role not in ("user", "assistant"):
            continue
        for sentence in sentences(message.content):
            text = strip_invisible(sentence)
            # The original sentence is checked: a removed invisible character would split a name.
            if text and len(text) <= MAX_SENTENCE_CHARS and not is_sensitive(sentence, denied, rules):
                yield Match(text, message, _matches(text, cues) if message.role == "user" else {})


def _matches(sentence: str, cues: Sequence[CueSet]) -> Mapping[str, tuple[Cue, Mapping[str, str | float]]]:
    """Return what a sentence matches, by kind: the first cues with phrases of a kind, and a match, decide about it."""
    if sentence.endswith("?"):
        return {}
    found: dict[str, tuple[Cue, Mapping[str, str | float]]] = {}
    for one in cues:
        if one.forms - found.keys() and (match := one.find(sentence)) is not None:
            found |= {form: match for form in one.forms - found.keys()}
    return {form: match for form, match in found.items() if match[0].says == form}


def _candidates(
    said: Sequence[Match], phrase: TriggerPhrase, subject: ExtractionContext
) -> Iterator[dict[str, object]]:
    per_message: Counter[str] = Counter()
    for one in said:
        if phrase.says not in one.matches:
            continue
        per_message[one.message.message_id] += 1
        if per_message[one.message.message_id] > MAX_PER_MESSAGE:
            continue
        cue, members = one.matches[phrase.says]
        value = _value(members, phrase, subject)
        for document in subject.sources:
            if document.binding_id == phrase.binding_id and value is not None:
                path = pointer_text((ROOT, *pointer(phrase.section), "-"))
                yield {
                    "target_binding_id": phrase.binding_id,
                    "target_path": document.key.path,
                    "ops": [{"op": "add", "path": path, "value": value}],
                    "confidence": cue.confidence,
                    "message_ids": [one.message.message_id],
                }


def _value(members: Mapping[str, str | float], phrase: TriggerPhrase, subject: ExtractionContext) -> Json:
    """Return the text or entry to propose; None if the cue lacks a member that the section's entries need."""
    profile, binding = subject.profile, subject.profile.binding(phrase.binding_id)
    template = {} if profile.extraction is None else profile.extraction.items.get(phrase.binding_id, {})
    entry = template.get(phrase.section, {})
    text, names = _clip(_capital(str(members[TEXT_GROUP]))), said_members(entry)
    if not names or binding is None:
        return text
    filled = {name: _tidy(members[name]) for name in names if name in members}
    needed = set(names) & set(subject.catalog.rules(profile, binding).schema.required(f"{phrase.section}/-"))
    return {text_member(entry): text, **filled} if needed <= filled.keys() else None


def _tidy(value: str | float) -> Json:
    return _clip(value) if isinstance(value, str) else value


def _keywords(said: Sequence[Match]) -> list[str]:
    counts = Counter(word for one in said for word in _long_words(one.text))
    ordered = sorted(counts, key=lambda word: (-counts[word], -len(word), word))
    return ordered[:MAX_KEYWORDS]


def _choose(said: Sequence[Match], keywords: Sequence[str]) -> list[Match]:
    """Return the best sentences that fit, in the order of the conversation."""
    worth = {number: _worth(one, keywords) for number, one in enumerate(said)}
    if any(worth.values()):
        worth = {number: value for number, value in worth.items() if value}
    taken: list[int] = []
    left = MAX_DIGEST_CHARS
    for number in sorted(worth, key=lambda number: (-worth[number], number)):
        length = len(said[number].text) + 1
        if length <= left and said[number].text not in (said[other].text for other in taken):
            taken.append(number)
            left -= length
    return [said[number] for number in sorted(taken)]


def _worth(one: Match, keywords: Sequence[str]) -> int:
    if len(one.text.split()) < MIN_SENTENCE_WORDS:
        return 0
    return len(_long_words(one.text) & set(keywords)) + (STATED if one.matches else 0)


def _long_words(text: str) -> set[str]:
    return {word for word in words(text) if MIN_KEYWORD_CHARS <= len(word) <= MAX_KEYWORD_CHARS}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _clip(text: str) -> str:
    text = text.strip().rstrip(" .!")
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS].rpartition(" ")[0] + " …"
