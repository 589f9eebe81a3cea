"""A search of what was said: the query, and its pages in the order of time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import InvalidCursor
from memnet.domain.events.event_search import IndexKind, IndexQuery, Place, Wanted, listing


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuery(IndexQuery):
    """A query of messages under these profiles."""

    profiles: tuple[str, ...]
    conversation_id: str | None = None
    speaker: str | None = None

    def wanted(self) -> Wanted:
        """Return messages alone, and the fields that must have one of these values."""
        named = {"conversation_id": self.conversation_id, "speaker": self.speaker}
        given = {name: (value,) for name, value in named.items() if value is not None}
        return {IndexKind.TURN: {"profile_id": self.profiles, **given}}


def encode_place(query: TurnQuery, place: Place) -> str:
    """Return the cursor of the page after this place in time."""
    return cursors.encode(listing(query), f"{place.timestamp}/{place.key}")


def decode_place(query: TurnQuery, cursor: str) -> TurnQuery:
    """Return the query of the page after the one that `encode_place` ended. Raises InvalidCursor."""
    found = re.fullmatch(r"([0-9T:.Z-]{20,40})/([0-9a-f]{64})", cursors.decode(listing(query), cursor), re.ASCII)
    if found is None:
        raise InvalidCursor()
    return replace(query, after=Place(found[1], found[2]))


def newest_first(places: Sequence[Place]) -> list[int]:
    """Return the numbers of the places in the order of the index: the newest first, equal times by key."""
    by_key = sorted(range(len(places)), key=lambda number: places[number].key)
    return sorted(by_key, key=lambda number: places[number].timestamp, reverse=True)
