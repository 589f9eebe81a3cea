"""Decide on a pending item by one patch: a confirmation applies its operation, a rejection removes it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.domain.catalog.catalog import Catalog, WriteRules, protected_sections
from memnet.domain.catalog.path_policy import ROOT, check_writable, content_pointer, lies_within
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import MERGES
from memnet.domain.core.access import Reason, may_read, permit_decision
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import (
    BindingMismatch,
    LimitExceeded,
    MalformedRequest,
    PendingItemNotFound,
    PendingTargetChanged,
    ProfileForbidden,
    ProposerCannotConfirm,
)
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES
from memnet.domain.core.json_patch import Op, Pointer, apply, parse_patch, pointer, pointer_text
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.documents.absorption import closing_ops
from memnet.domain.documents.answer import find_answered
from memnet.domain.documents.commands import ConfirmPending, PatchDocument, RejectPending
from memnet.domain.documents.confidence import check_claim
from memnet.domain.documents.entry import ALSO, confidence_of, entries_at, evidence_of
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.pending_item import carry, may_confirm, refusal
from memnet.domain.documents.question_choice import Taken, choose
from memnet.domain.documents.rebase import ABSENT, Absent, RebaseConflict
from memnet.domain.documents.sensitive import check_remarks
from memnet.domain.documents.statement_question import CONTRADICTS
from memnet.domain.documents.write_decision import Decision, decide_within

_VERSIONS = ("base", "ours", "theirs")
"""The details of an error that hold memory content."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending item and its location in a document."""

    section: str
    index: int
    item: dict[str, Json]

    @property
    def pointer(self) -> str:
        """The pointer of the item in the document."""
        return f"/{ROOT}{self.section}/{self.index}"


def waiting(catalog: Catalog, key: DocumentKey, content: Json) -> Iterator[Waiting]:
    """Yield the pending items of a document, from the pending sections of all profiles."""
    for section in protected_sections(catalog, key).pending:
        for index, item in enumerate(entries_at(content, section)):
            if isinstance(item, dict):
                yield Waiting(section, index, item)


def added_waiting(catalog: Catalog, key: DocumentKey, before: Json, after: Json) -> list[dict[str, Json]]:
    """Return the pending items that a change of a document's content adds; `before` is None for a creation."""
    added = list(waiting(catalog, key, after))
    had = (
        Counter(_identity(one) for one in waiting(catalog, key, before)) if added and before is not None else Counter()
    )
    return [one.item for one in added if _takes(had, _identity(one))]


def _identity(one: Waiting) -> str:
    return canonical([one.item.get("id"), one.item.get("decides")]).decode()


def _takes(had: Counter[str], identity: str) -> bool:
    """Count one known item off; return whether it is a new one."""
    had[identity] -= 1
    return had[identity] < 0


def decide_confirmation(command: ConfirmPending, catalog: Catalog, current: Envelope, *, now: str) -> Decision:
    """Decide a confirmation on the version `current`: remove the item and write what the answer takes.

    The written entry gets the confidence and evidence of the confirmation, and `now` as its time of verification, where
    the schema has such members. If the result is already there, only the item is removed. Lifetimes count from the time
    of the proposal.

    Raises PendingItemNotFound, RoleRequired, ProposerCannotConfirm, ConfidenceTooLow, EvidenceRequired,
    PendingTargetChanged, MalformedRequest if there is no value to replace or no such choice, and what
    `Catalog.governance` and `decide_within` raise.
    """
    found, rules = _find(command, catalog, current)
    # The schema of the entry is the one that `decide_within` checks with, or refuses.
    rules = rules.at(current.schema_id, current.schema_version) or rules
    if not may_confirm(found.item, command.actor.principal, rules.profile):
        raise ProposerCannotConfirm()
    try:
        taken = choose(command, found.item, current.content, rules)
        sent, written = _written(command, found, taken, rules, current.content, now)
    except PendingTargetChanged as error:
        if not may_read(command.actor):
            error.details = {name: value for name, value in error.details.items() if name not in _VERSIONS}
        raise
    patch = _patch(command, rules, found, written, Reason.CONFIRMATION)
    proposed_at = found.item.get("proposed_at") if taken.proposal is None else taken.proposal.get("proposed_at")
    took: dict[str, Json] = {} if taken.answer is None else {"take": command.take}
    if taken.answer is not None and taken.proposal is not None:
        took["choice"] = command.choice
    patch = replace(
        patch,
        confidence=command.confidence,
        evidence={**(command.evidence or {}), "pending_id": command.pending_id, **took},
        source_time=proposed_at if isinstance(proposed_at, str) and taken.proposal is not None else None,
        claimed_by=_claimed_by(taken.proposal or found.item, rules.section_rules),
    )
    check_claim(patch, rules.profile, written)
    # Only the operations of the answer have to be writable, not the members that the service adds.
    check_writable(parse_patch(sent), [*rules.writable, pointer(found.section)])
    decision = decide_within(patch, rules, current, [()], confirmed_at=now, answer=taken.answer)
    return _with_closed(decision, found.item, rules, now)


def _written(
    command: ConfirmPending, found: Waiting, taken: Taken, rules: WriteRules, content: Json, now: str
) -> tuple[list[Op], list[Op]]:
    """Return the operations of the answer, and what they become with the confirmation's claims.

    Raises PendingTargetChanged, with the versions of the entry, and MalformedRequest.
    """
    sent: list[Op] = []
    written: list[Op] = []
    if taken.existing is not None:
        sent.append(taken.existing)
        written += _verified(taken.existing, None, command, rules, content, now)
    if taken.proposal is not None:
        value: Json | Absent = command.values[0] if command.values else ABSENT
        carried = carry(taken.proposal, content, rules.section_rules, value)
        if isinstance(carried, RebaseConflict):
            error = refusal(found.item, carried)
            error.details |= _versions(taken.proposal, carried)
            raise error
        if value is not ABSENT and taken.proposal["target"]["op"] not in ("add", "replace"):
            message = "A value is only for an item that adds or replaces."
            raise MalformedRequest(message, pending_id=command.pending_id)
        sent += carried.ops
        for op in carried.ops:
            written += _verified(op, taken.proposal, command, rules, content, now)
    return sent, written


def _with_closed(decision: Decision, item: Json, rules: WriteRules, now: str) -> Decision:
    """Close the statements that the confirmed text joins, and give their evidence to the one that has it.

    Raises LimitExceeded.
    """
    if MERGES not in item:
        return decision
    ops = closing_ops(item, decision.content, rules.section_rules, at=now)
    content = apply({ROOT: orjson.loads(decision.content_bytes)}, orjson.loads(canonical(ops)))[ROOT]
    data, allowed = canonical(content), rules.binding.max_chars
    if len(data.decode()) > allowed:
        raise LimitExceeded(param="", limit="max_chars", allowed=allowed, found=len(data.decode()))
    return replace(decision, content=content, content_bytes=data, ops=[*decision.ops, *ops])


def decide_rejection(command: RejectPending, catalog: Catalog, current: Envelope) -> Decision:
    """Decide a rejection on the version `current`: remove the item. The proposer may reject its own item.

    Raises PendingItemNotFound, RoleRequired, FieldDenied, and what `Catalog.governance` and `decide_within` raise.
    """
    found, rules = _find(command, catalog, current)
    check_remarks({"note": command.note}, rules.profile.sensitive_content)
    patch = _patch(command, rules, found, [], Reason.REJECTION)
    return replace(decide_within(patch, rules, current, [pointer(found.section)]), note=command.note)


def _find(command: ConfirmPending | RejectPending, catalog: Catalog, current: Envelope) -> tuple[Waiting, WriteRules]:
    """Return the item, and the rules of the profile under which it was proposed; check who decides it."""
    found = [one for one in waiting(catalog, command.key, current.content) if one.item.get("id") == command.pending_id]
    if len(found) != 1:
        raise _not_found(command, catalog, current)
    item = found[0].item
    rules = _rules(command, found[0], catalog)
    if rules.pending_section != found[0].section:
        raise BindingMismatch("The profile of the item has another pending section.")
    permit_decision(item.get("decides"), command.actor)
    return found[0], rules


def _rules(command: ConfirmPending | RejectPending, found: Waiting, catalog: Catalog) -> WriteRules:
    """Return the rules of the item's profile.

    A question may be answered by every product that sees it: one that binds the document and has the same pending
    section. Such an answer takes what was proposed and brings in no value. Raises what `Catalog.governance` raises.
    """
    named = str(found.item.get("profile_id")), str(found.item.get("binding_id"))
    try:
        return catalog.governance(*named, command.actor, command.key)
    except ProfileForbidden:
        covering = catalog.covering(command.key)
        sees = any(
            rules.profile.admits(command.actor.principal) and rules.pending_section == found.section
            for rules in covering
        )
        own = [rules for rules in covering if (rules.profile.profile_id, rules.binding.binding_id) == named]
        brings_in = isinstance(command, ConfirmPending) and (command.values or command.apart is not None)
        if CONTRADICTS not in found.item or not sees or brings_in or not own:
            raise
        return own[0]


def _not_found(command: ConfirmPending | RejectPending, catalog: Catalog, current: Envelope) -> PendingItemNotFound:
    """Return the error. If the item was a question, it shows a caller that may read what was decided."""
    error = PendingItemNotFound()
    if not may_read(command.actor):
        return error
    for rules in catalog.covering(command.key):
        decided = find_answered(current.content, command.pending_id, rules.section_rules)
        if decided is not None:
            error.message = "The question was answered before. Nothing was written."
            error.hint = "Read in details what was decided, by whom and when."
            error.details |= {"pointer": f"/{ROOT}{decided.pointer}", "entry": decided.entry}
            error.details |= {"decided_by": decided.by, "decided_at": decided.at, "etag": current.commit.etag}
            break
    return error


def _patch(
    command: ConfirmPending | RejectPending, rules: WriteRules, found: Waiting, ops: list[Op], reason: Reason
) -> PatchDocument:
    return PatchDocument(
        key=command.key,
        actor=command.actor,
        precondition=command.precondition,
        idempotency_key=command.idempotency_key,
        profile_id=rules.profile.profile_id,
        binding_id=rules.binding.binding_id,
        ops=[{"op": "remove", "path": found.pointer}, *ops],
        reason=reason,
    )


def _claimed_by(item: dict[str, Any] | None, rules: Sequence[SectionUpkeep]) -> str | None:
    """Return the code of the claimant of what an item proposes."""
    value = None if item is None else item["target"].get("value")
    if not isinstance(value, dict):
        return None
    for rule in rules:
        name = None if rule.statements is None else rule.statements.claimed_by_field
        if name is not None and isinstance(value.get(name), str):
            return str(value[name])
    return None


def _versions(item: Json, changed: RebaseConflict) -> dict[str, Json]:
    base, theirs = (None if value is ABSENT else value for value in (changed.base, changed.theirs))
    return {"base": base, "ours": item.get("target"), "theirs": theirs}


def _verified(op: Op, proposal: Json, command: ConfirmPending, rules: WriteRules, content: Json, now: str) -> list[Op]:
    """Return the operation, with confidence, evidence and verification time set in its entry."""
    after = apply({ROOT: orjson.loads(canonical(content))}, orjson.loads(canonical([op])))
    place = None if op["op"] == "remove" else _entry_place(op, after[ROOT])
    if place is None:
        return [op]
    parent = after
    for name in (ROOT, *place[:-1]):
        parent = parent[name]
    entry = parent[int(place[-1])]
    section = pointer_text(place[:-1])
    for name, candidates in _claims(op, entry, proposal, command, rules, section, now):
        for candidate in candidates if rules.schema.has(f"{section}/-{pointer_text([name])}") else ():
            had = dict(entry)
            entry[name] = candidate
            if not rules.schema.violations(after[ROOT]):
                break
            entry.clear()
            entry |= had
    if op["op"] in ("add", "replace") and len(content_pointer(op["path"])) == len(place):
        return [{**op, "value": entry}]
    return [op, {"op": "replace", "path": pointer_text((ROOT, *place)), "value": entry}]


def _entry_place(op: Op, after: Json) -> Pointer | None:
    """Return the pointer of the written entry: the object in the first array on the operation's path."""
    path = content_pointer(op["path"])
    for depth, name in enumerate(path):
        if isinstance(after, list):
            index = len(after) - 1 if name == "-" else int(name)
            return (*path[:depth], str(index)) if isinstance(after[index], dict) else None
        after = after.get(name) if isinstance(after, dict) else None
    return None


def _claims(
    op: Op, entry: Json, proposal: Json, command: ConfirmPending, rules: WriteRules, section: str, now: str
) -> list[tuple[str, list[Any]]]:
    """Return the members of the entry to set, each with its values in the order of preference.

    `proposal`: the pending item that proposes the entry; None: the entry exists.
    """
    inside = [rule for rule in rules.section_rules if lies_within(pointer(section), rule.place)]
    rule = inside[0] if inside else SectionUpkeep(section=section)
    # If the entry exists, it only gets more evidence: its confidence must not become lower.
    exists = proposal is None or len(pointer(op["path"])) > len(pointer(proposal["target"]["path"]))
    known = confidence_of(entry, rule) if exists else None
    claims: list[tuple[str, list[Any]]] = [
        (rule.confidence_field, [max(command.confidence, known or 0.0)]),
        (rule.verified_field, [now, now[:10]]),
    ]
    if command.evidence:
        given = evidence_of({rule.evidence_field: command.evidence}, rule)
        # A text that joins statements gets the evidence of each when those are closed.
        asks = proposal is not None and MERGES not in proposal
        proposed = evidence_of({rule.evidence_field: proposal.get("evidence")}, rule) if asks else []
        own = {name: value for name, value in command.evidence.items() if name != ALSO}
        joint = _together(own, [*given, *evidence_of(entry, rule), *proposed])
        claims.append((rule.evidence_field, [joint, command.evidence]))
    return claims


def _together(own: dict[str, Json], others: list[Json]) -> dict[str, Json]:
    """Return the evidence `own` with the others in `also`, as far as the size limit allows."""
    also: list[Json] = []
    for text, other in {canonical(other): other for other in others}.items():
        if text != canonical(own) and len(canonical({**own, ALSO: [*also, other]})) <= MAX_EVIDENCE_BYTES:
            also.append(other)
    return {**own, ALSO: also} if also else own
