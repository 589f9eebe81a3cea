"""What this process remembers of changed marks, so that it does not create the same mark for every write."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from memnet.domain.core.scope import UserScope
from memnet.domain.upkeep.marks import ChangedMark

MAX_USERS = 20_000


@dataclass(frozen=True, slots=True)
class _Known:
    mark: ChangedMark | None
    """The newest mark; None if the user's fence was found since."""
    checked_at: datetime | None = None
    """When this process last created it while the user had no fence."""


class MarkMemory:
    """The newest mark of each of the last `size` users."""

    def __init__(self, size: int = MAX_USERS) -> None:
        self._size = size
        self._known: OrderedDict[UserScope, _Known] = OrderedDict()

    def has(self, mark: ChangedMark) -> bool:
        """Return whether an existing document may be changed without creating the mark again.

        An erasure deletes marks, but also the user's documents. Each document that exists later was created later, and
        its creation has created the mark again.
        """
        known = self._known.get(mark.scope)
        return known is not None and known.mark == mark

    def has_checked(self, mark: ChangedMark, now: datetime, trust: timedelta) -> bool:
        """Return whether something may be created for the user without creating the mark again.

        Only for `trust`, which is shorter than an erasure: none has begun and ended since.
        """
        known = self._known.get(mark.scope)
        if known is None or known.mark != mark or known.checked_at is None:
            return False
        # A clock that is set back does not extend it.
        return timedelta() <= now - known.checked_at < trust

    def is_refused(self, scope: UserScope) -> bool:
        """Return whether this process has found the user's fence, and no write has passed since."""
        known = self._known.get(scope)
        return known is not None and known.mark is None

    def created(self, mark: ChangedMark, checked_at: datetime | None = None) -> None:
        """Remember that the mark exists; `checked_at` if no fence of the user was found afterwards."""
        known = self._known.get(mark.scope)
        if checked_at is None and known is not None and known.mark == mark:
            checked_at = known.checked_at
        self._remember(mark.scope, _Known(mark, checked_at))

    def refused(self, scope: UserScope) -> None:
        """Remember that the user has a fence."""
        self._remember(scope, _Known(None))

    def _remember(self, scope: UserScope, known: _Known) -> None:
        self._known[scope] = known
        self._known.move_to_end(scope)
        if len(self._known) > self._size:
            self._known.popitem(last=False)
