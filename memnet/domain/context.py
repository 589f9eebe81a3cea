"""Which documents go into an agent's context: what is asked, what fits, what was left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from memnet.domain.document import Actor, DocumentKey, ETag, Json, UserScope
from memnet.domain.json_text import canonical
from memnet.domain.profile import Binding, Profile


class Dropped(StrEnum):
    """Why a binding of the profile is not in the answer."""

    NOT_FOUND = "document_not_found"
    NOT_ROUTED = "not_routed"
    MAX_DOCS = "max_docs"
    MAX_CHARS = "max_chars_total"


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


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A document in the answer; `document` is the canonical JSON of what clients see."""

    binding_id: str
    namespace: str
    path: str
    etag: ETag
    document: bytes


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The answer: documents by priority, and an account of everything that is not among them."""

    selected: Mapping[str, str]
    """The id that fills each routed template, by the name of its variable."""
    documents: Sequence[ContextDocument]
    dropped_bindings: Sequence[Mapping[str, Any]]
    routing_debug: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A binding that resolved to a document, and what the store had for it."""

    binding: Binding
    key: DocumentKey
    found: ContextDocument | None
    content: Json = None

    @property
    def size(self) -> int:
        """Characters of the canonical JSON of the content."""
        return len(canonical(self.content).decode()) if self.found else 0


def routed_variable(profile: Profile) -> str | None:
    """The template variable that routing fills: that of the profile's first template."""
    return next((v for b in profile.document_bindings if (v := b.variable()) is not None), None)


def by_priority(profile: Profile) -> list[Binding]:
    """The bindings, most important first: lowest read_priority, then the profile's own order."""
    return sorted(profile.document_bindings, key=lambda binding: binding.read_priority)


def pack(
    candidates: Sequence[Candidate], *, max_docs: int | None, max_chars_total: int | None
) -> tuple[list[ContextDocument], list[dict[str, Any]]]:
    """Keep what fits, dropping the lowest priority first; `candidates` come most important first.

    Returns the documents, and one row for each that is not among them.
    """
    kept = [candidate for candidate in candidates if candidate.found]
    dropped = [_row(candidate, Dropped.NOT_FOUND) for candidate in candidates if not candidate.found]
    if max_docs is not None:
        dropped += [_row(candidate, Dropped.MAX_DOCS) for candidate in kept[max_docs:]]
        kept = kept[:max_docs]
    if max_chars_total is not None:
        total = sum(candidate.size for candidate in kept)
        while total > max_chars_total:
            total -= kept[-1].size
            dropped.append(_row(kept.pop(), Dropped.MAX_CHARS))
    return [candidate.found for candidate in kept if candidate.found], dropped


def not_routed(binding: Binding) -> dict[str, Any]:
    """The row of a template binding for which no id was found."""
    return {"binding_id": binding.binding_id, "namespace": binding.namespace, "reason": Dropped.NOT_ROUTED.value}


def _row(candidate: Candidate, reason: Dropped) -> dict[str, Any]:
    row = {
        "binding_id": candidate.binding.binding_id,
        "namespace": candidate.key.namespace,
        "path": candidate.key.path,
        "reason": reason.value,
    }
    return {**row, "size": candidate.size} if candidate.found else row
