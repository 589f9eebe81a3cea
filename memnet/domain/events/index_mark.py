"""The mark of what the index may not show as it is: when it confirmed it, or that it was deleted."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memnet.domain.core.scope import StorageETag

SETTLES_AFTER = timedelta(seconds=30)
"""How long a search reads from the storage what the index has confirmed: the index shows it some seconds later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexMark:
    """A listed mark."""

    name: str
    """Of its blob."""
    since: datetime
    """When it was last written."""
    tag: StorageETag
    confirmed_at: datetime | None = None
    """When the index confirmed what is marked; None: it waits."""
    deleted_at: datetime | None = None
    """When what was marked was deleted: until the mark goes, searches leave out what the index still shows of it."""

    def is_settled(self, now: datetime) -> bool:
        """Return whether the index shows what is marked by now, so that the mark can go."""
        return self.confirmed_at is not None and self.confirmed_at + SETTLES_AFTER <= now
