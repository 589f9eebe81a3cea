"""Results of a recall, and views of the documents that they come from."""

from typing import Any

from memnet.domain.catalog.recall_rules import SectionRendering
from memnet.domain.context.outline import View, view_of
from memnet.domain.core.scope import ETag
from memnet.domain.history.statements import EntryState, Validity
from memnet.domain.recall.candidate import Candidate, CandidateKind, EntryPlace
from memnet.domain.recall.packing import Views
from memnet.domain.recall.ranking import Group, Scored

RENDERING = [
    SectionRendering(binding_id="own", section="/facts", heading="What is known", item="{text} {since}"),
    SectionRendering(binding_id="own", section="/plans", heading="Plans"),
]
VIEW: View = view_of(
    (),
    schema={"properties": {"plans": {}, "facts": {}, "wishes": {}, "profile": {"title": "The profile"}}},
    guidance=["/wishes"],
    pending="/waiting",
    rendering=[one.model_dump() for one in RENDERING],
)
VIEWS: Views = {("own", "p.json"): VIEW}


def scored(candidate: Candidate, score: float = 1.0) -> Scored:
    """A candidate with a score."""
    return Scored(candidate, score)


def turn(key: str, text: str, said_at: str | None, *, conversation_id: str = "c-1", speaker: str = "Lea") -> Scored:
    """A message."""
    kind, message_ids = CandidateKind.TURN, (key,)
    return scored(
        Candidate(
            key=key, kind=kind, text=text, said_at=said_at, speaker=speaker, conversation_id=conversation_id,
            message_ids=message_ids,
        )
    )  # fmt: skip


def event(key: str, text: str, said_at: str) -> Scored:
    """An event."""
    return scored(Candidate(key=key, kind=CandidateKind.EVENT, text=text, said_at=said_at, event_id=key))


def entry(
    key: str,
    value: Any,
    section: str = "/facts",
    *,
    state: EntryState = EntryState.OPEN,
    until: str | None = None,
    cites: str | None = None,
) -> Scored:
    """An entry of the document."""
    place = EntryPlace(
        binding_id="own", namespace="user", path="p.json", etag=ETag("e"), section=section,
        pointer=f"/content{section}/0", entry_id=key,
    )  # fmt: skip
    return scored(
        Candidate(
            key=key, kind=CandidateKind.ENTRY, text="unused", said_at=None, place=place, value=value, state=state,
            validity=Validity(valid_until=until), is_guidance=section == "/wishes", conversation_id=cites and "c-1",
            message_ids=() if cites is None else (cites,),
        )
    )  # fmt: skip


def group(name: str, *items: Scored, share: float = 1.0) -> Group:
    """A group with its name as heading."""
    return Group(name, name.title(), share, items)
