"""The queries of a recall: turns and events of one user about a text, or the newest turns of some conversations."""

from dataclasses import dataclass
from typing import ClassVar

from memnet.domain.events.event_search import IndexKind, IndexQuery, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery(IndexQuery):
    """A query of turns under these profiles and of events."""

    profiles: tuple[str, ...]
    """Empty: no turns."""
    conversations: tuple[str, ...] = ()
    """The turns of these alone; empty: turns of every conversation, and events."""
    has_pages: ClassVar[bool] = False

    def wanted(self) -> Wanted:
        """Return the kinds, each with the fields that must have one of these values."""
        turns: Wanted = {IndexKind.TURN: {"profile_id": self.profiles}} if self.profiles else {}
        if self.conversations:
            return {kind: {**fields, "conversation_id": self.conversations} for kind, fields in turns.items()}
        return {IndexKind.EVENT: {}, **turns}
