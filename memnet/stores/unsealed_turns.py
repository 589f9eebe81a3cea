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
from memnet.domain.replay.searchable_turn import SearchableTurn

LIFETIME: Final = timedelta(seconds=60)
"""How long a message is kept, as long as a data key."""
MAX_BYTES: Final = 64 << 20
_ENTRY_BYTES: Final = 2_048
"""What an entry counts besides its texts: the objects around them."""
_COPIES: Final = 4
"""How often a message is kept: sealed, unsealed, and as its words with their counts."""


@dataclass(frozen=True, slots=True)
class _Known:
    data: bytes
    key_id: str
    turn: SearchableTurn
    since: datetime


class UnsealedTurns:
    """The messages that were unsealed last, up to `max_bytes`. One event loop uses it: no lock."""

    def __init__(self, max_bytes: int = MAX_BYTES, lifetime: timedelta = LIFETIME) -> None:
        self._max_bytes = max_bytes
        self._lifetime = lifetime
        self._bytes = 0
        self._known: OrderedDict[tuple[UserScope, str], _Known] = OrderedDict()
        """By user and key of the index, the oldest first."""

    def find(
        self, scope: UserScope, sealed: Mapping[str, bytes], now: datetime
    ) -> Mapping[str, tuple[str, SearchableTurn]]:
        """Return, by their keys, those of the sealed messages that are known, each with the id of its data key."""
        self._expire(now)
        known = ((key, self._known.get((scope, key)), data) for key, data in sealed.items())
        return {key: (one.key_id, one.turn) for key, one, data in known if one is not None and one.data == data}

    def remember(self, key: str, data: bytes, key_id: str, turn: SearchableTurn, now: datetime) -> None:
        """Keep the message that was sealed as `data`."""
        self._drop((turn.scope, key))
        self._known[turn.scope, key] = _Known(data, key_id, turn, now)
        self._bytes += _weight(data)
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
