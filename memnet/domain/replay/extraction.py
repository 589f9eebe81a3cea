"""What an extractor is given, and what it makes of a conversation: a digest, and patches with their evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.core.json_patch import Op
from memnet.domain.core.scope import DocumentKey, ETag, Json


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that a replay may propose changes to; `etag` None: it does not exist yet, `content` is its initial."""

    binding_id: str
    key: DocumentKey
    etag: ETag | None
    content: Json
    schema: tuple[str, str] | None = None
    """Its schema_id and schema_version; None: the binding's."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What an event will say of the conversation."""

    text: str
    keywords: Sequence[str]
    project_ids: Sequence[str]
    entities: Sequence[str] = ()
    """Names that the digest is about."""


@dataclass(frozen=True, slots=True)
class ProposedPatch:
    """One patch of one document. The operations are good in form and stay within what replays may propose."""

    binding_id: str
    key: DocumentKey
    base_etag: ETag | None
    """The version it was proposed on; None: the document did not exist."""
    ops: Sequence[Op]
    confidence: float
    message_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class KnownPatch:
    """What was left out of a proposal because the document says it already, and what it supports."""

    binding_id: str
    key: DocumentKey
    etag: ETag | None
    """The version that `supports` points into; None: the initial content."""
    supports: Sequence[str]
    """Pointers, one for each operation that was left out."""
    confidence: float
    message_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class RejectedPatch:
    """A proposal that was refused before it came to any document, and why."""

    binding_id: str
    path: str
    code: str
    reason: str
    """Without content of the conversation or the memory."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who extracted, by which prompt and profile; part of the evidence of every patch, so of the audit."""

    extractor: str
    """"model" or "rules"."""
    model: str | None = None
    prompt_id: str | None = None
    prompt_version: str | None = None
    prompt_sha256: str | None = None
    profile_version: str | None = None
    profile_sha256: str | None = None
    note: str | None = None
    """What else has to be known: why it was not the model where one is configured, what of the conversation was left
    out."""

    def members(self) -> dict[str, Any]:
        """What is known of it, by name."""
        named = {
            "extractor": self.extractor,
            "model": self.model,
            "prompt_id": self.prompt_id,
            "prompt_version": self.prompt_version,
            "prompt_sha256": self.prompt_sha256,
            "profile_version": self.profile_version,
            "profile_sha256": self.profile_sha256,
            "note": self.note,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Extraction:
    """The outcome. `digest` is None if nothing was said that could be told."""

    digest: Digest | None
    patches: Sequence[ProposedPatch]
    rejected: Sequence[RejectedPatch]
    provenance: Provenance
    known: Sequence[KnownPatch] = ()
