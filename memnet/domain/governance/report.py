"""Collect what the report of an export shows to a person, within bounded memory: the newest rows of each kind."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Actor, DocumentKey, Json, UserScope
from memnet.domain.events.event import Event
from memnet.domain.governance.change_words import change_words
from memnet.domain.governance.legal_hold import HoldChange
from memnet.domain.history.baseline import Baseline
from memnet.domain.history.entries import Said, entries_of
from memnet.domain.history.origins import Origins
from memnet.domain.replay.snapshot import Snapshot

MAX_ENTRIES = 5_000
MAX_ROWS = 1_000
"""Events, conversations, accesses and changes, each; the files of the archive have all of them."""
MAX_TALKS = 50
"""Conversations whose messages are shown."""
T = TypeVar("T")


class Newest(Generic[T]):
    """The newest rows of all that were added."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heap: list[tuple[str, int, T]] = []
        self._numbers = count()
        self.total = 0

    def add(self, at: str, row: T) -> None:
        """Add a row with its time."""
        self.total += 1
        entry = (at, next(self._numbers), row)
        if len(self._heap) < self._limit:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    @property
    def rows(self) -> Sequence[tuple[str, T]]:
        """The rows with their times, newest first."""
        return [(at, row) for at, _, row in sorted(self._heap, key=lambda one: one[:2], reverse=True)]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a document in words."""

    document: str
    actor: str
    application: str | None
    reason: str
    words: Sequence[str]


@dataclass
class Report:
    """What is stored about a user, as far as it is shown to a person."""

    scope: UserScope
    made_at: str
    actor: str
    entries: list[tuple[str, Said]] = field(default_factory=list)
    """The entries with the names of their documents, at most MAX_ENTRIES."""
    entry_count: int = 0
    changes: Newest[Change] = field(default_factory=lambda: Newest(MAX_ROWS))
    events: Newest[Event] = field(default_factory=lambda: Newest(MAX_ROWS))
    conversations: Newest[tuple[str, str, int]] = field(default_factory=lambda: Newest(MAX_ROWS))
    """Conversation id, product, number of messages."""
    talks: Newest[Snapshot] = field(default_factory=lambda: Newest(MAX_TALKS))
    accesses: Newest[Mapping[str, Json]] = field(default_factory=lambda: Newest(MAX_ROWS))
    holds: Sequence[HoldChange] = ()
    conversations_left_out: int | None = None

    def conversation(self, snapshot: Snapshot) -> None:
        """Add a conversation."""
        at = max(message.timestamp for message in snapshot.messages)
        self.conversations.add(at, (snapshot.conversation_id, snapshot.service_id, len(snapshot.messages)))
        self.talks.add(at, snapshot)

    def event(self, event: Event) -> None:
        """Add an event."""
        self.events.add(event.timestamp, event)

    def access(self, members: Mapping[str, Any]) -> None:
        """Add an access record."""
        self.accesses.add(members["accessed_at"], members)

    def _entries(self, document: str, found: Iterable[Said]) -> None:
        for said in found:
            self.entry_count += 1
            if len(self.entries) < MAX_ENTRIES:
                self.entries.append((document, said))


class DocumentReport:
    """Follows the changes of one document, which are already verified, and adds them and the entries to a report."""

    def __init__(self, report: Report, key: DocumentKey) -> None:
        self._report = report
        self._document = f"{key.namespace}/{key.path}"
        self._origins = Origins()

    def begin(self, baseline: Baseline) -> None:
        """Begin with a baseline."""
        self._origins = baseline.tree()

    def take(self, record: Record) -> None:
        """Add the next change."""
        # A baseline may be what this very change left.
        is_applied = record["sequence"] <= self._origins.sequence
        words = change_words(record, None if is_applied else self._origins.content)
        self._report.changes.add(
            record["timestamp"],
            Change(self._document, record["actor"], record["application"], record["reason"], words),
        )
        self._origins.take(record)

    def end(self, covering: Sequence[WriteRules], pending: Sequence[str], actor: Actor) -> None:
        """Add the entries of the newest version."""
        if self._origins.content is not None:
            self._report._entries(self._document, entries_of(self._origins.content, covering, pending, actor))
