"""Which documents go into an agent's context: what is asked, what fits, what was left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from operator import itemgetter
from typing import Any

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.context.visible_content import visible_content
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Actor, DocumentKey, ETag, Json, UserScope
from memnet.domain.events.event_search import FoundEvent


class Dropped(StrEnum):
    """Why a binding of the profile, or an event that was found, is not in the answer."""

    NOT_FOUND = "document_not_found"
    UNREADABLE = "document_unreadable"
    NOT_ROUTED = "not_routed"
    MAX_DOCS = "max_docs"
    MAX_CHARS = "max_chars_total"
    MAX_EVENT_CHARS = "max_chars"


CITED = (
    "event_id",
    "timestamp",
    "service_id",
    "source_type",
    "digest",
    "keywords",
    "entities",
    "project_ids",
    "snapshot_uri",
    "evidence",
    "untrusted_quotation",
    "score",
)
"""What of an event is in a context: enough to quote it and to go to its source. Whose it is, the route says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeEvents:
    """The wish for events that have to do with the conversation."""

    top_k: int
    max_chars: int | None = None
    """Characters that all of them together may have, as `cite` writes them."""
    within: str | None = None
    """The variable whose routed id the events are confined to, as one of their `project_ids`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleContext:
    """What an orchestrator asks at the start of a conversation."""

    scope: UserScope
    actor: Actor
    profile_id: str
    text: str = ""
    """What the conversation seems to be about."""
    explicit_ids: Mapping[str, str]
    """Ids the orchestrator already knows, by the name of the template's variable."""
    max_docs: int | None = None
    max_chars_total: int | None = None
    """Of the documents' content and the events together."""
    include_events: IncludeEvents | None = None


@dataclass(frozen=True, slots=True)
class ContextEvents:
    """The events in the answer, each the canonical JSON of a citation, best first; or why there are none."""

    cited: Sequence[bytes] = ()
    dropped: Sequence[Mapping[str, Any]] = ()
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A document in the answer; `document` is the canonical JSON of what clients see.

    `guidance` holds the sections that the profile classifies as guidance: they are not in `document`. `left_out` names
    the expired entries by their places in the stored document: with any, indexes in `document` are not the stored ones.
    """

    binding_id: str
    namespace: str
    path: str
    etag: ETag
    document: bytes
    guidance: Sequence[Mapping[str, Any]] = ()
    left_out: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The answer: documents by priority, and an account of everything that is not among them."""

    selected: Mapping[str, str]
    """The id that fills each routed template, by the name of its variable."""
    documents: Sequence[ContextDocument]
    dropped_bindings: Sequence[Mapping[str, Any]]
    routing_debug: Mapping[str, Any]
    events: ContextEvents | None = None
    """None: they were not asked for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A binding that resolved to a document, and what the store had for it."""

    binding: Binding
    key: DocumentKey
    found: ContextDocument | None
    content: Json = None
    is_readable: bool = True
    """False: the stored bytes are not those of a document."""

    @property
    def size(self) -> int:
        """Characters of the canonical JSON of the content, and of the entries of its guidance."""
        if self.found is None:
            return 0
        parts = [self.content, *(section["entries"] for section in self.found.guidance)]
        return sum(len(canonical(part).decode()) for part in parts)


def routed_variable(profile: Profile) -> str | None:
    """The template variable that routing fills: that of the profile's first template."""
    return next((v for b in profile.document_bindings if (v := b.variable()) is not None), None)


def by_priority(profile: Profile) -> list[Binding]:
    """The bindings, most important first: lowest read_priority, then the profile's own order."""
    return sorted(profile.document_bindings, key=lambda binding: binding.read_priority)


def as_shown(candidate: Candidate, profile: Profile, now: datetime) -> Candidate:
    """The candidate as an agent is shown it: without expired entries, and with guidance apart."""
    if candidate.found is None:
        return candidate
    shown = visible_content(candidate.content, profile, candidate.binding.binding_id, now)
    if shown.facts == candidate.content:
        return candidate
    found = replace(
        candidate.found,
        document=canonical({**orjson.loads(candidate.found.document), ROOT: shown.facts}),
        guidance=shown.guidance,
        left_out=shown.left_out,
    )
    return replace(candidate, found=found, content=shown.facts)


def pack(
    candidates: Sequence[Candidate], *, max_docs: int | None, max_chars_total: int | None
) -> tuple[list[ContextDocument], list[dict[str, Any]]]:
    """Keep what fits, dropping the lowest priority first; `candidates` come most important first.

    Returns the documents, and one row for each that is not among them.
    """
    kept = [candidate for candidate in candidates if candidate.found]
    dropped = [_row(candidate, _why_absent(candidate)) for candidate in candidates if not candidate.found]
    if max_docs is not None:
        dropped += [_row(candidate, Dropped.MAX_DOCS) for candidate in kept[max_docs:]]
        kept = kept[:max_docs]
    if max_chars_total is not None:
        total = sum(candidate.size for candidate in kept)
        while total > max_chars_total:
            total -= kept[-1].size
            dropped.append(_row(kept.pop(), Dropped.MAX_CHARS))
    return [candidate.found for candidate in kept if candidate.found], dropped


def cite(found: FoundEvent) -> bytes:
    """What the answer says of an event: the canonical JSON of what is CITED."""
    members = found.members()
    return canonical({name: members[name] for name in CITED if name in members})


def pack_events(
    found: Sequence[FoundEvent], wish: IncludeEvents, *, documents: Sequence[Candidate], max_chars_total: int | None
) -> ContextEvents:
    """Keep what fits beside the `documents` that are in the answer; an event is in it whole or not at all.

    `found` comes best first. One that is too long is passed over, and a shorter one after it may still fit.
    """
    limits = []
    if max_chars_total is not None:
        left = max_chars_total - sum(candidate.size for candidate in documents)
        limits.append((left, Dropped.MAX_CHARS))
    if wish.max_chars is not None:
        limits.append((wish.max_chars, Dropped.MAX_EVENT_CHARS))
    limit, reason = min(limits, default=(None, Dropped.MAX_CHARS), key=itemgetter(0))
    cited: list[bytes] = []
    dropped: list[dict[str, Any]] = []
    used = 0
    for event in found[: wish.top_k]:
        text = cite(event)
        size = len(text.decode())
        if limit is not None and used + size > limit:
            dropped.append({"event_id": orjson.loads(event.data)["event_id"], "reason": reason.value, "size": size})
        else:
            cited.append(text)
            used += size
    return ContextEvents(cited, dropped)


def not_routed(binding: Binding) -> dict[str, Any]:
    """The row of a template binding for which no id was found."""
    return {"binding_id": binding.binding_id, "namespace": binding.namespace, "reason": Dropped.NOT_ROUTED.value}


def is_unreadable(row: Mapping[str, Any]) -> bool:
    """Whether a row of `dropped_bindings` names a document that is stored and cannot be read."""
    return bool(row["reason"] == Dropped.UNREADABLE.value)


def _why_absent(candidate: Candidate) -> Dropped:
    return Dropped.NOT_FOUND if candidate.is_readable else Dropped.UNREADABLE


def _row(candidate: Candidate, reason: Dropped) -> dict[str, Any]:
    row = {
        "binding_id": candidate.binding.binding_id,
        "namespace": candidate.key.namespace,
        "path": candidate.key.path,
        "reason": reason.value,
    }
    return {**row, "size": candidate.size} if candidate.found else row
