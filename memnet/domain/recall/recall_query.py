"""The queries of a recall: turns and events of one user about a text, or the newest turns of some conversations."""

from dataclasses import dataclass
from datetime import datetime

from memnet.domain.core.scope import UserScope
from memnet.domain.core.words import searched_words
from memnet.domain.events.event_search import IndexKind, Place, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A query of turns under these profiles and of events. Times: from `since`, before `until`, in milliseconds."""

    scope: UserScope
    text: str | None
    profiles: tuple[str, ...]
    """Empty: no turns."""
    top: int
    skip: int = 0
    since: datetime | None = None
    until: datetime | None = None
    conversations: tuple[str, ...] = ()
    """The turns of these alone; empty: turns of every conversation, and events."""

    @property
    def searched(self) -> tuple[str, ...]:
        """The fields in which words are looked for."""
        return ("text",)

    @property
    def words(self) -> str | None:
        """The words by which the index is searched."""
        return None if self.text is None else searched_words(self.text)

    @property
    def after(self) -> Place | None:
        """A recall has no pages."""
        return None

    @property
    def has_pages(self) -> bool:
        """Return False."""
        return False

    def wanted(self) -> Wanted:
        """Return the kinds, each with the fields that must have one of these values."""
        turns: Wanted = {IndexKind.TURN: {"profile_id": self.profiles}} if self.profiles else {}
        if self.conversations:
            return {kind: {**fields, "conversation_id": self.conversations} for kind, fields in turns.items()}
        return {IndexKind.EVENT: {}, **turns}

    def containing(self) -> dict[str, str]:
        """Return no fields."""
        return {}
