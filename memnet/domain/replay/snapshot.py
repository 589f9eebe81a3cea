"""A snapshot: a stored conversation or one turn of it, sealed and create-only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from memnet.domain.catalog.profile import Profile
from memnet.domain.core.access_record import AccessRecord, access_record
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.claimant import CODE_PATTERN
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.json_types import members_of
from memnet.domain.core.scope import SEGMENT, Actor, UserScope, check_identifier
from memnet.domain.core.stored_form import Reading
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events.event import Time, Word

MAX_MESSAGES = 2000
MAX_CONTENT = 100_000
CONVERSATION_PART = len("rpl-") + 16

Role = Literal["user", "assistant", "system", "tool"]
Content = Annotated[str, Field(max_length=MAX_CONTENT)]
Metadata = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")],
        Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")],
    ],
    Field(max_length=16),
]
"""What an application notes about a turn, such as its channel."""
_METADATA: TypeAdapter[dict[str, str]] = TypeAdapter(Metadata)
_TOPIC: TypeAdapter[str | None] = TypeAdapter(Word | None)
_CODE: TypeAdapter[str | None] = TypeAdapter(Annotated[str, Field(pattern=CODE_PATTERN)] | None)


class Message(BaseModel):
    """One message of a conversation. `name` is who speaks; without it, the role says it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    message_id: Word
    role: Role
    name: Word | None = None
    content: Content
    timestamp: Time

    def members(self) -> dict[str, Any]:
        """Return the known members by name."""
        return self.model_dump(exclude_none=True)


class Conversation(BaseModel):
    """The body of a request: the messages in order, and the profile of the replay."""

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
    """A stored snapshot of a conversation or, with `is_turn`, of one turn. Raises InvalidIdentifier."""

    scope: UserScope
    conversation_id: str
    snapshot_id: str
    profile_id: str
    profile_version: str
    profile_sha256: str
    """The hash of the profile's text at that time."""
    service_id: str
    messages: Sequence[Message]
    is_turn: bool = False
    topic: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    claimed_by: str | None = None
    """The code of the claimant of a turn (`core.claimant`); the claimant's id is not stored."""

    def __post_init__(self) -> None:
        check_identifier("conversation_id", self.conversation_id)
        check_identifier("snapshot_id", self.snapshot_id)

    @property
    def key(self) -> ItemKey:
        """The key of its blob."""
        return snapshot_key(self.scope, self.conversation_id, self.snapshot_id)

    @property
    def uri(self) -> str:
        """Its URI in evidence: the blob's name in the container."""
        return uri_of(self.key)

    @property
    def replay_id(self) -> str:
        """The id of its replay."""
        return replay_id_of(self.key)

    def dump(self) -> bytes:
        """Return the canonical plaintext; equal snapshots have equal bytes."""
        messages = [message.members() for message in self.messages]
        return canonical({**members_of(self, "scope"), "messages": messages})


def snapshot_key(scope: UserScope, conversation_id: str, snapshot_id: str) -> ItemKey:
    """Return the key of a snapshot's blob. Raises InvalidIdentifier."""
    check_identifier("conversation_id", conversation_id)
    check_identifier("snapshot_id", snapshot_id)
    return ItemKey(scope, ItemKind.SNAPSHOTS, f"{conversation_id}/{snapshot_id}")


def uri_of(key: ItemKey) -> str:
    """Return the URI of the snapshot with this key."""
    return f"blob://{key.blob_name}"


def replay_id_of(key: ItemKey) -> str:
    """Return the id of the replay of the snapshot with this key; those of one conversation begin alike."""
    conversation = key.blob_name.rpartition("/")[0]
    return f"rpl-{sha256_hex(conversation.encode())[:16]}{sha256_hex(key.blob_name.encode())[:32]}"


def conversation_part(replay_id: str) -> str:
    """Return the beginning that the ids of all replays of the same conversation have."""
    return replay_id[:CONVERSATION_PART]


def take(
    conversation: Conversation, scope: UserScope, conversation_id: str, service_id: str, profile: Profile
) -> Snapshot:
    """Return the snapshot of a conversation. Without a snapshot_id the id is derived from the content."""
    content = [conversation.profile_id, service_id, [message.members() for message in conversation.messages]]
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
    with Reading(DecryptionFailed()):
        members = orjson.loads(data)
        messages = [Message.model_validate(message) for message in members.pop("messages")]
        members["topic"] = _TOPIC.validate_python(members["topic"], strict=True)
        members["claimed_by"] = _CODE.validate_python(members["claimed_by"], strict=True)
        members["metadata"] = _METADATA.validate_python(members["metadata"], strict=True)
        return Snapshot(scope=scope, messages=messages, **members)


def access_of(snapshot: Snapshot, actor: Actor, now: datetime, unique: str) -> AccessRecord:
    """Return the record of a read; `unique` distinguishes reads of the same moment."""
    return access_record(
        snapshot.scope,
        "read_snapshot",
        actor,
        now,
        unique,
        conversation_id=snapshot.conversation_id,
        snapshot_id=snapshot.snapshot_id,
        snapshot_uri=snapshot.uri,
    )
