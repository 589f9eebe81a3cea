"""A search of a user's events: the query and the cursor of the next page; and what it shares with that of turns.

The filter is OData (`$filter` of Azure AI Search). Tenant and user come from the route and are joined with `and` at
the outermost level; every other value is a literal in it, never a part of its grammar.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Final

import orjson

from memnet.domain.core import cursor as cursors
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import InvalidCursor
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.words import indexed_words, searched_words
from memnet.domain.events.compact_vector import compact
from memnet.domain.events.event import StoredEvent, members_of_event

MAX_SKIP = 10_000
"""How deep pages go; the service behind the index allows 100,000."""
SCORE_DIGITS = 3
"""Digits after the point of a score. It only ranks the events of one answer."""
SEARCHED: Final = "text"
"""The field of the documents in which words are looked for."""

Vector = list[float]


class IndexKind(StrEnum):
    """What a document of an index was made from."""

    EVENT = "event"
    TURN = "turn"
    """One message of a snapshot."""


Wanted = Mapping[IndexKind, Mapping[str, tuple[str, ...]]]
"""The kinds that a query wants, each with the fields that must have one of these values."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place of a document in the order of time: its timestamp and its key."""

    timestamp: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """What an index has to know of a query. Times: from `since`, before `until`, in milliseconds."""

    scope: UserScope
    text: str | None
    """What is asked; None: everything, newest first."""
    top: int
    """How many results are wanted."""
    skip: int = 0
    """How many results come before them."""
    since: datetime | None = None
    until: datetime | None = None
    after: Place | None = None
    """Where an earlier page ended, if the results are in the order of time."""
    has_pages: ClassVar[bool] = True
    """Whether the page must end at the same result each time; else results equal to the last one may be absent."""

    @property
    def words(self) -> str | None:
        """The words of the text as the index has them, separated by spaces; None without a text."""
        return None if self.text is None else searched_words(self.text)

    def wanted(self) -> Wanted:
        """Return the kinds that are searched, each with the fields that must have one of these values."""
        raise NotImplementedError

    def containing(self) -> dict[str, str]:
        """Return the fields that must contain this value."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery(IndexQuery):
    """A query of events."""

    service: str | None = None
    project: str | None = None
    source_type: str | None = None
    entity: str | None = None

    def wanted(self) -> Wanted:
        """Return events alone, and the fields that must have one of these values."""
        named = {"service_id": self.service, "source_type": self.source_type}
        return {IndexKind.EVENT: {name: (value,) for name, value in named.items() if value is not None}}

    def containing(self) -> dict[str, str]:
        """Return the fields that must contain this value."""
        wanted = {"project_ids": self.project, "entities": self.entity}
        return {name: value for name, value in wanted.items() if value is not None}


class Mode(StrEnum):
    """How results were ranked."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    NEWEST = "newest"
    """By time: nothing was asked."""


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event's canonical JSON, and how well it matches."""

    data: bytes
    score: float

    def members(self) -> dict[str, Any]:
        """Return the members of the event, and its score in SCORE_DIGITS digits."""
        return {**members_of_event(self.data), "score": round(self.score, SCORE_DIGITS)}


@dataclass(frozen=True, slots=True)
class FoundEvents:
    """One page of results."""

    items: Sequence[FoundEvent]
    next_cursor: str | None
    mode: Mode


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """An event as it goes into an index."""

    stored: StoredEvent
    vector: Vector | None = None

    @property
    def key(self) -> str:
        """The document's key."""
        return self.stored.key.index_key

    def fields(self) -> dict[str, Any]:
        """The document's fields; `payload` holds the answer, the others are there to be searched and filtered by."""
        found = orjson.loads(self.stored.data)
        members = {name: value for name, value in found.items() if name not in ("snapshot_uri", "evidence")}
        vector = {} if self.vector is None else {"vector": self.vector, "embedding": compact(self.vector)}
        own = {"id": self.key, "position": position(self.key), "kind": IndexKind.EVENT.value, "text": self._words()}
        return {**members, **own, "payload": self.stored.data.decode(), **vector}

    def _words(self) -> str:
        event = self.stored.event
        return indexed_words(" ".join([event.digest, *event.keywords, *event.entities]))


def position(key: str) -> int:
    """The place of a document: 60 bits of its key, because a filter cannot compare strings by order."""
    return int(key[:15], 16)


def quote(value: str) -> str:
    """An OData string literal: a single quote inside is doubled."""
    return "'" + value.replace("'", "''") + "'"


def odata_filter(query: IndexQuery) -> str:
    """The filter of a query."""
    own = {"tenant_id": query.scope.tenant_id, "user_id": query.scope.user_id}
    parts = [f"{name} eq {quote(value)}" for name, value in own.items()]
    parts.append(_either([_kind(kind, fields) for kind, fields in query.wanted().items()]))
    parts += [f"{name}/any(v: v eq {quote(value)})" for name, value in query.containing().items()]
    if query.since is not None:
        parts.append(f"timestamp ge {to_text(query.since)}")
    if query.until is not None:
        parts.append(f"timestamp lt {to_text(query.until)}")
    if query.after is not None:
        # The place itself included: another key could share its position.
        at, number = query.after.timestamp, position(query.after.key)
        parts.append(f"(timestamp lt {at} or (timestamp eq {at} and position ge {number}))")
    return " and ".join(parts)


def _kind(kind: IndexKind, fields: Mapping[str, tuple[str, ...]]) -> str:
    """The condition of one kind."""
    named = {"kind": (kind.value,), **fields}
    return " and ".join(_either([f"{name} eq {quote(value)}" for value in values]) for name, values in named.items())


def _either(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def matches(fields: Mapping[str, Any], query: IndexQuery) -> bool:
    """Return whether a document with these fields matches the filter of a query, but for where its page begins."""
    wanted = query.wanted().get(IndexKind(fields["kind"]))
    at = fields["timestamp"]
    return (
        (fields["tenant_id"], fields["user_id"]) == (query.scope.tenant_id, query.scope.user_id)
        and wanted is not None
        and all(fields.get(name) in values for name, values in wanted.items())
        and all(value in fields.get(name, ()) for name, value in query.containing().items())
        and (query.since is None or at >= to_text(query.since))
        and (query.until is None or at < to_text(query.until))
    )


def follows(place: Place, after: Place | None) -> bool:
    """Return whether a place comes after another one in the order of time: the newest first, equal times by key."""
    return (
        after is None
        or place.timestamp < after.timestamp
        or (place.timestamp == after.timestamp and place.key > after.key)
    )


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page of a search ends: results used of the ranked ones, those passed of the index after them.

    `lexical`: words alone ranked, and do so on every page.
    """

    ranked: int = 0
    passed: int = 0
    lexical: bool = False


def listing(query: IndexQuery) -> str:
    """Name all pages of one search, for its cursors."""
    times = {"since": query.since and to_text(query.since), "until": query.until and to_text(query.until)}
    wanted = {
        kind.value: {name: list(values) for name, values in found.items()} for kind, found in query.wanted().items()
    }
    asked = {"text": query.text, "top": query.top, **times, "wanted": wanted, "containing": query.containing()}
    return f"{query.scope.prefix}results of {sha256_hex(canonical(asked))}"


def encode_position(query: IndexQuery, at: Position) -> str | None:
    """Return the cursor of the page after a position; None beyond MAX_SKIP."""
    if at.ranked + at.passed > MAX_SKIP:
        return None
    return cursors.encode(listing(query), f"{'l' if at.lexical else 'h'}{at.ranked}:{at.passed}")


def decode_position(query: IndexQuery, cursor: str) -> Position:
    """Read what `encode_position` wrote. Raises InvalidCursor."""
    found = re.fullmatch(r"([hl])(\d{1,5}):(\d{1,5})", cursors.decode(listing(query), cursor), re.ASCII)
    if found is None or int(found[2]) + int(found[3]) > MAX_SKIP:
        raise InvalidCursor()
    return Position(int(found[2]), int(found[3]), found[1] == "l")
