"""A candidate of a recall: an entry of a document, an event, or one message of a turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memnet.domain.core.scope import ETag
from memnet.domain.core.terms import Terms
from memnet.domain.documents.claim import Claim
from memnet.domain.history.statements import NO_STATEMENT, EntryState, Validity

_UNREAD = Terms("")


class CandidateKind(StrEnum):
    """What a candidate is."""

    ENTRY = "entry"
    EVENT = "event"
    TURN = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPlace:
    """Where an entry is: its document in this version, and its pointer in it."""

    binding_id: str
    namespace: str
    path: str
    etag: ETag
    section: str
    """The pointer of the section, relative to `content`."""
    pointer: str
    """The pointer in the document, with its index."""
    entry_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that may answer a question. Times are RFC 3339 texts in UTC; None: unknown."""

    key: str
    """Unique among the candidates of a user; ties of a ranking are broken by it."""
    kind: CandidateKind
    text: str
    """What it says, without markers of injected memory, as stored."""
    said_at: str | None
    """When a turn was said or an event was; since when an entry holds, or else when it was verified last."""
    speaker: str | None = None
    """The name of who speaks, or else the role; None: an entry or an event."""
    role: str | None = None
    conversation_id: str | None = None
    """The session: neighbours are within it."""
    ordinal: int = 0
    """The place in the session, after `said_at`."""
    message_ids: Sequence[str] = ()
    snapshot_uri: str | None = None
    also: Sequence[Mapping[str, Any]] = ()
    """Further sources of an entry, each with a conversation_id, message_ids and perhaps a snapshot_uri."""
    place: EntryPlace | None = None
    event_id: str | None = None
    state: EntryState = EntryState.OPEN
    validity: Validity = NO_STATEMENT
    value: Any = None
    """The entry as stored."""
    subject: str | None = None
    """What a statement is about: the first of its about-members. Hops lead from a value to a subject."""
    attributes: Sequence[str] = ()
    """Which side of the subject a statement is about: its other about-members, such as "lives in"."""
    stated: str | None = None
    """The value of a statement."""
    claim: Claim | None = None
    """What its claimant says, where claimants can contradict each other."""
    entities: Sequence[str] = ()
    """Names that it mentions."""
    confidence: float | None = None
    importance: float | None = None
    """As set when it was learnt, 0..1."""
    uses: int = 0
    last_used_at: str | None = None
    is_guidance: bool = False
    is_outdated: bool = False
    """Whether it is a question about an entry that is not open any more."""
    vector: Sequence[float] | None = None
    """Its meaning; None: not known in this recall."""
    terms: Terms = field(default=_UNREAD, compare=False, repr=False)
    """The words by which it is ranked, which a copy keeps."""
    found_by_meaning: float | None = None
    """The similarity that the index returned for the vector of the question, if this one has no vector."""

    def __post_init__(self) -> None:
        """Take the words of `searched`, unless they are known."""
        if self.terms.text is not self.text and self.terms.text != self.searched:
            is_turn = self.kind is CandidateKind.TURN
            day, speaker = ((self.said_at or "")[:10], self.speaker or "") if is_turn else ("", "")
            object.__setattr__(self, "terms", Terms(self.searched, day=day, speaker=speaker))

    @property
    def searched(self) -> str:
        """The text by which it is found: what it says and, where that does not say it, what it is about."""
        if not self.attributes:
            return self.text
        unsaid = [name for name in self.attributes if name.casefold() not in self.text.casefold()]
        return " ".join([self.text, *unsaid])


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, by the user of one scope."""

    text: str
    now: datetime
    conversation_id: str | None = None
    vector: Sequence[float] | None = None
    """None: words alone rank."""
    embedder: str | None = None
    """The model of the vectors."""
    rewritten: Sequence[str] = ()
    """Other wordings, which a model returned for the stage `rewrite`."""
    rewritten_vectors: Sequence[Sequence[float]] = ()
    order: Sequence[str] = ()
    """Keys in the order that a model returned for the stage `rerank`."""
    recency_weight: float | None = None
    """Instead of the pipeline's."""
    speakers: Sequence[str] = ()
    """All names of speakers in the gathered turns."""
