"""The DataKeyCache port in memory: data keys that this process has unwrapped recently."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from memnet.domain.core.scope import UserScope
from memnet.domain.sealing.sealing import DataKey
from memnet.ports import Clock

LIFETIME = timedelta(seconds=60)
"""How long a key is used without checking that it is still stored.

An erasure destroys a user's keys; once it has finished, the user may start again with others. Data that is then sealed
with a destroyed key could never be unsealed: so an erasure's fence must exist for longer than this after the keys are
deleted. It exists for 16 minutes and deletes the keys first; with a shorter setting, keys are cached for less.
"""


@dataclass(frozen=True, slots=True)
class _Known:
    key: DataKey
    since: datetime


class ProcessDataKeyCache:
    """The DataKeyCache port: least recently used keys, bounded by number. One event loop uses it: no lock."""

    def __init__(self, clock: Clock, *, lifetime: timedelta = LIFETIME, max_keys: int = 10_000) -> None:
        self._clock = clock
        self._lifetime = lifetime
        self._max_keys = max_keys
        self._known: OrderedDict[tuple[UserScope, str | None], _Known] = OrderedDict()
        """By user and key id; the current key of a user is also stored under None."""

    def current(self, scope: UserScope) -> DataKey | None:
        return self._find((scope, None))

    def find(self, scope: UserScope, key_id: str) -> DataKey | None:
        return self._find((scope, key_id))

    def remember(self, scope: UserScope, key: DataKey, *, is_current: bool) -> None:
        for name in (key.key_id, None) if is_current else (key.key_id,):
            self._known[scope, name] = _Known(key, self._clock.now())
            self._known.move_to_end((scope, name))
        while len(self._known) > self._max_keys:
            self._known.popitem(last=False)

    def forget(self, scope: UserScope) -> None:
        for name in [name for name in self._known if name[0] == scope]:
            del self._known[name]

    def _find(self, name: tuple[UserScope, str | None]) -> DataKey | None:
        known = self._known.get(name)
        if known is None:
            return None
        # A clock that is set back does not extend a lifetime.
        if not timedelta() <= self._clock.now() - known.since < self._lifetime:
            del self._known[name]
            return None
        self._known.move_to_end(name)
        return known.key
