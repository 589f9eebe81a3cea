"""The input and the result of an extraction, and the form of a model's output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memnet.domain.core.canonical_json import parse
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_patch import Op
from memnet.domain.core.json_types import known_members
from memnet.domain.core.scope import DocumentKey, ETag, Json

MAX_OUTPUT: Final = 400_000
"""The longest output that is read, in characters."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that a replay may change. `etag` None: it does not exist, and `content` is its initial content."""

    binding_id: str
    key: DocumentKey
    etag: ETag | None
    content: Json
    schema: tuple[str, str] | None = None
    """Its schema_id and schema_version; None: those of the binding."""


@dataclass(frozen=True, slots=True)
class Digest:
    """The summary of a conversation, for an event."""

    text: str
    keywords: Sequence[str]
    project_ids: Sequence[str]
    entities: Sequence[str] = ()
    """The names in the digest."""


@dataclass(frozen=True, slots=True)
class ProposedPatch:
    """One patch of one document, with operations that a replay may propose."""

    binding_id: str
    key: DocumentKey
    base_etag: ETag | None
    """The version that it was proposed on; None: the document did not exist."""
    ops: Sequence[Op]
    confidence: float
    message_ids: Sequence[str]
    stated_at: str | None = None
    """When the user stated it; None: no word of the user supports it."""
    judged: Sequence[dict[str, Json]] = ()
    """The verdicts of the judge on its statements: op_index, verdict, entry_id."""
    asks_about: str | None = None
    """The id of an open entry that it may be about: the patch waits, with the question of its section."""


@dataclass(frozen=True, slots=True)
class KnownPatch:
    """The part of a proposal that the document has already, with pointers to the content that it supports."""

    binding_id: str
    key: DocumentKey
    etag: ETag | None
    """The version that `supports` points into; None: the initial content."""
    supports: Sequence[str]
    """Pointers, one for each omitted operation."""
    confidence: float
    message_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class RejectedPatch:
    """A proposal that the guardrails rejected, and why."""

    binding_id: str
    path: str
    code: str
    reason: str
    """Without content of the conversation or the memory."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The extractor, its prompt and its profile; part of the evidence of every patch, and so of its audit record."""

    extractor: str
    """"model" or "rules"."""
    model: str | None = None
    prompt_id: str | None = None
    prompt_version: str | None = None
    prompt_sha256: str | None = None
    answer_sha256: str | None = None
    """The hash of the schemas of the answer, which are made from the profile."""
    profile_version: str | None = None
    profile_sha256: str | None = None
    note: str | None = None
    """Why the model was not used, and what of the conversation was left out."""
    judge: dict[str, Any] | None = None
    """Who judged the statements, if a model did (`JudgeProvenance.members`)."""

    def members(self) -> dict[str, Any]:
        """Return the known members by name."""
        return known_members(self)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of an extraction. `digest` is None if there is nothing to summarize."""

    digest: Digest | None
    patches: Sequence[ProposedPatch]
    rejected: Sequence[RejectedPatch]
    provenance: Provenance
    known: Sequence[KnownPatch] = ()
    own_provenance: Mapping[str, Provenance] = field(default_factory=dict)
    """By binding, that of the documents with a prompt of their own."""

    def provenance_of(self, binding_id: str) -> Provenance:
        """Return the extractor of the patches of a binding."""
        return self.own_provenance.get(binding_id, self.provenance)


class InvalidModelOutput(Exception):
    """The output does not have the form that was asked for. A valid output can still contain invalid patches."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class OutputDigest(_Part):
    """The digest of an output."""

    text: str
    keywords: list[str]
    project_ids: list[str]
    entities: list[str] = []


Scalar = str | int | float | bool | None


class OutputOp(_Part):
    """One operation of an output. A value is a scalar or an entry, whose members are scalars."""

    op: Literal["add", "replace"]
    path: str
    value: Scalar | dict[str, Scalar]


class OutputPatch(_Part):
    """One patch of an output."""

    target_binding_id: str
    target_path: str
    ops: Annotated[list[OutputOp], Field(min_length=1)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    message_ids: list[str]


class OutputEntry(_Part):
    """One patch that adds an entry to a list."""

    target_binding_id: str
    target_path: str
    add_to: str
    entry: dict[str, Scalar]
    confidence: Annotated[float, Field(ge=0, le=1)]
    message_ids: list[str]

    def patch(self) -> OutputPatch:
        """Return the same patch with an operation."""
        added = OutputOp(op="add", path=f"{self.add_to}/-", value=self.entry)
        members = self.model_dump(exclude={"add_to", "entry"})
        return OutputPatch(**members, ops=[added])


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """An output. Each patch is read later, so that an invalid one does not affect the others."""

    digest: OutputDigest | None
    patches: Sequence[Json]


def read_output(text: str) -> ModelOutput:
    """Read the output of a model. Raises InvalidModelOutput."""
    if len(text) > MAX_OUTPUT:
        raise InvalidModelOutput
    try:
        members = parse(text.encode())
        digest, patches = members["digest"], members["patches"]
        if not isinstance(patches, list):
            raise InvalidModelOutput
        return ModelOutput(None if digest is None else OutputDigest.model_validate(digest), patches)
    except (MalformedRequest, UnicodeEncodeError, ValidationError, KeyError, TypeError) as error:
        raise InvalidModelOutput from error


def is_output(text: str) -> bool:
    """Return whether the text is an output that `read_output` reads."""
    try:
        read_output(text)
    except InvalidModelOutput:
        return False
    return True


def read_patch(members: Json) -> OutputPatch | None:
    """Read one patch of an output; None if it is invalid."""
    try:
        if isinstance(members, dict) and "entry" in members:
            return OutputEntry.model_validate(members).patch()
        return OutputPatch.model_validate(members)
    except ValidationError:
        return None
