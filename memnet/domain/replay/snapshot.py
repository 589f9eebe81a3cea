"""A snapshot: a conversation as it was, to be replayed. It is stored sealed and create-only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memnet.domain.catalog.profile import Profile
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import SEGMENT, UserScope, check_identifier
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events.event import Time, Word

MAX_MESSAGES = 2000
MAX_CONTENT = 100_000
"""Characters of one message."""


class Message(BaseModel):
    """One message of a conversation."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    message_id: Word
    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=MAX_CONTENT)]
    timestamp: Time


class Conversation(BaseModel):
    """What a client sends: the messages in their order, and the profile that they are replayed under."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    snapshot_id: Annotated[str, Field(pattern=f"^{SEGMENT.pattern}$")] | None = None
    profile_id: Annotated[str, Field(pattern=f"^{SEGMENT.pattern}$")]
    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]

    @model_validator(mode="after")
    def _one_message_an_id(self) -> "Conversation":
        if len({message.message_id for message in self.messages}) != len(self.messages):
            raise ValueError("message_id must be unique within the snapshot")
        return self


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A stored snapshot. Raises InvalidIdentifier."""

    scope: UserScope
    conversation_id: str
    snapshot_id: str
    profile_id: str
    profile_version: str
    profile_sha256: str
    """The text of the profile that the snapshot was taken under."""
    service_id: str
    """The principal that sent it."""
    messages: Sequence[Message]

    def __post_init__(self) -> None:
        check_identifier("conversation_id", self.conversation_id)
        check_identifier("snapshot_id", self.snapshot_id)

    @property
    def key(self) -> ItemKey:
        """Where it is stored."""
        return snapshot_key(self.scope, self.conversation_id, self.snapshot_id)

    @property
    def uri(self) -> str:
        """How evidence points to it: the blob's name in the service's container."""
        return f"blob://{self.key.blob_name}"

    @property
    def replay_id(self) -> str:
        """The id of its one replay."""
        return replay_id_of(self.key)

    def dump(self) -> bytes:
        """The canonical plaintext; equal snapshots, equal bytes."""
        return canonical(
            {
                "conversation_id": self.conversation_id,
                "snapshot_id": self.snapshot_id,
                "profile_id": self.profile_id,
                "profile_version": self.profile_version,
                "profile_sha256": self.profile_sha256,
                "service_id": self.service_id,
                "messages": [message.model_dump() for message in self.messages],
            }
        )


def snapshot_key(scope: UserScope, conversation_id: str, snapshot_id: str) -> ItemKey:
    """Where a snapshot is stored. Raises InvalidIdentifier."""
    check_identifier("conversation_id", conversation_id)
    check_identifier("snapshot_id", snapshot_id)
    return ItemKey(scope, ItemKind.SNAPSHOTS, f"{conversation_id}/{snapshot_id}")


def replay_id_of(key: ItemKey) -> str:
    """The id of the one replay of the snapshot that is stored there."""
    return f"rpl-{sha256_hex(key.blob_name.encode())[:32]}"


def take(
    conversation: Conversation, scope: UserScope, conversation_id: str, service_id: str, profile: Profile
) -> Snapshot:
    """Put a conversation below its user, under its profile. Without a snapshot_id the content names the snapshot."""
    content = [conversation.profile_id, service_id, [message.model_dump() for message in conversation.messages]]
    return Snapshot(
        scope=scope,
        conversation_id=conversation_id,
        snapshot_id=conversation.snapshot_id or f"snp-{sha256_hex(canonical(content))[:32]}",
        profile_id=profile.profile_id,
        profile_version=profile.version,
        profile_sha256=profile.sha256,
        service_id=service_id,
        messages=conversation.messages,
    )


def load(scope: UserScope, data: bytes) -> Snapshot:
    """Read the plaintext that `Snapshot.dump` wrote. Raises DecryptionFailed."""
    try:
        members = orjson.loads(data)
        messages = [Message.model_validate(message) for message in members.pop("messages")]
        return Snapshot(scope=scope, messages=messages, **members)
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise DecryptionFailed() from error
