"""The guardrails of extraction: the rules that every proposal of a model must pass.

A proposal may add and replace values. It may not remove any, reach another document or section, set members that the
service manages, or exceed the confidence that the profile allows a replay. An invalid patch is rejected with a code and
does not affect the others. An accepted patch passes the checks of every write again when it is applied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.profile import Profile
from memnet.domain.context.prompt import neutral
from memnet.domain.context.routing import read_entries
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.text import strip_invisible, traces
from memnet.domain.documents.sensitive import is_sensitive, redact_secrets
from memnet.domain.events.event import MAX_WORDS
from memnet.domain.replay.extraction import (
    Digest,
    KnownPatch,
    ModelOutput,
    OutputDigest,
    OutputPatch,
    ProposedPatch,
    RejectedPatch,
    SourceDocument,
    read_patch,
)
from memnet.domain.replay.injected_memory import strip
from memnet.domain.replay.material import Material
from memnet.domain.replay.prompt_input import writable
from memnet.domain.replay.proposed_ops import Source, Target, admit_ops
from memnet.domain.replay.proposed_value import RejectedOp, checked_value, is_unsupported
from memnet.domain.replay.snapshot import Message, Snapshot

MAX_OPS: Final = 20
"""Operations of one proposed patch."""
MAX_CITED: Final = 32
"""Messages that one patch may cite."""
MAX_REJECTED: Final = 50
"""Rejections that are reported."""
MAX_DIGEST_TEXT: Final = 2000
MAX_KEYWORDS: Final = 12
"""Also the most entities."""
MAX_KEYWORD: Final = 80
UNSUPPORTED_MARGIN: Final = 0.01
"""How far below the threshold of automatic application a proposal is put that no cited word supports."""
UNKNOWN: Final = "unknown"
"""Replaces a name that is not in the profile, because it may be any text."""


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """The conversation and the documents of an extraction."""

    snapshot: Snapshot
    messages: Sequence[Message]
    """The quoted messages, without injected memory: no other can be cited."""
    sources: Sequence[SourceDocument]
    profile: Profile
    catalog: Catalog
    material: Material | None = None
    """Where the messages are stored; None: in the snapshot."""

    @property
    def max_patches(self) -> int:
        """How many patches the profile allows: as many for each turn as for a whole conversation."""
        rules = self.profile.extraction
        return 0 if rules is None else rules.max_patches * self.origins.turns

    @property
    def origins(self) -> Material:
        """Where the messages are stored, and which of them are earlier ones."""
        return self.material or Material(self.snapshot)


@dataclass(frozen=True, slots=True)
class FilteredExtraction:
    """The accepted and the rejected parts of an output."""

    digest: Digest | None
    patches: Sequence[ProposedPatch]
    rejected: Sequence[RejectedPatch]
    known: Sequence[KnownPatch]


def filter_extraction(output: ModelOutput, subject: ExtractionContext) -> FilteredExtraction:
    """Apply the guardrails to every part of an output; invalid parts are rejected, never raised."""
    limit = subject.max_patches
    patches: list[ProposedPatch] = []
    rejected: list[RejectedPatch] = []
    known: list[KnownPatch] = []
    for number, members in enumerate(output.patches):
        read = read_patch(members)
        try:
            if number >= limit:
                raise RejectedOp(ErrorCode.LIMIT_EXCEEDED, f"One replay proposes at most {limit} patches.")
            if read is None:
                raise RejectedOp(
                    ErrorCode.PATCH_MALFORMED, "It is not a patch of scalars and entries by add and replace."
                )
            _filter_patch(read, subject, patches, known)
        except RejectedOp as error:
            rejected.append(_rejection(read, error, subject))
    return FilteredExtraction(_filter_digest(output.digest, subject), patches, rejected[:MAX_REJECTED], known)


def _filter_digest(digest: OutputDigest | None, subject: ExtractionContext) -> Digest | None:
    """Return the digest without secrets, markers, invisible characters and unknown ids; None if no text is left."""
    if digest is None:
        return None
    denied, rules = subject.profile.denied_fields, subject.profile.sensitive_content
    # Redacted before invisible characters become spaces, which would split a name.
    text = _clean(redact_secrets(strip(digest.text), denied, rules))
    if not text:
        return None
    keywords, entities = _words(digest.keywords, subject.profile), _words(digest.entities, subject.profile)
    known = _known_ids(subject)
    ids = [named for named in dict.fromkeys(digest.project_ids) if named in known]
    return Digest(_clip(text), keywords, ids[:MAX_WORDS], entities)


def _words(given: Sequence[str], profile: Profile) -> list[str]:
    """Return the words without duplicates, long words and words that look like a secret."""
    words = {word.casefold(): word for one in given if not _is_secret(one, profile) and (word := _clean(one))}
    return [w for w in words.values() if len(w) <= MAX_KEYWORD and not _is_secret(w, profile)][:MAX_KEYWORDS]


def _is_secret(text: str, profile: Profile) -> bool:
    return is_sensitive(text, profile.denied_fields, profile.sensitive_content)


def routed_ids(subject: ExtractionContext) -> list[str]:
    """Return the ids in the paths of the source documents: the conversation was routed to them."""
    found = []
    for document in subject.sources:
        binding = subject.profile.binding(document.binding_id)
        if binding is not None and binding.path_template is not None:
            before, _, rest = binding.path_template.partition("{")
            found.append(document.key.path.removeprefix(before).removesuffix(rest.partition("}")[2]))
    return list(dict.fromkeys(found))


def _known_ids(subject: ExtractionContext) -> set[str]:
    """Return these, and the ids of the routing document."""
    routing = subject.profile.routing
    sources = [d for d in subject.sources if routing is not None and d.binding_id == routing.source_binding]
    entries = [entry.id for d in sources if routing is not None for entry in read_entries(d.content, routing)]
    return {*routed_ids(subject), *entries}


def _filter_patch(
    read: OutputPatch, subject: ExtractionContext, patches: list[ProposedPatch], known: list[KnownPatch]
) -> None:
    """Append the accepted operations to `patches` and the known ones to `known`. Raises RejectedOp."""
    document = _document(read, subject)
    cited = _cited(read, subject)
    target = _target(document, subject)
    confidence = _confidence(read, cited, target)
    if len(read.ops) > min(MAX_OPS, subject.profile.max_ops):
        raise RejectedOp(ErrorCode.LIMIT_EXCEEDED, "It has too many operations.")
    message_ids = [message.message_id for message in cited]
    source = Source(
        subject.snapshot.replay_id,
        confidence,
        subject.origins.evidence(message_ids),
        max(message.timestamp for message in cited if message.role == "user"),
        _topic(cited, subject),
        subject.snapshot.claimed_by,
    )
    others = [op for patch in patches if patch.key == document.key for op in patch.ops]
    admitted = admit_ops(read.ops, target, source, others)
    version = (document.binding_id, document.key, document.etag)
    if admitted.ops:
        stated_at = None if _is_unsupported(read, cited, target) else source.time
        patches.append(ProposedPatch(*version, admitted.ops, confidence, message_ids, stated_at))
    if admitted.known:
        known.append(KnownPatch(*version, admitted.known, confidence, message_ids))


def _topic(cited: Sequence[Message], subject: ExtractionContext) -> str | None:
    """Return the topic of the newest cited turn; None if it has none, or one that no proposal could write."""
    newest = subject.origins.taken(cited)[-1]
    topic = subject.origins.origin(newest.message_id).topic
    try:
        return None if topic is None else str(checked_value(topic, subject.profile))
    except RejectedOp:
        return None


def _document(read: OutputPatch, subject: ExtractionContext) -> SourceDocument:
    if subject.profile.binding(read.target_binding_id) is None:
        raise RejectedOp(ErrorCode.BINDING_NOT_FOUND, "The profile has no such binding.")
    for document in subject.sources:
        if (document.binding_id, document.key.path) == (read.target_binding_id, read.target_path):
            return document
    raise RejectedOp(ErrorCode.DOCUMENT_NOT_FOUND, "It names a document that is not in the input.")


def _target(document: SourceDocument, subject: ExtractionContext) -> Target:
    binding = subject.profile.binding(document.binding_id)
    assert binding is not None
    rules = subject.catalog.rules(subject.profile, binding)
    of_version = rules if document.schema is None else rules.at(*document.schema)
    schema = None if of_version is None else of_version.schema
    return Target(document, subject.profile, schema, writable(subject.profile, document.binding_id))


def _cited(read: OutputPatch, subject: ExtractionContext) -> list[Message]:
    """Return the cited messages, in the order of the conversation."""
    quoted = {message.message_id: message for message in subject.messages}
    cited = set(read.message_ids)
    if not cited <= quoted.keys():
        raise RejectedOp(ErrorCode.EVIDENCE_REQUIRED, "It cites a message that is not in the conversation as quoted.")
    if len(cited) > MAX_CITED:
        raise RejectedOp(ErrorCode.LIMIT_EXCEEDED, f"A patch cites at most {MAX_CITED} messages.")
    found = [message for message_id, message in quoted.items() if message_id in cited]
    if not any(message.role == "user" for message in found):
        raise RejectedOp(ErrorCode.EVIDENCE_REQUIRED, "It cites nothing that the user said.")
    if not any(message.role == "user" for message in subject.origins.taken(found)):
        raise RejectedOp(ErrorCode.EVIDENCE_REQUIRED, "It cites only earlier messages of the user.")
    return found


def _confidence(read: OutputPatch, cited: Sequence[Message], target: Target) -> float:
    """Return the claimed confidence, capped by the profile, and lower if no word of the user supports a text."""
    profile = target.profile
    cap = 0.0 if profile.extraction is None else profile.extraction.max_confidence
    if _is_unsupported(read, cited, target):
        cap = min(cap, round(max(profile.confidence_rules.min_confidence_for_auto_apply - UNSUPPORTED_MARGIN, 0.0), 6))
    return min(read.confidence, cap)


def _is_unsupported(read: OutputPatch, cited: Sequence[Message], target: Target) -> bool:
    """Whether a proposed text shares no word with what the user said in the cited messages."""
    said = traces("\n".join(message.content for message in cited if message.role == "user"))
    return any(is_unsupported(op.value, said, target.labels(op.path)) for op in read.ops)


def _rejection(read: OutputPatch | None, error: RejectedOp, subject: ExtractionContext) -> RejectedPatch:
    binding_id = path = UNKNOWN
    if read is not None:
        if subject.profile.binding(read.target_binding_id) is not None:
            binding_id = read.target_binding_id
        if read.target_path in {document.key.path for document in subject.sources}:
            path = read.target_path
    return RejectedPatch(binding_id, path, error.code, error.reason)


def _clean(text: str) -> str:
    return strip_invisible(neutral(strip(text)))


def _clip(text: str) -> str:
    if len(text) <= MAX_DIGEST_TEXT:
        return text
    return text[: MAX_DIGEST_TEXT - 2].rpartition(" ")[0] + " …"
