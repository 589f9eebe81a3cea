"""What a write would make of a document, before anything is committed: the whole pipeline of checks, pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from memnet.domain.catalog import path_policy
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile import Binding
from memnet.domain.catalog.write_rules import WriteRules
from memnet.domain.core import json_patch
from memnet.domain.core.canonical_json import MAX_DEPTH, canonical, check_depth, sha256_hex
from memnet.domain.core.errors import BindingMismatch, LimitExceeded, PathNotWritable, SchemaViolation
from memnet.domain.core.json_patch import Op
from memnet.domain.core.reason import Reason
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import from_text
from memnet.domain.documents import confidence, content_rules, pending_item
from memnet.domain.documents.commands import DeleteDocument, Evidence, PatchDocument, ReplaceDocument
from memnet.domain.documents.entry_evidence import check_entry_evidence
from memnet.domain.documents.entry_lifetime import check_lifetimes, lifetime_ops
from memnet.domain.documents.envelope import Envelope

NO_CONTENT_HASH = sha256_hex(b"")
"""Stands for the content of a document that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of a decision: the next content and what the audit record says of it."""

    schema_id: str
    schema_version: str
    schema_sha256: str | None
    """None: the change is a deletion, which no schema judges."""
    content: Json
    ops: list[Op]
    """Folded over the version before, they give `content`: the audit record alone rebuilds it."""
    hash_before: str
    hash_after: str
    reason: Reason
    binding_id: str | None = None
    profile_id: str | None = None
    profile_version: str | None = None
    profile_sha256: str | None = None
    note: str | None = None
    evidence: Evidence | None = None
    confidence: float | None = None
    source_time: str | None = None
    redirected: tuple[dict[str, Any], ...] = ()
    deleted: bool = False


def decide_patch(
    command: PatchDocument, rules: WriteRules, head: Envelope | None, *, proposed_at: str, proposal_id: str
) -> Decision:
    """Decide a PATCH on the version `head` (None: create from the binding's initial content).

    The content must obey the newer of two schema versions, the stored one and the binding's, and is stored under it.
    Raises PatchMalformed, PathNotWritable, FieldDenied, PatchNotApplicable, PatchTestFailed, SchemaViolation,
    LimitExceeded, BindingMismatch, ConfidenceTooLow, EvidenceRequired, EntryExpired, PendingItemInvalid,
    ProposerCannotConfirm, PendingTargetChanged.
    """
    ops = _permitted_ops(command, rules, rules.profile.writable_path_rules.get(rules.binding.binding_id, ()))
    rules = _rules_of_version(rules, head)
    before = _base(rules.binding, head)
    base_bytes = canonical(before)
    applied, content, content_bytes = _with_lifetimes(command, ops, rules, before, proposed_at)
    content_rules.check_patch(command, ops, rules.profile.sensitive_content)
    check_lifetimes(before, content, rules.profile, rules.binding.binding_id, from_text(proposed_at))
    effective, redirected = confidence.gate(
        command, rules.profile, ops, before, proposed_at=proposed_at, proposal_id=proposal_id
    )
    if redirected:
        applied, content, content_bytes = _with_lifetimes(command, effective, rules, before, proposed_at)
    check_entry_evidence(before, content, rules.profile, rules.binding.binding_id)
    pending_item.check_pending(command, rules.profile, ops, effective, before, content)
    created = head is None or head.deleted
    return _draft(
        command,
        rules,
        content,
        [_whole(before), *applied] if created else applied,
        hash_before=NO_CONTENT_HASH if created else sha256_hex(base_bytes),
        hash_after=sha256_hex(content_bytes),
        redirected=redirected,
    )


def decide_maintenance(command: PatchDocument, rules: WriteRules, head: Envelope | None) -> Decision:
    """Decide what the service itself does to keep a document compact and fresh, by the profile's upkeep rules.

    It reaches the sections that these rules name, and the pending section, and nothing else. It says nothing new, so
    the gates for what a writer claims do not apply; all others do. Raises as `decide_patch`, but for those gates' own.
    """
    return decide_within(command, rules, head, rules.profile.upkept_sections(rules.binding.binding_id))


def decide_within(
    command: PatchDocument,
    rules: WriteRules,
    head: Envelope | None,
    writable: Iterable[str],
    *,
    confirmed_at: str | None = None,
) -> Decision:
    """Decide a patch that the service has worked out itself: it reaches the `writable` places and nothing else.

    The gates for what a writer claims do not apply. A patch that applies a confirmed proposal at the time
    `confirmed_at` brings content in, so the rules for content and for the lifetime of entries do; its operations are
    not counted. Raises as `decide_patch`, but for those gates' own.
    """
    ops = _permitted_ops(command, rules, writable, is_counted=confirmed_at is None)
    rules = _rules_of_version(rules, head)
    before = _base(rules.binding, head)
    base_bytes = canonical(before)
    if confirmed_at is None:
        content, content_bytes = _patched(ops, rules, before, base_bytes)
    else:
        ops, content, content_bytes = _with_lifetimes(command, ops, rules, before, confirmed_at)
        content_rules.check_patch(command, ops, rules.profile.sensitive_content)
        check_lifetimes(before, content, rules.profile, rules.binding.binding_id, from_text(confirmed_at))
    return _draft(
        command,
        rules,
        content,
        ops,
        hash_before=sha256_hex(base_bytes),
        hash_after=sha256_hex(content_bytes),
        redirected=(),
    )


def _draft(
    command: PatchDocument,
    rules: WriteRules,
    content: Json,
    ops: list[Op],
    *,
    hash_before: str,
    hash_after: str,
    redirected: tuple[dict[str, Any], ...],
) -> Decision:
    return Decision(
        schema_id=rules.schema.schema_id,
        schema_version=rules.schema.version,
        schema_sha256=rules.schema.digest,
        content=content,
        ops=ops,
        hash_before=hash_before,
        hash_after=hash_after,
        reason=command.reason,
        binding_id=rules.binding.binding_id,
        profile_id=rules.profile.profile_id,
        profile_version=rules.profile.version,
        profile_sha256=rules.profile.sha256,
        evidence=command.evidence,
        confidence=command.confidence,
        source_time=command.source_time,
        redirected=redirected,
    )


def decide_replacement(command: ReplaceDocument, rules: WriteRules, head: Envelope | None) -> Decision:
    """Decide a PUT over the version `head` (None: there is none). Raises as `decide_patch`, but for the patch's own."""
    named = rules.at(command.schema_id, command.schema_version)
    if named is None:
        raise BindingMismatch(
            "The binding takes documents of another schema or version.",
            schema_id=rules.schema.schema_id,
            schema_version=rules.schema.version,
        )
    rules = named
    # A patch cannot nest deeper than it may, by the bounds of its operations.
    check_depth({ROOT: command.content}, MAX_DEPTH)
    content_bytes = _bounded(command.content, rules, b"")
    path_policy.check_content(command.content, rules.profile.denied_fields)
    _check_shape(command.content, rules, None)
    return Decision(
        schema_id=rules.schema.schema_id,
        schema_version=rules.schema.version,
        schema_sha256=rules.schema.digest,
        content=command.content,
        ops=[_whole(command.content)],
        hash_before=_hash_before(head),
        hash_after=sha256_hex(content_bytes),
        reason=Reason.ADMIN_MIGRATION,
        binding_id=rules.binding.binding_id,
        profile_id=rules.profile.profile_id,
        profile_version=rules.profile.version,
        profile_sha256=rules.profile.sha256,
        note=command.note,
        evidence=command.evidence,
    )


def decide_deletion(command: DeleteDocument, head: Envelope) -> Decision:
    """Decide a DELETE of the version `head`."""
    return Decision(
        schema_id=head.schema_id,
        schema_version=head.schema_version,
        schema_sha256=None,
        content=None,
        ops=[{"op": "remove", "path": f"/{ROOT}"}],
        hash_before=_hash_before(head),
        hash_after=NO_CONTENT_HASH,
        reason=Reason.ADMIN_MIGRATION,
        note=command.note,
        deleted=True,
    )


def _permitted_ops(
    command: PatchDocument, rules: WriteRules, writable: Iterable[str], *, is_counted: bool = True
) -> list[Op]:
    profile, binding = rules.profile, rules.binding
    ops = json_patch.check_form(command.ops)
    if not ops:
        raise LimitExceeded("A patch needs at least one operation.", limit="min_ops", allowed=1, found=0)
    if is_counted and len(ops) > profile.max_ops:
        raise LimitExceeded(limit="max_ops", allowed=profile.max_ops, found=len(ops))
    if binding.write_mode == "read_only":
        raise PathNotWritable("The binding is read-only.", binding_id=binding.binding_id)
    path_policy.check_writable(ops, writable)
    return ops


def _rules_of_version(rules: WriteRules, head: Envelope | None) -> WriteRules:
    """The rules for the version that is stored; a document that does not exist takes the binding's schema."""
    if head is None or head.deleted:
        return rules
    found = rules.at(head.schema_id, head.schema_version)
    if found is None:
        raise BindingMismatch(
            "The document has another schema or version than the binding; it must be migrated first.",
            schema_id=head.schema_id,
            schema_version=head.schema_version,
        )
    return found


def _base(binding: Binding, head: Envelope | None) -> Json:
    if head is None or head.deleted:
        return binding.initial_content or {}
    return head.content


def _whole(content: Json) -> Op:
    return {"op": "add", "path": f"/{ROOT}", "value": content}


def _patched(ops: list[Op], rules: WriteRules, before: Json, base_bytes: bytes) -> tuple[Json, bytes]:
    """What `ops` make of `before`, which stays as it is, and the canonical bytes of it, once it obeys the rules."""
    _check_values(ops, rules, base_bytes)
    content = _apply(orjson.loads(base_bytes), ops)
    data = _bounded(content, rules, base_bytes)
    path_policy.check_denied(ops, rules.profile.denied_fields, before, content)
    _check_shape(content, rules, before)
    return content, data


def _check_values(ops: list[Op], rules: WriteRules, base_bytes: bytes) -> None:
    """Raise LimitExceeded if what is added is longer than the document may become: asked before it is walked."""
    found = sum(len(canonical(op["value"]).decode()) for op in ops if op["op"] in ("add", "replace"))
    if found > max(rules.binding.max_chars, len(base_bytes.decode())):
        raise LimitExceeded(limit="max_chars", allowed=rules.binding.max_chars, found=found)


def _with_lifetimes(
    command: PatchDocument, ops: list[Op], rules: WriteRules, before: Json, now: str
) -> tuple[list[Op], Json, bytes]:
    """The operations with those that set when entries expire, and what they come to, as `_patched` says."""
    base_bytes = canonical(before)
    content, data = _patched(ops, rules, before, base_bytes)
    source_time = from_text(command.source_time or now)
    more = lifetime_ops(before, content, rules.profile, rules.binding.binding_id, source_time)
    if not more:
        return ops, content, data
    return [*ops, *more], *_patched([*ops, *more], rules, before, base_bytes)


def _apply(base: Json, ops: list[Op]) -> Json:
    patched = json_patch.apply({ROOT: base}, ops)
    if not isinstance(patched, dict) or ROOT not in patched:
        raise PathNotWritable("A patch cannot remove the content as a whole.")
    return patched[ROOT]


def _bounded(content: Json, rules: WriteRules, bytes_before: bytes) -> bytes:
    """The canonical bytes of `content`, if few enough: asked first, because every other check costs by size."""
    data = canonical(content)
    size = len(data.decode())
    # What is over a limit already, because the profile became stricter, may shrink step by step.
    if size > rules.binding.max_chars and not size < len(bytes_before.decode()):
        raise LimitExceeded(limit="max_chars", allowed=rules.binding.max_chars, found=size)
    return data


def _check_shape(content: Json, rules: WriteRules, before: Json) -> None:
    """Raise SchemaViolation or LimitExceeded if `content` has another shape than it may have."""
    violations = rules.schema.violations(content)
    if violations:
        raise SchemaViolation(**violations.details(f"/{ROOT}"))
    for name, allowed in rules.profile.array_limits(rules.binding.binding_id).items():
        found = _length(content, name)
        if found > allowed and not found < _length(before, name):
            raise LimitExceeded(limit=f"max_{name}", allowed=allowed, found=found, path=f"/{ROOT}/{name}")


def _length(content: Json, name: str) -> int:
    section = content.get(name) if isinstance(content, dict) else None
    return len(section) if isinstance(section, list) else 0


def _hash_before(head: Envelope | None) -> str:
    return NO_CONTENT_HASH if head is None or head.deleted else sha256_hex(canonical(head.content))
