"""A source that can be taken back, and what rests on it: by its evidence, or by the replay that read it."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from memnet.domain.core.errors import HistoryCorrupt, MalformedRequest
from memnet.domain.core.json_types import known_members
from memnet.domain.core.scope import Json, check_identifier
from memnet.domain.core.stored_form import Reading
from memnet.domain.documents.entry import ALSO
from memnet.domain.replay.replay import Replay

PROMPT_HASH: Final = "^[0-9a-f]{64}$"
IDENTIFIERS: Final = ("conversation_id", "snapshot_id", "replay_id", "event_id")


class SourceKind(StrEnum):
    """What a source is."""

    CONVERSATION = "conversation"
    """All of it, or the messages `message_ids`."""
    SNAPSHOT = "snapshot"
    """One snapshot or turn of a conversation."""
    REPLAY = "replay"
    """What one replay wrote; its conversation stays."""
    EVENT = "event"
    ACTOR = "actor"
    """What a principal submitted or wrote, from `since` until before `until`: times as `to_text` writes them."""
    MODEL = "model"
    """What replays wrote with a model, or with the prompt of a hash; their conversations stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source: its kind, and the members that name it; the others are None."""

    kind: SourceKind
    conversation_id: str | None = None
    message_ids: tuple[str, ...] | None = None
    snapshot_id: str | None = None
    replay_id: str | None = None
    event_id: str | None = None
    actor: str | None = None
    since: str | None = None
    until: str | None = None
    model: str | None = None
    prompt_sha256: str | None = None

    @property
    def takes_conversations(self) -> bool:
        """Return whether what was said goes, and not only what was learnt from it."""
        return self.kind in (SourceKind.CONVERSATION, SourceKind.SNAPSHOT, SourceKind.ACTOR)

    def members(self) -> dict[str, Any]:
        """Return the members that name it."""
        known = known_members(self)
        return known | ({} if self.message_ids is None else {"message_ids": list(self.message_ids)})

    def cites(self, evidence: Json) -> bool:
        """Return whether evidence, or one of the further sources in it, names this source."""
        return any(self._is_cited_by(part) for part in parts_of(evidence))

    def _is_cited_by(self, part: Mapping[str, Json]) -> bool:
        match self.kind:
            case SourceKind.CONVERSATION if self.message_ids is None:
                return part.get("conversation_id") == self.conversation_id or _in(part, self.conversation_id)
            case SourceKind.CONVERSATION:
                named = part.get("message_ids")
                is_here = part.get("conversation_id") == self.conversation_id or _in(part, self.conversation_id)
                return is_here and isinstance(named, list) and any(one in named for one in self.message_ids or ())
            case SourceKind.SNAPSHOT:
                return _in(part, self.conversation_id, self.snapshot_id)
            case SourceKind.REPLAY:
                return part.get("replay_id") == self.replay_id
            case SourceKind.EVENT:
                return part.get("event_id") == self.event_id
            case SourceKind.MODEL:
                return self.extracted(part.get("extraction"))
        return False

    def extracted(self, extraction: Json) -> bool:
        """Return whether this model or prompt made an extraction (`Provenance.members`)."""
        if self.kind is not SourceKind.MODEL or not isinstance(extraction, dict):
            return False
        is_model = self.model is None or extraction.get("model") == self.model
        return is_model and (self.prompt_sha256 is None or extraction.get("prompt_sha256") == self.prompt_sha256)

    def acted(self, principal: str, at: str) -> bool:
        """Return whether this is an actor who did something at that time."""
        is_actor = self.kind is SourceKind.ACTOR and self.actor == principal
        return is_actor and (self.since or "") <= at and (self.until is None or at < self.until)

    def was_said(self, conversation_id: str, messages: Mapping[str, Collection[str]]) -> bool:
        """Return whether this is the conversation, one of these snapshots of it, or one of their messages."""
        if self.conversation_id != conversation_id:
            return False
        if self.kind is SourceKind.SNAPSHOT:
            return self.snapshot_id in messages
        return self.message_ids is None or any(one in ids for ids in messages.values() for one in self.message_ids)

    def is_of(self, replay: Replay, message_ids: Collection[str] = ()) -> bool:
        """Return whether a replay, with these messages in its snapshot, rests on this source."""
        match self.kind:
            case SourceKind.CONVERSATION:
                wanted = self.message_ids is None or any(one in message_ids for one in self.message_ids)
                return replay.conversation_id == self.conversation_id and wanted
            case SourceKind.SNAPSHOT:
                return (replay.conversation_id, replay.snapshot_id) == (self.conversation_id, self.snapshot_id)
            case SourceKind.REPLAY:
                return replay.replay_id == self.replay_id
            case SourceKind.ACTOR:
                return self.acted(replay.service_id, replay.created_at)
            case SourceKind.MODEL:
                return self.extracted(replay.extraction)
        return False


def check_source(source: Source) -> None:
    """Refuse members that nothing can have: the plan of such a source would say that nothing rests on it.

    Raises MalformedRequest, InvalidIdentifier.
    """
    for name in IDENTIFIERS:
        if (value := getattr(source, name)) is not None:
            check_identifier(name, value)
    if source.prompt_sha256 is not None and not re.fullmatch(PROMPT_HASH, source.prompt_sha256):
        message = "prompt_sha256 must be a SHA-256 of 64 digits 0-9 and a-f."
        raise MalformedRequest(message, param="/source/prompt_sha256")
    if source.since is not None and source.until is not None and source.since >= source.until:
        raise MalformedRequest("since must be before until.", param="/source/until")


def parts_of(evidence: Json) -> Iterator[Mapping[str, Json]]:
    """Yield the evidence, and each further source in it."""
    if isinstance(evidence, dict):
        yield evidence
        also = evidence.get(ALSO)
        for part in also if isinstance(also, list) else ():
            yield from parts_of(part)


def _in(part: Mapping[str, Json], conversation_id: str | None, snapshot_id: str | None = None) -> bool:
    """Return whether the snapshot that the evidence names is of the conversation, or is this snapshot of it."""
    match str(part.get("snapshot_uri") or "").removesuffix(".json").split("/"):
        case [*_, "snapshots", conversation, snapshot]:
            return conversation == conversation_id and snapshot_id in (None, snapshot)
    return False


def load_source(members: Mapping[str, Any]) -> Source:
    """Read what `Source.members` returned. Raises HistoryCorrupt."""
    with Reading(HistoryCorrupt("The stored source cannot be read.")):
        ids = members.get("message_ids")
        given = {**members, "kind": SourceKind(members["kind"]), "message_ids": None if ids is None else tuple(ids)}
        return Source(**given)
