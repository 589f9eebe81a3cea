"""What a retraction does besides changing documents: it closes sources, takes items out, and keeps them sealed.

A closed source teaches nothing more: its conversation accepts no turns and no replay of it is started. An item that was
taken out is kept in a sealed copy below the retraction, so that an undo can put its bytes back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain.catalog.retention_policy import Kind
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.json_types import members_of, present
from memnet.domain.core.scope import Json, UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance.source import Source, load_source
from memnet.domain.replay.replay import PatchStatus, Replay
from memnet.domain.replay.replay_plan import ReplayPlan

REGISTER = "sources"


class WithdrawnKind(StrEnum):
    """The kind of an item that rests on a source. They are taken out in this order."""

    REPLAY = "replay"
    CONFLICT = "conflict"
    SNAPSHOT = "snapshot"
    EVENT = "event"


class Fate(StrEnum):
    """What happens to an item."""

    CLOSE = "close"
    """It ends as `retracted` and loses its content."""
    REMOVE = "remove"
    STRIP = "strip"
    """It loses what rests on the source, and keeps the rest: the messages of a snapshot, the entries of an event, the
    patches of an unfinished replay."""


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item that rests on a source, and its fate; `name` is that of the item below its kind."""

    kind: WithdrawnKind
    name: str
    fate: Fate

    def members(self) -> dict[str, Any]:
        """Return the members by name."""
        return members_of(self)


def load_item(members: dict[str, Any]) -> PlannedItem:
    """Read what `PlannedItem.members` returned. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored plan cannot be read.")):
        return PlannedItem(WithdrawnKind(members["kind"]), members["name"], Fate(members["fate"]))


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A source that a retraction has closed."""

    retraction_id: str
    source: Source

    def members(self) -> dict[str, Any]:
        """Return the members by name."""
        return {"retraction_id": self.retraction_id, "source": self.source.members()}


@dataclass(frozen=True, slots=True)
class ClosedSources:
    """The sources of a user that are closed, by the retraction that closed them."""

    rows: Sequence[Withdrawal] = ()

    def __iter__(self) -> Iterator[Withdrawal]:
        return iter(self.rows)

    def find(self, replay: Replay) -> Withdrawal | None:
        """Return what closes a replay as a whole: all that it can teach rests on a closed source."""
        return next((one for one in self.rows if one.source.message_ids is None and one.source.is_of(replay)), None)

    def strip(self, replay: Replay, plan: ReplayPlan, now: datetime) -> tuple[Replay, ReplayPlan]:
        """Return an unfinished replay and its plan without what cites a closed source; the same ones if nothing does.

        Its patches that have no result are rejected, its conflicts are not created again, and its event is not written.
        What it has read besides is still learnt.
        """
        decided = {result.index for result in replay.patches}
        for patch in plan.patches:
            found = self.find_cited(patch.proposal.evidence)
            if found is None:
                continue
            if patch.conflict is not None:
                replay = replay.lose(found.retraction_id, now)
                plan = plan.change(patch.proposal.index, conflict=None)
            if patch.proposal.index not in decided:
                result = patch.result(PatchStatus.REJECTED, reason=ErrorCode.SOURCE_RETRACTED.value)
                replay = replay.lose(found.retraction_id, now).decide(result, now)
        found = None if plan.event is None else self.find_cited(_event_evidence(plan.event))
        if found is not None:
            replay, plan = replace(replay.lose(found.retraction_id, now), event_id=None), replace(plan, event=None)
        return replay, plan

    def find_cited(self, evidence: Json) -> Withdrawal | None:
        """Return the first closed source that evidence names."""
        return next((one for one in self.rows if one.source.cites(evidence)), None)

    def find_said(
        self, conversation_id: str, messages: Mapping[str, Sequence[str]], principal: str, at: str
    ) -> Withdrawal | None:
        """Return what refuses a submission to a conversation at this time.

        `messages` has the ids of its messages by the id of the snapshot or turn.
        """
        for one in self.rows:
            if one.source.acted(principal, at) or one.source.was_said(conversation_id, messages):
                return one
        return None

    def close(self, withdrawal: Withdrawal) -> "ClosedSources":
        """Add a source; that of the same retraction is replaced."""
        return replace(self.open(withdrawal.retraction_id), rows=(*self.open(withdrawal.retraction_id), withdrawal))

    def open(self, retraction_id: str) -> "ClosedSources":
        """Remove the source of a retraction."""
        return ClosedSources(tuple(one for one in self.rows if one.retraction_id != retraction_id))

    def dump(self) -> bytes:
        """Return the stored form. It holds ids and hashes, and no content."""
        return canonical({"sources": [one.members() for one in self.rows]})


def _event_evidence(event: Json) -> Json:
    return {**event["evidence"], "snapshot_uri": event["snapshot_uri"]}


def load_closed(data: bytes) -> ClosedSources:
    """Read what `ClosedSources.dump` wrote. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored sources cannot be read.")):
        rows = orjson.loads(data)["sources"]
        return ClosedSources(tuple(Withdrawal(row["retraction_id"], load_source(row["source"])) for row in rows))


@dataclass(frozen=True, slots=True)
class WithdrawnCopy:
    """The bytes of an item as they were, sealed in the place of the copy; `since` counts its days of retention."""

    key: ItemKey
    rule: Kind
    since: str
    profile_id: str | None
    sealed: Json

    def dump(self) -> bytes:
        """Return the stored form."""
        return canonical({**present(**members_of(self, "key", "sealed")), "sealed": self.sealed})


def load_copy(key: ItemKey, data: bytes) -> WithdrawnCopy:
    """Read what `WithdrawnCopy.dump` wrote. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored copy cannot be read.")):
        members = orjson.loads(data)
        rule = Kind(members["rule"])
        return WithdrawnCopy(key, rule, members["since"], members.get("profile_id"), members["sealed"])


def register_key(scope: UserScope) -> ItemKey:
    """Return the key of the register of a user's closed sources."""
    return ItemKey(scope, ItemKind.WITHDRAWN, REGISTER)


def copy_key(scope: UserScope, retraction_id: str, item: PlannedItem) -> ItemKey:
    """Return the key of the copy of an item. Raises InvalidIdentifier."""
    if retraction_id == REGISTER:
        raise InvalidIdentifier(param="retraction_id")
    return ItemKey(scope, ItemKind.WITHDRAWN, f"{retraction_id}/{item.kind}/{item.name}")
