"""What a model is shown: the documents and the conversation, quoted so that nothing in them can pass for more.

Everything is JSON, one value a line, between fences. A line's end, an angle bracket and every character that cannot be
seen are written as escapes, so no content makes a line or a fence of its own, and nothing is hidden in it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from memnet.domain.catalog.path_policy import ROOT, lies_within
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import ExtractionRules
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Pointer, pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.text import INVISIBLE
from memnet.domain.replay.extraction import SourceDocument
from memnet.domain.replay.prompt_input import strip_messages
from memnet.domain.replay.snapshot import Message

MAX_CONVERSATION = 160_000
"""Characters of all quoted messages; the newest are quoted."""
MAX_MESSAGE = 24_000
"""Characters of one quoted message; of a longer one the middle is left out."""
_BRACKET = re.compile("[<>]")


@dataclass(frozen=True, slots=True)
class Quoted:
    """The messages a model is shown, without what was injected into them; the others cannot be cited."""

    messages: Sequence[Message]
    left_out: int
    """How many older ones did not fit."""
    shortened: int
    """How many are shown without their middle."""

    def note(self) -> str | None:
        """What has to be known of it."""
        parts = []
        if self.left_out:
            parts.append(f"the {self.left_out} oldest messages did not fit")
        if self.shortened:
            parts.append(f"{self.shortened} messages were shortened")
        return ", ".join(parts) or None


def quote(messages: Sequence[Message]) -> Quoted:
    """Choose what is shown of a conversation: all that has content of its own and fits, the newest first."""
    own = [message for message in strip_messages(messages) if message.content.strip()]
    kept: list[Message] = []
    left, shortened = MAX_CONVERSATION, 0
    for message in reversed(own):
        short = _shorten(message)
        left -= len(_message_line(short)) + 1
        if left < 0:
            break
        kept.append(short)
        shortened += short is not message
    return Quoted(kept[::-1], len(own) - len(kept), shortened)


def compose(quoted: Quoted, shown: Sequence[SourceDocument], profile: Profile, rules: ExtractionRules) -> str:
    """The text that goes with the instructions. Of the documents the pending sections are not shown.

    They hold what other conversations proposed and nobody confirmed, and no replay may write there.
    """
    documents = [_line(_document(document, profile, rules)) for document in shown]
    messages = [_message_line(message) for message in quoted.messages]
    omitted = [_line({"omitted_older_messages": quoted.left_out})] if quoted.left_out else []
    return "\n".join(
        ["<documents>", *documents, "</documents>", "<conversation>", *omitted, *messages, "</conversation>"]
    )


def writable(profile: Profile, binding_id: str) -> list[str]:
    """The places of the binding's content that a replay may propose to: all that is writable but what is pending."""
    binding, pending = profile.binding(binding_id), _pending(profile, binding_id)
    if binding is None or binding.write_mode == "read_only":
        return []
    rules = profile.writable_path_rules.get(binding_id, ())
    return [rule for rule in rules if pending is None or not lies_within(pointer(rule), pending)]


def _document(document: SourceDocument, profile: Profile, rules: ExtractionRules) -> Json:
    content = orjson.loads(canonical(document.content))
    pending = _pending(profile, document.binding_id)
    if pending:
        _drop(content, pending)
    texts = rules.items.get(document.binding_id, {})
    return {
        "target_binding_id": document.binding_id,
        "target_path": document.key.path,
        "exists": document.etag is not None,
        "writable": [pointer_text((ROOT, *pointer(rule))) for rule in writable(profile, document.binding_id)],
        "lists_that_take_texts": [pointer_text((ROOT, *pointer(section))) for section in texts],
        "content": content,
    }


def _pending(profile: Profile, binding_id: str) -> Pointer | None:
    section = profile.pending_sections.get(binding_id)
    return None if section is None else pointer(section)


def _drop(content: Json, place: Pointer) -> None:
    for name in place[:-1]:
        content = content.get(name) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content.pop(place[-1], None)


def _shorten(message: Message) -> Message:
    if len(message.content) <= MAX_MESSAGE:
        return message
    half = MAX_MESSAGE // 2
    content = f"{message.content[:half]} […] {message.content[-half:]}"
    return message.model_copy(update={"content": content})


def _message_line(message: Message) -> str:
    return _line(
        {
            "message_id": message.message_id,
            "role": message.role,
            "timestamp": message.timestamp,
            "content": message.content,
        }
    )


def _line(value: Json) -> str:
    """One line of JSON that means the same to every reader and contains no bracket and nothing unseen."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = INVISIBLE.sub(_escape, _BRACKET.sub(_escape, text))
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char.isspace() else _escaped(char) for char in text)


def _escape(match: re.Match[str]) -> str:
    return _escaped(match[0])


def _escaped(character: str) -> str:
    """As JSON escapes it (RFC 8259, section 7): beyond the first plane as two surrogates."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x80 else json.dumps(character)[1:-1]
