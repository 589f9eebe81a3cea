"""The messages of a replay: those of its snapshot or, of a turn, of all turns that it takes, and earlier ones.

A model cites a message by one id. Different turns may use the same id, so a later message with a used id is quoted as
"<turn_id>/<message_id>", and the evidence of a patch names the turn and the stored id of each cited message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES, EvidenceMembers
from memnet.domain.documents.entry import ALSO
from memnet.domain.replay.snapshot import Message, Snapshot

MAX_ALSO_BYTES = MAX_EVIDENCE_BYTES // 2
"""The room for further sources in the evidence of one patch; the rest is for message ids and the provenance."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The stored message that a quoted id stands for."""

    message_id: str
    snapshot_uri: str
    topic: str | None = None
    claimed_by: str | None = None
    """The code of the claimant of its turn."""


@dataclass(frozen=True, slots=True)
class Material:
    """The messages of a replay in order, with their origins."""

    snapshot: Snapshot
    """The replay's own, but with all messages, each under the id by which it is cited."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """By quoted id; a message without one is stored in the snapshot under the same id."""
    earlier: frozenset[str] = frozenset()
    """The quoted ids of earlier messages: they may be cited, but no proposal follows from them alone."""

    def origin(self, quoted_id: str) -> Origin:
        """Return the stored message of a quoted id."""
        return self.origins.get(quoted_id) or Origin(
            quoted_id, self.snapshot.uri, self.snapshot.topic, self.snapshot.claimed_by
        )

    @property
    def turns(self) -> int:
        """How many turns were taken; 1 for a whole conversation."""
        uris = {origin.snapshot_uri for one, origin in self.origins.items() if one not in self.earlier}
        return max(1, len(uris))

    def taken(self, messages: Sequence[Message]) -> list[Message]:
        """Return those of the messages that are not earlier."""
        return [message for message in messages if message.message_id not in self.earlier]

    def evidence(self, quoted_ids: Sequence[str]) -> EvidenceMembers:
        """Return the pointers to cited messages: those of the newest taken turn, the others as `also`.

        Each part names the messages of one snapshot by their stored ids.
        """
        parts: dict[str, list[str]] = {}
        newest = self.snapshot.uri
        for quoted_id in quoted_ids:
            origin = self.origin(quoted_id)
            parts.setdefault(origin.snapshot_uri, []).append(origin.message_id)
            if quoted_id not in self.earlier:
                newest = origin.snapshot_uri
        own = self._part(newest, parts.pop(newest, []))
        also: list[EvidenceMembers] = []
        for uri, ids in reversed(parts.items()):
            if len(canonical([*also, self._part(uri, ids)])) <= MAX_ALSO_BYTES:
                also.append(self._part(uri, ids))
        return {**own, ALSO: also} if also else own

    def _part(self, uri: str, message_ids: list[str]) -> EvidenceMembers:
        return {"conversation_id": self.snapshot.conversation_id, "message_ids": message_ids, "snapshot_uri": uri}


def combine(own: Snapshot, others: Iterable[Snapshot], earlier: Iterable[Snapshot] = (), limit: int = 0) -> Material:
    """Return the messages of a turn and of the `others` that its replay takes, by time, after `limit` earlier ones.

    A message that two snapshots have is quoted once.
    """
    turns = sorted([own, *others], key=_when)
    first = _when(turns[0])
    quoted: dict[str, Message] = {}
    origins: dict[str, Origin] = {}

    def quote(message: Message, snapshot: Snapshot) -> str | None:
        quoted_id = message.message_id
        if quoted.get(quoted_id) == message:
            return None
        while quoted_id in quoted:
            quoted_id = f"{snapshot.snapshot_id}/{quoted_id}"
        quoted[quoted_id] = message.model_copy(update={"message_id": quoted_id})
        origins[quoted_id] = Origin(message.message_id, snapshot.uri, snapshot.topic, snapshot.claimed_by)
        return quoted_id

    taken = {_identity(message) for turn in turns for message in turn.messages}
    before = {
        _identity(message): (message, snapshot)
        for snapshot in sorted(earlier, key=_when)
        for message in snapshot.messages
        if (message.timestamp, snapshot.snapshot_id) < first and _identity(message) not in taken
    }
    kept = sorted(before.values(), key=lambda pair: pair[0].timestamp)[-limit:] if limit else []
    said_before = frozenset(filter(None, (quote(message, snapshot) for message, snapshot in kept)))
    for turn in turns:
        for message in turn.messages:
            quote(message, turn)
    return Material(replace(own, messages=list(quoted.values())), origins, said_before)


def _when(turn: Snapshot) -> tuple[str, str]:
    return min(message.timestamp for message in turn.messages), turn.snapshot_id


def _identity(message: Message) -> tuple[str, str, str]:
    return message.message_id, message.role, message.content
