"""The messages that this process has unsealed from the index, so that the next question does not unseal them again.

Nothing is returned but for the same sealed bytes, which the index has just returned, and for a key that the caller
may still use. So a message that was changed or removed is not found here, and an erasure hides what it leaves behind.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memnet.domain.core.scope import UserScope
from memnet.domain.recall.candidate import Candidate
from memnet.domain.replay.searchable_turn import SearchableTurn

LIFETIME: Final = timedelta(seconds=60)
"""How long a message is kept, as long as a data key."""
MAX_BYTES: Final = 64 << 20
_ENTRY_BYTES: Final = 2_048
"""What an entry counts besides its texts: the objects around them."""
_COPIES: Final = 4
"""How often a message is kept: sealed, unsealed, and as its words with their counts."""


@dataclass(frozen=True, slots=True)
class Unsealed:
    """A message, sealed and read."""

    data: bytes
    key_id: str
    """Of the data key that unsealed it."""
    turn: SearchableTurn
    candidate: Candidate
    since: datetime
    """When it was unsealed."""


class UnsealedTurns:
    """The messages that were unsealed last, up to `max_bytes`. One event loop uses it: no lock."""

    def __init__(self, max_bytes: int = MAX_BYTES, lifetime: timedelta = LIFETIME) -> None:
        self._max_bytes = max_bytes
        self._lifetime = lifetime
        self._bytes = 0
        self._known: OrderedDict[tuple[UserScope, str], Unsealed] = OrderedDict()
        """By user and key of the index, the oldest first."""

    def find(self, scope: UserScope, sealed: Mapping[str, bytes], now: datetime) -> Mapping[str, Unsealed]:
        """Return, by their keys, those of the sealed messages that are known."""
        self._expire(now)
        known = ((self._known.get((scope, key)), key, data) for key, data in sealed.items())
        return {key: one for one, key, data in known if one is not None and one.data == data}

    def remember(self, key: str, one: Unsealed) -> None:
        """Keep the message with this key, instead of an earlier version."""
        place = (one.turn.scope, key)
        self._drop(place)
        self._known[place] = one
        self._bytes += _weight(one.data)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._known)))

    def forget(self, scope: UserScope) -> None:
        """Drop what is known of a user."""
        for place in [place for place in self._known if place[0] == scope]:
            self._drop(place)

    def _expire(self, now: datetime) -> None:
        # A clock that is set back does not extend a lifetime.
        while self._known and not timedelta() <= now - next(iter(self._known.values())).since < self._lifetime:
            self._drop(next(iter(self._known)))

    def _drop(self, place: tuple[UserScope, str]) -> None:
        known = self._known.pop(place, None)
        if known is not None:
            self._bytes -= _weight(known.data)


def _weight(data: bytes) -> int:
    return _COPIES * len(data) + _ENTRY_BYTES
