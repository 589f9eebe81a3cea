"""A searchable turn: one message of a snapshot, as a search finds it, and as it goes into an index.

The index gets its words, which a query cannot return, and its payload, which is sealed: without the user's data key
a query returns nothing readable.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from memnet.domain.catalog.profile import Profile
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.terms import Terms
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.core.user_item import ItemKey
from memnet.domain.core.words import indexed_words
from memnet.domain.documents.sensitive import is_sensitive, redact_secrets
from memnet.domain.events.compact_vector import compact, expand
from memnet.domain.events.event_search import IndexKind, Place, Vector, position
from memnet.domain.replay.injected_memory import strip_messages
from memnet.domain.replay.snapshot import Message, Snapshot, snapshot_key, uri_of

_UNREAD = Terms("")


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a sealed payload belongs: the message's place in the index."""

    scope: UserScope
    key: str

    @property
    def blob_name(self) -> str:
        """Return a name that no blob has."""
        return f"{self.scope.prefix}turns/{self.key}"


@dataclass(frozen=True, slots=True)
class SearchableTurn:
    """One message; `text` is without injected memory and sensitive sentences."""

    snapshot: ItemKey
    profile_id: str
    conversation_id: str
    message_id: str
    speaker: str
    """The name of who speaks, or else the role."""
    role: str
    said_at: str
    ordinal: int
    """Its number in the snapshot."""
    text: str
    vector: "array[float] | None" = field(default=None, compare=False, repr=False)
    """Its meaning, of length 1, if it was read from an index that has vectors."""
    terms: Terms = field(default=_UNREAD, compare=False, repr=False)
    """The words by which it is ranked, which a copy keeps."""

    def __post_init__(self) -> None:
        """Take the words of its line, unless they are known."""
        if self.terms.text is not self.text:
            object.__setattr__(self, "terms", Terms(self.text, day=self.said_at[:10], speaker=self.speaker))

    @property
    def scope(self) -> UserScope:
        """Whose it is."""
        return self.snapshot.scope

    @property
    def index_key(self) -> str:
        """The key of its document; the same in every snapshot of the conversation, so a later one overwrites it."""
        scope = self.scope
        return sha256_hex(canonical(["turn", scope.tenant_id, scope.user_id, self.conversation_id, self.message_id]))

    @property
    def place(self) -> Place:
        """Its place in the order of time. Azure AI Search keeps milliseconds."""
        at = from_text(self.said_at)
        return Place(to_text(at.replace(microsecond=at.microsecond // 1000 * 1000)), self.index_key)

    def filtered(self) -> dict[str, Any]:
        """Return the fields that a search filters by."""
        return {
            "kind": IndexKind.TURN.value,
            "tenant_id": self.scope.tenant_id,
            "user_id": self.scope.user_id,
            "profile_id": self.profile_id,
            "conversation_id": self.conversation_id,
            "snapshot": self.snapshot.blob_name,
            "speaker": self.speaker,
            "role": self.role,
            "timestamp": self.place.timestamp,
            "ordinal": self.ordinal,
        }

    def payload(self, vector: Vector | None = None) -> bytes:
        """Return what an index answers, to be sealed for `TurnPlace`: a result, its place in time, and its meaning."""
        own = {**self.members(), "profile_id": self.profile_id, "ordinal": self.ordinal}
        return canonical(own if vector is None else {**own, "vector": compact(vector)})

    def members(self) -> dict[str, Any]:
        """Return the members of a result."""
        return {
            "conversation_id": self.conversation_id,
            "message_id": self.message_id,
            "speaker": self.speaker,
            "role": self.role,
            "said_at": self.said_at,
            "text": self.text,
            "snapshot_uri": uri_of(self.snapshot),
        }


@dataclass(frozen=True, slots=True)
class TurnDocument:
    """A turn as it goes into an index."""

    turn: SearchableTurn
    sealed: bytes
    vector: Vector | None = None

    @property
    def key(self) -> str:
        """The document's key."""
        return self.turn.index_key

    @property
    def scope(self) -> UserScope:
        """Whose it is."""
        return self.turn.scope

    def fields(self) -> dict[str, Any]:
        """Return the document's fields."""
        own = {
            "id": self.key,
            "position": position(self.key),
            "text": indexed_words(self.turn.text),
            "payload": self.sealed.decode(),
        }
        return {**self.turn.filtered(), **own, **({} if self.vector is None else {"vector": self.vector})}


@lru_cache(maxsize=4096)
def _snapshot_at(scope: UserScope, uri: str) -> ItemKey:
    """Return the snapshot at a URI: many turns share it."""
    *_, conversation_id, snapshot_id = uri.removesuffix(".json").split("/")
    return snapshot_key(scope, conversation_id, snapshot_id)


def is_searchable(profile: Profile) -> bool:
    """Return whether the messages of this profile's snapshots can be found."""
    return profile.turns is not None and profile.turns.searchable


def searchable_turns(snapshot: Snapshot, profile: Profile) -> list[SearchableTurn]:
    """Return the messages of a snapshot that a search finds, by the rules of its profile."""
    if profile.turns is None or not profile.turns.searchable:
        return []
    found = []
    for ordinal, message in enumerate(strip_messages(snapshot.messages)):
        text = _text(message.content, profile) if message.role in profile.turns.roles else ""
        if text.strip():
            found.append(
                SearchableTurn(
                    snapshot=snapshot.key,
                    profile_id=snapshot.profile_id,
                    conversation_id=snapshot.conversation_id,
                    message_id=message.message_id,
                    speaker=_speaker(message, profile),
                    role=message.role,
                    said_at=message.timestamp,
                    ordinal=ordinal,
                    text=text,
                )
            )
    return found


def _speaker(message: Message, profile: Profile) -> str:
    if message.name is None or is_sensitive(message.name, profile.denied_fields, profile.sensitive_content):
        return message.role
    return message.name


def _text(content: str, profile: Profile) -> str:
    """Return the content without sensitive sentences; nothing if one remains across their borders."""
    denied, rules = profile.denied_fields, profile.sensitive_content
    if not is_sensitive(content, denied, rules):
        return content
    text = redact_secrets(content, denied, rules)
    return "" if is_sensitive(text, denied, rules) else text


def newest_of_each(turns: Iterable[SearchableTurn]) -> list[SearchableTurn]:
    """Return one turn for each message: that of the snapshot that reaches furthest."""
    listed = list(turns)
    reach: dict[ItemKey, tuple[str, int, str]] = {}
    for turn in listed:
        here = (turn.said_at, turn.ordinal, turn.snapshot.name)
        reach[turn.snapshot] = max(reach.get(turn.snapshot, here), here)
    found: dict[str, SearchableTurn] = {}
    for turn in sorted(listed, key=lambda turn: reach[turn.snapshot]):
        found[turn.index_key] = turn
    return list(found.values())


def load_turn(data: bytes, place: TurnPlace) -> SearchableTurn:
    """Read the payload that `SearchableTurn.payload` wrote for this place. Raises DecryptionFailed."""
    with Reading(DecryptionFailed()):
        members = orjson.loads(data)
        snapshot = _snapshot_at(place.scope, members.pop("snapshot_uri"))
        vector = members.pop("vector", None)
        return SearchableTurn(snapshot=snapshot, **members, vector=None if vector is None else expand(vector))
