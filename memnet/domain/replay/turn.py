"""A turn: some messages of a conversation, submitted when they are said. It is stored as a snapshot of its own."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memnet.domain.catalog.profile import Profile
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.claimant import Claimant
from memnet.domain.core.scope import SEGMENT, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.events.event import Time, Word
from memnet.domain.replay.snapshot import MAX_MESSAGES, Content, Message, Metadata, Role, Snapshot

MAX_TURNS = 100
MAX_TURN_ID = 120
"""Shorter than a segment, because message ids are derived from it."""


class TurnMessage(BaseModel):
    """One message of a turn. `message_id` defaults to the turn's id with its number, `timestamp` to the turn's."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    message_id: Word | None = None
    role: Role
    name: Word | None = None
    content: Content
    timestamp: Time | None = None


class Turn(BaseModel):
    """What was said at one time. Without a `turn_id` the id is derived from the content and the `timestamp`.

    `claimant`: whose statements these are, in a workspace; what is stored is a code (`core.claimant`).
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    turn_id: Annotated[str, Field(max_length=MAX_TURN_ID, pattern=f"^{SEGMENT.pattern}$")] | None = None
    timestamp: Time | None = None
    topic: Word | None = None
    metadata: Metadata = {}
    claimant: Claimant | None = None
    messages: Annotated[list[TurnMessage], Field(min_length=1, max_length=MAX_MESSAGES)]

    @model_validator(mode="after")
    def _has_an_identity(self) -> "Turn":
        """Without either, the same words said twice would be one turn."""
        if self.turn_id is None and self.timestamp is None:
            raise ValueError("a turn requires turn_id or timestamp")
        ids = [message_id_of(self.turn_id or "", number, message) for number, message in enumerate(self.messages, 1)]
        if len(set(ids)) != len(ids):
            raise ValueError("message_id must be unique within the turn")
        return self


class Turns(BaseModel):
    """The body of a request: turns of one conversation in order, and the profile of their replays."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    profile_id: Annotated[str, Field(pattern=f"^{SEGMENT.pattern}$")]
    turns: Annotated[list[Turn], Field(min_length=1, max_length=MAX_TURNS)]

    @model_validator(mode="after")
    def _bounded(self) -> "Turns":
        named = [turn.turn_id for turn in self.turns if turn.turn_id is not None]
        if len(set(named)) != len(named):
            raise ValueError("turn_id must be unique within the request")
        if sum(len(turn.messages) for turn in self.turns) > MAX_MESSAGES:
            raise ValueError(f"a request has at most {MAX_MESSAGES} messages")
        return self


def message_id_of(turn_id: str, number: int, message: TurnMessage) -> str:
    """Return the id of a turn's message; `number` counts from 1."""
    return message.message_id or f"{turn_id}-{number}"


def take_turn(
    turn: Turn,
    scope: UserScope,
    conversation_id: str,
    service_id: str,
    profile: Profile,
    *,
    now: datetime,
    claimed_by: str | None = None,
) -> Snapshot:
    """Return the snapshot of a turn, with the code of its claimant. Messages without any timestamp were said `now`.

    Raises InvalidIdentifier.
    """
    turn_id = turn.turn_id or _derived_id(turn, service_id, profile, claimed_by)
    return Snapshot(
        scope=scope,
        conversation_id=conversation_id,
        snapshot_id=turn_id,
        profile_id=profile.profile_id,
        profile_version=profile.version,
        profile_sha256=profile.sha256,
        service_id=service_id,
        messages=_messages(turn, turn_id, to_text(now)),
        is_turn=True,
        topic=turn.topic,
        metadata=turn.metadata,
        claimed_by=claimed_by,
    )


def taken_again(turn: Turn, again: Snapshot, first: Snapshot) -> Snapshot:
    """Return the snapshot `again` of a turn with what may differ from its first submission.

    This is the release of the profile, and the time of messages for which the request names none.
    """
    messages = again.messages
    if turn.timestamp is None and len(first.messages) == len(messages):
        messages = [
            message if given.timestamp else message.model_copy(update={"timestamp": stored.timestamp})
            for given, message, stored in zip(turn.messages, messages, first.messages, strict=True)
        ]
    return replace(again, messages=messages, profile_version=first.profile_version, profile_sha256=first.profile_sha256)


def _derived_id(turn: Turn, service_id: str, profile: Profile, claimed_by: str | None) -> str:
    # By the code, not by the id of the claimant: an id that is derived from the words must not reveal who said them.
    said = turn.model_dump(exclude={"claimant"})
    content = [profile.profile_id, service_id, said if claimed_by is None else {**said, "claimed_by": claimed_by}]
    return f"trn-{sha256_hex(canonical(content))[:32]}"


def _messages(turn: Turn, turn_id: str, now: str) -> Sequence[Message]:
    return [
        Message(
            message_id=message_id_of(turn_id, number, message),
            role=message.role,
            name=message.name,
            content=message.content,
            timestamp=message.timestamp or turn.timestamp or now,
        )
        for number, message in enumerate(turn.messages, 1)
    ]
