"""Describe an audit record in words for a person."""

from collections.abc import Mapping, Sequence
from typing import Any

from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Pointer, pointer
from memnet.domain.core.scope import Json
from memnet.domain.history.origin import Traced

MAX_WORDS = 20
"""Operations of one change that are described."""
MAX_TEXT = 500


def change_words(record: Mapping[str, Any], before: Traced | None) -> Sequence[str]:
    """Return one phrase per operation of a change, such as `added to Preferences: "Answer briefly."`.

    `before` is the content that the change applied to; None: there was none.
    """
    ops = [op for op in record["ops"] if op["op"] != "test" and not _is_link(op, record["settled"], before)]
    if record["reason"] == Reason.CONFIRMATION:
        # The first one removes the pending item.
        said = [_statement(op, record["settled"], before) or _phrase(op, None) for op in ops[1 : MAX_WORDS + 1]]
        return [f"confirmed: {phrase}" for phrase in said] or ["confirmed a proposal"]
    # The indices of later operations count in what the first one left.
    found = [
        _statement(op, record["settled"], before) or _phrase(op, before if number == 0 else None)
        for number, op in enumerate(ops[:MAX_WORDS])
    ]
    if record["reason"] == Reason.REJECTION:
        found = [f"rejected a proposal: {phrase}" for phrase in found]
    return [*found, f"and {len(ops) - MAX_WORDS} more"] if len(ops) > MAX_WORDS else found


def _statement(op: Mapping[str, Any], settled: Sequence[Mapping[str, Any]], before: Traced | None) -> str | None:
    """Return the phrase of a statement that replaced another one, or that held earlier; None: it is another change."""
    row = next((row for row in settled if row["entry_id"] == _id_of(op.get("value"))), None)
    if op["op"] != "add" or row is None or row["entry_id"] is None:
        return None
    path, text = pointer(op["path"]), text_of(op["value"])
    if row["verdict"] == "late":
        return f'added to {place_words(path)}, as what held earlier: "{text}"'
    entries = [] if before is None or "replaces" not in row else before.at(path[1:-1]).plain()
    old = next((entry for entry in entries if _id_of(entry) == row["replaces"]), None)
    return None if old is None else f'replaced in {place_words(path)}: "{text_of(old)}" with "{text}"'


def _is_link(op: Mapping[str, Any], settled: Sequence[Mapping[str, Any]], before: Traced | None) -> bool:
    """Whether an operation only notes in an entry which statement came before or after it, and until when it held."""
    path, linked = pointer(op["path"]), {row.get(name) for row in settled for name in ("replaces", "replaced_by")}
    if before is None or len(path) < 4 or not path[-2].isdecimal() or not linked - {None}:
        return False
    return _id_of(before.at(path[1:-1]).plain()) in linked


def _id_of(entry: Json) -> Json:
    return entry.get("id") if isinstance(entry, dict) else None


def _phrase(op: Mapping[str, Any], before: Traced | None) -> str:
    path = pointer(op["path"])
    if len(path) < 2:
        return "deleted the document" if op["op"] == "remove" else "wrote the document"
    place = place_words(path)
    match op["op"]:
        case "add":
            return f'added to {place}: "{text_of(op["value"])}"'
        case "replace":
            return f'changed {place} to: "{text_of(op["value"])}"'
        case "remove":
            removed = "" if before is None else f': "{text_of(before.at(path[1:]).plain())}"'
            return f"removed from {place}{removed}"
    return f"{op['op']} {place_words(pointer(op['from']))} to {place}"


def place_words(path: Pointer) -> str:
    """Return a pointer below the content in words: the section, and the members of an entry."""
    return ", ".join(_title(name) for name in path[1:] if not name.isdecimal() and name != "-")


def text_of(value: Json) -> str:
    """Return a value as a short text: its own text if it has one, else its members."""
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        value = value["text"]
    if isinstance(value, dict):
        value = "; ".join(f"{name.replace('_', ' ')}: {text_of(child)}" for name, child in value.items())
    elif isinstance(value, list):
        value = ", ".join(map(text_of, value))
    return shortened(value if isinstance(value, str) else canonical(value).decode(), MAX_TEXT)


def shortened(text: str, limit: int) -> str:
    """Return the text, cut after `limit` characters."""
    return text if len(text) <= limit else f"{text[:limit]} …"


def _title(name: str) -> str:
    words = " ".join(name.replace("_", " ").split()) or name
    return words[:1].upper() + words[1:]
