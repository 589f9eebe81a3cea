"""How sure a writer must be: what falls short of a threshold waits in a pending section, or is refused.

A pending item is {id, text, confidence, evidence, proposed_at, proposed_by, target}; `target` is the operation that
was proposed. It is confirmed by an ordinary patch of another principal than its proposer.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import orjson

from memnet.domain.added_source import source_ops
from memnet.domain.document import Json
from memnet.domain.errors import (
    ConfidenceTooLow,
    EvidenceRequired,
    PatchNotApplicable,
    PendingItemForged,
    ProposerCannotConfirm,
)
from memnet.domain.json_text import canonical
from memnet.domain.patch import WITH_FROM, WITH_VALUE, Op, Pointer, apply, pointer, resolve
from memnet.domain.path_policy import ROOT, content_pointer, lies_within, touches
from memnet.domain.profile import Profile
from memnet.domain.write import Evidence, PatchDocument, Reason

POINTERS = ("conversation_id", "message_ids", "snapshot_uri", "event_id")
"""The members of evidence that point somewhere."""

MAX_TEXT = 1000
"""Characters of a pending item's text; its target holds the whole value."""

Redirection = dict[str, Any]


def gate(
    command: PatchDocument, profile: Profile, ops: list[Op], base: Json, *, proposed_at: str, proposal_id: str
) -> tuple[list[Op], tuple[Redirection, ...]]:
    """Return the operations to apply instead, and what was redirected; the same operations if nothing falls short.

    `base` is the content before the patch, to which `ops` apply; it is not changed. Raises ConfidenceTooLow where
    there is no pending section, and EvidenceRequired where what does not fall short lacks evidence.
    """
    pending = profile.pending_sections.get(command.binding_id)
    # A source says nothing new: what it supports is there already, and stays as it is.
    sources = _source_ops(command, profile, ops, base)
    short = {
        index: lack
        for index, op in enumerate(ops)
        if index not in sources and (lack := _shortfall(command, profile, op)) is not None
    }
    if short and pending is None:
        raise ConfidenceTooLow(op_index=min(short), required=short[min(short)])
    effective = list(ops)
    redirected: list[Redirection] = []
    for index, text in _texts(ops, short, base):
        op = ops[index]
        pending_id = proposal_id if not redirected else f"{proposal_id}-{len(redirected) + 1}"
        item = pending_item(
            op,
            text,
            pending_id=pending_id,
            confidence=command.confidence,
            evidence=command.evidence,
            proposed_at=proposed_at,
            proposed_by=command.actor.principal,
        )
        effective[index] = {"op": "add", "path": f"/{ROOT}{pending}/-", "value": item}
        redirected.append({"op_index": index, "path": op["path"], "to": f"/{ROOT}{pending}", "pending_id": pending_id})
    _check_evidence(command, profile, effective)
    return effective, tuple(redirected)


def pending_item(
    op: Op,
    text: str,
    *,
    pending_id: str,
    confidence: float | None,
    evidence: Evidence | None,
    proposed_at: str,
    proposed_by: str,
) -> Json:
    """An operation that waits for someone else to confirm it; `text` says to them what it is about."""
    return {
        "id": pending_id,
        "text": text,
        "confidence": confidence,
        "evidence": evidence,
        "proposed_at": proposed_at,
        "proposed_by": proposed_by,
        "target": {name: op[name] for name in ("op", "path", "from", "value") if name in op},
    }


def check_pending(command: PatchDocument, profile: Profile, ops: list[Op], before: Json, after: Json) -> None:
    """Hold the rule that who proposes does not confirm.

    Raises PendingItemForged if the patch leaves a new or changed pending item that does not name its writer, and
    ProposerCannotConfirm if it takes an own item out while it writes elsewhere.
    """
    section = profile.pending_sections.get(command.binding_id)
    if section is None or not any(touches(place, pointer(section)) for op in ops for place in _written(op)):
        return
    had, has = _items(before, section), _items(after, section)
    for item in (has - had).elements():
        if not _proposed_by(item, command.actor.principal):
            raise PendingItemForged()
    gone = [item for item in (had - has).elements() if _proposed_by(item, command.actor.principal)]
    elsewhere = any(not lies_within(place, pointer(section)) for op in ops for place in _written(op))
    if gone and elsewhere:
        raise ProposerCannotConfirm()


def _shortfall(command: PatchDocument, profile: Profile, op: Op) -> float | None:
    """The threshold that this operation does not reach; None if it reaches what applies to it."""
    rules = profile.confidence_rules
    places = _written(op)
    if not places:
        return None
    if _is_durable(command, profile, op) and not _reaches(command, rules.min_confidence_for_durable_fact):
        return rules.min_confidence_for_durable_fact
    section = profile.pending_sections.get(command.binding_id)
    waits = section is not None and all(lies_within(place, pointer(section)) for place in places)
    if (
        command.reason is Reason.REPLAY_UPDATE
        and not waits
        and not _reaches(command, rules.min_confidence_for_auto_apply)
    ):
        return rules.min_confidence_for_auto_apply
    return None


def _source_ops(command: PatchDocument, profile: Profile, ops: list[Op], base: Json) -> frozenset[int]:
    """The operations of a replay that only add a source to an entry. A live writer's sources are what it says."""
    if command.reason is not Reason.REPLAY_UPDATE:
        return frozenset()
    rules = profile.upkeep_rules.get(command.binding_id, ())
    return source_ops(ops, {ROOT: orjson.loads(canonical(base))}, rules)


def _reaches(command: PatchDocument, threshold: float) -> bool:
    return command.confidence is not None and command.confidence >= threshold


def _is_durable(command: PatchDocument, profile: Profile, op: Op) -> bool:
    sections = [pointer(text) for text in profile.durable_sections.get(command.binding_id, ())]
    return any(touches(place, section) for place in _written(op) for section in sections)


def _written(op: Op) -> list[Pointer]:
    """The places below /content that an operation changes."""
    if op["op"] == "test":
        return []
    places = [content_pointer(op["path"])]
    return [*places, content_pointer(op["from"])] if op["op"] == "move" else places


def _check_evidence(command: PatchDocument, profile: Profile, ops: list[Op]) -> None:
    needed = command.reason is Reason.REPLAY_UPDATE or any(_is_durable(command, profile, op) for op in ops)
    if needed and not _points_somewhere(command.evidence):
        raise EvidenceRequired()


def _points_somewhere(evidence: Evidence | None) -> bool:
    return evidence is not None and any(evidence.get(name) for name in POINTERS)


def _texts(ops: list[Op], wanted: Collection[int], base: Json) -> Iterator[tuple[int, str]]:
    """What each of the wanted operations is about, as the operations before it leave the document."""
    if not wanted:
        return
    state = {ROOT: orjson.loads(canonical(base))}
    for index, op in enumerate(ops):
        if index in wanted:
            yield index, _text(op, state)
        state = apply(state, [op])


def _text(op: Op, state: Json) -> str:
    """What the proposal is about, for the person who confirms it: the value's own text where it has one."""
    value = op["value"] if op["op"] in WITH_VALUE else resolve(state, op["from" if op["op"] in WITH_FROM else "path"])
    return text_of(value)


def text_of(value: Json) -> str:
    """What a pending item says of the value: its own text where it has one, else the value itself, cut if too long."""
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        value = value["text"]
    text = value if isinstance(value, str) else canonical(value).decode()
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _items(content: Json, section: str) -> Counter[bytes]:
    try:
        items = resolve(content, section)
    except PatchNotApplicable:
        return Counter()
    return Counter(canonical(item) for item in items) if isinstance(items, list) else Counter()


def _proposed_by(item: bytes, principal: str) -> bool:
    value = orjson.loads(item)
    return isinstance(value, dict) and value.get("proposed_by") == principal
