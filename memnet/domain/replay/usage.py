"""What a user's turns have used: one small record a user, which gates L3 and L4 read.

It counts a replay once, by its id, however often its job runs. The recent texts are hashes, and are sealed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, Final

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.timestamps import to_text
from memnet.domain.core.user_item import ItemKey, ItemKind

NAME: Final = "turns"
MAX_RECENT: Final = 200
"""The user's newest texts that gate L3 compares with, and the groups of statements that a model was asked last."""
KEPT_DAYS: Final = 2
"""The days whose replays the record names: today's, and those before it, of which a replay may still be counted."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The replays that asked a model on one day (UTC), and the tokens of their calls."""

    replays: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Recent:
    """Hashes, newest last: of what the user said, and of the statements that a model was asked to join."""

    texts: Sequence[str] = ()
    joined: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of one user. Its methods return the record after a change."""

    scope: UserScope
    updated_at: str
    days: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By day (UTC, ISO 8601), the model tokens of each replay that asked a model, by its id."""
    sealed: Json = None
    """The `Recent` hashes, sealed under this record's key; None if there are none."""

    @property
    def key(self) -> ItemKey:
        """The key of the record."""
        return usage_key(self.scope)

    def spent(self, day: str, *, without: str = "") -> Spent:
        """Return the sum of a day, without one replay."""
        counted = [tokens for replay_id, tokens in self.days.get(day, {}).items() if replay_id != without]
        return Spent(len(counted), sum(counted))

    def count(self, day: str, replay_id: str, tokens: int) -> "Usage":
        """Count a replay on the day on which it was planned; one that is counted on any day stays unchanged."""
        if any(replay_id in counted for counted in self.days.values()):
            return self
        days = {**self.days, day: {**self.days.get(day, {}), replay_id: tokens}}
        oldest = (date.fromisoformat(max(days)) - timedelta(days=KEPT_DAYS - 1)).isoformat()
        return replace(self, days={name: counted for name, counted in days.items() if name >= oldest})

    def members(self) -> dict[str, Any]:
        """Return the members of an export, without the sealed ones."""
        owner = {"tenant_id": self.scope.tenant_id, "user_id": self.scope.user_id}
        return {**owner, "updated_at": self.updated_at, "days": {day: dict(one) for day, one in self.days.items()}}


def usage_key(scope: UserScope) -> ItemKey:
    """Return the key of a user's usage record. Raises InvalidIdentifier."""
    return ItemKey(scope, ItemKind.USAGE, NAME)


def new_usage(scope: UserScope, now: datetime) -> Usage:
    """Return the record of a user who has used nothing."""
    return Usage(scope, to_text(now))


def remember(recent: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the newest hashes, newest last."""
    return [*(one for one in recent if one not in set(texts)), *texts][-MAX_RECENT:]


def dump_recent(recent: Recent) -> bytes:
    """Return the plaintext to be sealed."""
    return canonical({"recent": list(recent.texts), "joined": list(recent.joined)})


def load_recent(data: bytes) -> Recent:
    """Read what `dump_recent` wrote. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored usage cannot be read.")):
        members = orjson.loads(data)
        return Recent([str(one) for one in members["recent"]], [str(one) for one in members["joined"]])


def dump(usage: Usage) -> bytes:
    """Return the stored form."""
    return canonical({**usage.members(), "sealed": usage.sealed})


def load(data: bytes) -> Usage:
    """Read the stored form. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored usage cannot be read.")):
        members = orjson.loads(data)
        scope = UserScope(members["tenant_id"], members["user_id"])
        days = {
            date.fromisoformat(day).isoformat(): {str(one): int(tokens) for one, tokens in counted.items()}
            for day, counted in members["days"].items()
        }
        return Usage(scope, members["updated_at"], days, members["sealed"])
