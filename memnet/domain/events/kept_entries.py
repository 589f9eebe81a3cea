"""The entries that events of upkeep hold: a whole entry each, or an entry in parts over several events."""

from collections import defaultdict
from collections.abc import Sequence

import orjson

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import RESERVED, DocumentKey, Json, UserScope
from memnet.domain.events.event import Event

CLOSED = f"{RESERVED}closed-"
"""The beginning of the ids of events that hold closed statements."""
ENTRIES = "entries"
"""The member of the evidence of an event with its whole entries."""


def whole_entries(event: Event) -> Sequence[Json]:
    """Return the entries that an event holds whole."""
    found = event.evidence_members.get(ENTRIES)
    return found if isinstance(found, list) else []


def entries_in(events: Sequence[Event]) -> list[Json]:
    """Return the entries in the events, with parts joined."""
    whole: list[Json] = []
    parts: dict[str, dict[int, str]] = defaultdict(dict)
    for event in events:
        members = event.evidence_members
        whole += whole_entries(event)
        if "entry" in members:
            parts[members["entry"]][members["part"]] = event.digest
    texts = {name: "".join(text for _, text in sorted(found.items())) for name, found in parts.items()}
    return whole + [orjson.loads(text) for name, text in texts.items() if sha256_hex(text.encode()) == name]


def part_of(event: Event) -> tuple[int, int]:
    """Return which part of an entry the event is, and of how many; an event with whole entries is part 1 of 1."""
    members = event.evidence_members
    return members.get("part", 1), members.get("parts", 1)


def place_of(scope: UserScope, event: Event) -> tuple[DocumentKey, str] | None:
    """Return the document and the section that the entries of an event were in; None if it does not say so."""
    origin = event.evidence_members
    try:
        return DocumentKey(scope, origin["namespace"], origin["path"]), origin["section"]
    except (KeyError, TypeError, InvalidIdentifier):
        return None
