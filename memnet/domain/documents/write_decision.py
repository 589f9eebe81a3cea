"""Decide a write: the whole pipeline of checks, without I/O."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import orjson

from memnet.domain.catalog import path_policy
from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile import Binding
from memnet.domain.core import json_patch
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import MAX_DEPTH, canonical, check_depth, sha256_hex
from memnet.domain.core.errors import BindingMismatch, LimitExceeded, MemnetError, PathNotWritable
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.json_patch import Op, Operation, Pointer
from memnet.domain.core.scope import Json
from memnet.domain.core.suggestion import listed
from memnet.domain.core.timestamps import from_text
from memnet.domain.documents import confidence, corroboration, pending_item, pending_join, sensitive
from memnet.domain.documents.answer import Answer
from memnet.domain.documents.commands import DeleteDocument, PatchDocument, Redirection, ReplaceDocument, Settled
from memnet.domain.documents.content_shape import check_proposed, check_shape
from memnet.domain.documents.entry_checks import check_entry_evidence, check_lifetimes, lifetime_ops
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.pending_join import Joined
from memnet.domain.documents.reconcile import check_contradictions, confirms, settle

NO_CONTENT_HASH = sha256_hex(b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The next content of a document, and what the audit record says about the change."""

    schema_id: str
    schema_version: str
    schema_sha256: str | None
    """None for a deletion, which no schema applies to."""
    content: Json
    content_bytes: bytes
    """The canonical JSON of `content`; empty for a deletion."""
    ops: list[Op]
    """The operations that give `content` when they are applied to the previous version."""
    hash_before: str
    reason: Reason
    binding_id: str | None = None
    profile_id: str | None = None
    profile_version: str | None = None
    profile_sha256: str | None = None
    note: str | None = None
    evidence: EvidenceMembers | None = None
    confidence: float | None = None
    source_time: str | None = None
    redirected: tuple[Redirection, ...] = ()
    settled: tuple[Settled, ...] = ()
    deleted: bool = False

    @property
    def hash_after(self) -> str:
        """The SHA-256 of the content's canonical bytes."""
        return sha256_hex(self.content_bytes)


def decide_patch(
    command: PatchDocument, rules: WriteRules, current: Envelope | None, *, proposed_at: str, proposal_id: str
) -> Decision:
    """Decide a PATCH on the version `current` (None: create from the binding's initial content).

    The content must match the newer of two schema versions, the stored one and the binding's, and is stored under it.

    Raises PatchMalformed, PathNotWritable, FieldDenied, PatchNotApplicable, PatchTestFailed, SchemaViolation,
    LimitExceeded, BindingMismatch, ConfidenceTooLow, EvidenceRequired, EntryExpired, PendingItemInvalid,
    ProposerCannotConfirm, PendingTargetChanged, StatementContradicted.
    """
    ops = _permitted_ops(command, rules, rules.writable)
    rules = _rules_of_version(rules, current)
    before = _base(rules.binding, current)
    base_bytes = canonical(before)
    _check_values(ops, rules, base_bytes)
    ids = [confidence.numbered(proposal_id, number + 1) for number in range(2 * len(ops))]
    is_confirmed = confirms(ops, rules)
    settling = partial(settle, command=command, rules=rules, before=before, now=proposed_at, is_confirmed=is_confirmed)
    settled = settling(ops, proposal_ids=ids)
    asked = [settled.statements[row["op_index"]] for row in settled.settled if row["verdict"] == "asked"]
    check_proposed(asked, rules, before, ops)
    applied, content, content_bytes = _with_lifetimes(command, settled.ops, rules, before, base_bytes, proposed_at)
    sensitive.check_patch(command, ops, rules.profile.sensitive_content)
    check_lifetimes(before, content, rules, from_text(proposed_at))
    effective, redirected = confidence.gate(
        command,
        rules.profile,
        ops,
        before,
        proposed_at=proposed_at,
        proposal_id=proposal_id,
        statements=settled.statements,
        settled=settled.settled,
        is_confirmed=is_confirmed,
    )
    if redirected:
        settled = settling(effective, proposal_ids=ids[len(redirected) :])
    joined = pending_join.join(command, rules, settled.ops, before, sent=ops)
    if redirected or joined.ops is not settled.ops:
        applied, content, content_bytes = _with_lifetimes(command, joined.ops, rules, before, base_bytes, proposed_at)
    stated = confidence.own_statement(command)
    check_entry_evidence(before, content, rules, stated)
    made = pending_join.join(command, rules, settled.effective, before, sent=ops)
    pending_item.check_pending(command, rules.profile, ops, made.whole, before, content)
    check_contradictions(rules, before, content)
    created = current is None or current.deleted
    stored_ops = [_whole(before), *_bodies(applied)] if created else _bodies(applied)
    decision = _decision(
        rules,
        command.reason,
        content,
        content_bytes,
        stored_ops,
        hash_before=NO_CONTENT_HASH if created else sha256_hex(base_bytes),
    )
    decision = replace(
        _with_claims(decision, command),
        redirected=tuple(map(joined.redirection, redirected)),
        settled=tuple(map(joined.verdict, settled.settled)),
    )
    return _with_promotion(decision, command, rules, joined, now=proposed_at)


def _with_promotion(
    decision: Decision, command: PatchDocument, rules: WriteRules, joined: Joined, *, now: str
) -> Decision:
    """Apply the pending items that the patch completes by the profile's rule; one that cannot be applied waits on."""
    promotion = corroboration.promote(command, rules.profile, joined, decision.content)
    if promotion is None:
        return decision
    before, data = decision.content, decision.content_bytes
    ops = json_patch.parse_patch(promotion.ops)
    try:
        path_policy.check_writable(ops, rules.writable)
        sensitive.check_patch(command, ops, rules.profile.sensitive_content)
        settled = settle(ops, command, rules, before, now=now, is_corroborated=True)
        applied, content, data = _with_lifetimes(command, settled.ops, rules, before, data, now)
        check_lifetimes(before, content, rules, from_text(now))
        check_contradictions(rules, before, content)
    except MemnetError:
        return decision
    return replace(
        decision,
        content=content,
        content_bytes=data,
        ops=[*decision.ops, *_bodies(applied)],
        redirected=tuple(row for row in decision.redirected if row["pending_id"] not in promotion.pending_ids),
        settled=promotion.settled(decision.settled, decision.redirected, settled.settled),
        note=promotion.note,
        evidence=promotion.evidence,
    )


def decide_maintenance(command: PatchDocument, rules: WriteRules, current: Envelope | None) -> Decision:
    """Decide a patch of the service's own upkeep, as `decide_within` the sections that upkeep rules name."""
    return decide_within(command, rules, current, rules.upkept)


def decide_within(
    command: PatchDocument,
    rules: WriteRules,
    current: Envelope | None,
    writable: Sequence[Pointer],
    *,
    confirmed_at: str | None = None,
    is_counted: bool = True,
    answer: Answer | None = None,
) -> Decision:
    """Decide a patch that the service generated, without a check of confidence and evidence, below `writable` pointers.

    With `confirmed_at`, the patch applies a confirmed proposal: sensitive content and lifetimes are checked, the number
    of operations is not; nor is it without `is_counted`. `answer` is what it decides about a question. Raises what the
    other checks of `decide_patch` raise.
    """
    ops = _permitted_ops(command, rules, writable, is_counted=is_counted and confirmed_at is None)
    rules = _rules_of_version(rules, current)
    before = _base(rules.binding, current)
    base_bytes = canonical(before)
    settled: tuple[Settled, ...] = ()
    if confirmed_at is None:
        content, content_bytes = _patched(ops, rules, before, base_bytes)
    else:
        sensitive.check_patch(command, ops, rules.profile.sensitive_content)
        made = settle(ops, command, rules, before, now=confirmed_at, is_confirmed=True, answer=answer)
        ops, settled = made.ops, made.settled
        ops, content, content_bytes = _with_lifetimes(command, ops, rules, before, base_bytes, confirmed_at)
        check_lifetimes(before, content, rules, from_text(confirmed_at))
    check_contradictions(rules, before, content)
    decision = _decision(
        rules, command.reason, content, content_bytes, _bodies(ops), hash_before=sha256_hex(base_bytes)
    )
    return replace(_with_claims(decision, command), settled=settled)


def _decision(
    rules: WriteRules, reason: Reason, content: Json, content_bytes: bytes, ops: list[Op], *, hash_before: str
) -> Decision:
    return Decision(
        schema_id=rules.schema.schema_id,
        schema_version=rules.schema.version,
        schema_sha256=rules.schema.digest,
        content=content,
        content_bytes=content_bytes,
        ops=ops,
        hash_before=hash_before,
        reason=reason,
        binding_id=rules.binding.binding_id,
        profile_id=rules.profile.profile_id,
        profile_version=rules.profile.version,
        profile_sha256=rules.profile.sha256,
    )


def _with_claims(decision: Decision, command: PatchDocument) -> Decision:
    return replace(decision, evidence=command.evidence, confidence=command.confidence, source_time=command.source_time)


def decide_replacement(command: ReplaceDocument, rules: WriteRules, current: Envelope | None) -> Decision:
    """Decide a PUT over the version `current`, if any. Raises what the checks of `decide_patch` raise."""
    own, found = rules.schema, rules.at(command.schema_id, command.schema_version)
    if found is None:
        message = "The binding is for documents of another schema or version."
        hint = f"Send schema_id {own.schema_id} and schema_version {own.version}."
        raise BindingMismatch(
            message, param="/document/schema_id", hint=hint, schema_id=own.schema_id, schema_version=own.version
        )
    rules = found
    # The depth of a patch is bounded when its operations are applied.
    check_depth({ROOT: command.content}, MAX_DEPTH)
    content_bytes = _bounded(command.content, rules, b"")
    path_policy.check_content(command.content, rules.profile.denied)
    check_shape(command.content, rules, None, ())
    check_contradictions(rules, None if current is None else current.content, command.content)
    ops, reason = [_whole(command.content)], Reason.ADMIN_MIGRATION
    decision = _decision(rules, reason, command.content, content_bytes, ops, hash_before=_hash_before(current))
    return replace(decision, note=command.note, evidence=command.evidence)


def decide_deletion(command: DeleteDocument, current: Envelope) -> Decision:
    """Decide a DELETE of the version `current`."""
    return Decision(
        schema_id=current.schema_id,
        schema_version=current.schema_version,
        schema_sha256=None,
        content=None,
        content_bytes=b"",
        ops=[{"op": "remove", "path": f"/{ROOT}"}],
        hash_before=_hash_before(current),
        reason=Reason.ADMIN_MIGRATION,
        note=command.note,
        deleted=True,
    )


def _permitted_ops(
    command: PatchDocument, rules: WriteRules, writable: Sequence[Pointer], *, is_counted: bool = True
) -> list[Operation]:
    profile, binding = rules.profile, rules.binding
    ops = json_patch.parse_patch(command.ops)
    if not ops:
        message, hint = "A patch needs at least one operation.", "Send the changes in ops."
        raise LimitExceeded(message, param="/ops", hint=hint, limit="min_ops", allowed=1, found=0)
    if is_counted and len(ops) > profile.max_ops:
        raise LimitExceeded(param="/ops", limit="max_ops", allowed=profile.max_ops, found=len(ops))
    if binding.write_mode == "read_only":
        known = [one.binding_id for one in profile.document_bindings if one.write_mode != "read_only"]
        raise PathNotWritable(
            "The binding is read-only.", param="/binding_id", binding_id=binding.binding_id, known=listed(known)
        )
    path_policy.check_writable(ops, writable)
    return ops


def _rules_of_version(rules: WriteRules, current: Envelope | None) -> WriteRules:
    """The rules for the stored version; a document that does not exist gets the binding's schema."""
    if current is None or current.deleted:
        return rules
    found = rules.at(current.schema_id, current.schema_version)
    if found is None:
        message = "The document has another schema or version than the binding; it must be migrated first."
        raise BindingMismatch(message, schema_id=current.schema_id, schema_version=current.schema_version)
    return found


def _base(binding: Binding, current: Envelope | None) -> Json:
    if current is None or current.deleted:
        return binding.initial_content or {}
    return current.content


def _whole(content: Json) -> Op:
    return {"op": "add", "path": f"/{ROOT}", "value": content}


def _bodies(ops: Sequence[Operation]) -> list[Op]:
    return [op.body for op in ops]


def _patched(ops: list[Operation], rules: WriteRules, before: Json, base_bytes: bytes) -> tuple[Json, bytes]:
    """Apply `ops` to a copy of `before`, check the result, and return it with its canonical bytes."""
    _check_values(ops, rules, base_bytes)
    content = _apply(orjson.loads(base_bytes), ops)
    data = _bounded(content, rules, base_bytes)
    path_policy.check_denied(ops, rules.profile.denied, before, content)
    check_shape(content, rules, before, ops)
    return content, data


def _check_values(ops: list[Operation], rules: WriteRules, base_bytes: bytes) -> None:
    """Raise LimitExceeded if the added values are longer than the document may become."""
    found = sum(len(canonical(op.value).decode()) for op in ops if op.verb in ("add", "replace"))
    if found > max(rules.binding.max_chars, len(base_bytes.decode())):
        raise LimitExceeded(param="/ops", limit="max_chars", allowed=rules.binding.max_chars, found=found)


def _with_lifetimes(
    command: PatchDocument, ops: list[Operation], rules: WriteRules, before: Json, base_bytes: bytes, now: str
) -> tuple[list[Operation], Json, bytes]:
    """Add the operations that set the expiry of entries, and return them with the result of `_patched`."""
    content, data = _patched(ops, rules, before, base_bytes)
    source_time = from_text(command.source_time or now)
    more = lifetime_ops(before, content, rules, source_time)
    if not more:
        return ops, content, data
    return [*ops, *more], *_patched([*ops, *more], rules, before, base_bytes)


def _apply(base: Json, ops: list[Operation]) -> Json:
    patched = json_patch.apply({ROOT: base}, _bodies(ops))
    if not isinstance(patched, dict) or ROOT not in patched:
        raise PathNotWritable("A patch cannot remove the content as a whole.")
    return patched[ROOT]


def _bounded(content: Json, rules: WriteRules, bytes_before: bytes) -> bytes:
    """Return the canonical bytes of `content`. Size comes first, because all other checks depend on it."""
    data = canonical(content)
    size = len(data.decode())
    # Content over the limit, because the profile became stricter, may shrink step by step.
    if size > rules.binding.max_chars and not size < len(bytes_before.decode()):
        raise LimitExceeded(param="", limit="max_chars", allowed=rules.binding.max_chars, found=size)
    return data


def _hash_before(current: Envelope | None) -> str:
    return NO_CONTENT_HASH if current is None or current.deleted else sha256_hex(canonical(current.content))
