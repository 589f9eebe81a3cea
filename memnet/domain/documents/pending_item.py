"""A pending item: one proposed operation that waits until another principal confirms it.

An item is self-contained: `target` is the operation, and `base` the part of the content at the time of the proposal
that the operation applies to. `carry` rebases it to the current content when it is confirmed.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import orjson

from memnet.domain.catalog.path_policy import ROOT, content_pointer, lies_within, touches
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.access import permit_decision
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import (
    MemnetError,
    PendingItemInvalid,
    PendingTargetChanged,
    ProposerCannotConfirm,
)
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.json_patch import Op, Operation, Pointer, apply, parse_patch, pointer_text, resolve
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalized_text
from memnet.domain.documents.array_matching import ID, ID_ENDINGS, same_json
from memnet.domain.documents.commands import IfMatch, PatchDocument
from memnet.domain.documents.entry import entries_at
from memnet.domain.documents.rebase import ABSENT, Absent, ConflictCause, RebaseConflict, Rebased, RebaseOutcome, rebase

PROVENANCE = "extraction"
"""The member of a replay's evidence that names model, prompt and profile. Items omit it to save space."""
ALTERNATIVES: Final = "alternatives"
"""The member of a pending item with further statements about the same thing, each as an item of its own."""
ALSO_PROPOSED_BY: Final = "also_proposed_by"
"""The member of a pending item with the further principals that proposed a statement of it, or for whom one was."""


def pending_item(
    op: Op,
    state: Json,
    text: str,
    *,
    pending_id: str,
    profile_id: str,
    binding_id: str,
    confidence: float | None,
    evidence: EvidenceMembers | None,
    proposed_at: str,
    proposed_by: str,
    on_behalf_of: str | None,
    proposed_on: str | None,
) -> Json:
    """Return the item for `op`, proposed on the content `state`; `text` describes it to a person.

    `proposed_on` is the ETag of that version; None: the document did not exist. `on_behalf_of` is the principal that
    submitted the conversation behind the proposal, if there is one.
    """
    target, base = narrow(op, state)
    item = {
        "id": pending_id,
        "text": text,
        "profile_id": profile_id,
        "binding_id": binding_id,
        "confidence": confidence,
        "evidence": None if evidence is None else {name: evidence[name] for name in evidence if name != PROVENANCE},
        "proposed_at": proposed_at,
        "proposed_by": proposed_by,
        "on_behalf_of": on_behalf_of,
        "proposed_on": proposed_on,
        "target": target,
        "base": base,
    }
    # A copy, because the content that the item refers to changes.
    return orjson.loads(canonical(item))


def proposed_item(command: PatchDocument, op: Op, state: Json, text: str, *, pending_id: str, proposed_at: str) -> Json:
    """Return the item for an operation of a patch, as `pending_item` does."""
    return pending_item(
        op,
        state,
        text,
        pending_id=pending_id,
        profile_id=command.profile_id,
        binding_id=command.binding_id,
        confidence=command.confidence,
        evidence=command.evidence,
        proposed_at=proposed_at,
        proposed_by=command.actor.principal,
        on_behalf_of=command.on_behalf_of,
        proposed_on=proposed_on(command),
    )


def proposed_on(command: PatchDocument) -> str | None:
    """Return the ETag of the version that a patch is for; None if it creates the document."""
    return command.precondition.etag if isinstance(command.precondition, IfMatch) else None


def proposals_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the proposals of an item, in the order of its choices: its own, then those that joined it."""
    others = item.get(ALTERNATIVES)
    return [item, *(one for one in (others if isinstance(others, list) else []) if isinstance(one, dict))]


def may_confirm(item: Json, principal: str, profile: Profile) -> bool:
    """Whether `principal` may: by the profile anyone, else neither a proposer nor whom something was proposed for."""
    also = item.get(ALSO_PROPOSED_BY)
    known = [item.get("proposed_by"), item.get("on_behalf_of"), *(also if isinstance(also, list) else [])]
    return profile.confirmed_by == "anyone" or principal not in known


def narrow(op: Op, content: Json) -> tuple[Op, Json]:
    """Reduce an operation and its content to the parts that it needs. `op` must apply to `content`.

    Of the first array on a path, the target entry and those that could be confused with it are kept, so the index in
    the returned operation may differ. A copy becomes an addition. A move keeps its arrays, because its indices count
    them before and after.
    """
    target: Op = {name: op[name] for name in ("op", "path", "from", "value") if name in op}
    if op["op"] == "copy":
        target = {"op": "add", "path": op["path"], "value": resolve({ROOT: content}, op["from"])}
    if op["op"] != "move":
        target.pop("from", None)
    base: Json = {}
    for name in ("from", "path"):
        place = content_pointer(target[name]) if name in target else None
        if place == ():
            return target, content
        if place is not None:
            target[name] = pointer_text((ROOT, *_keep(place, content, base, target)))
    return target, base


def carry(item: Json, content: Json, rules: Sequence[SectionUpkeep], value: Json | Absent = ABSENT) -> RebaseOutcome:
    """Rebase the item's operation to `content`; `value` replaces the proposed value.

    Returns the operation, no operation if its result is already there, or the conflict. An entry with a duplicate in
    its array is a conflict, and so is an entry to remove that is already gone.
    """
    target, base = item.get("target"), item.get("base")
    unusable = RebaseConflict(0, "", ConflictCause.AMBIGUOUS, ABSENT, ABSENT)
    if not isinstance(target, dict) or not isinstance(base, dict):
        return unusable
    op: Op = target if value is ABSENT else {**target, "value": value}
    try:
        parse_patch([op])
        if _has_an_equal(op, base):
            return RebaseConflict(0, op["path"], ConflictCause.AMBIGUOUS, base, ABSENT)
        rebased = rebase([op], base, content, rules)
    except (MemnetError, ValueError, IndexError):
        # A PUT can store an item whose path is not in its base.
        return unusable
    if op["op"] == "remove" and isinstance(rebased, Rebased) and not rebased.ops:
        return RebaseConflict(0, op["path"], ConflictCause.GONE, resolve({ROOT: base}, op["path"]), ABSENT)
    return rebased


def refusal(item: Json, changed: RebaseConflict) -> PendingTargetChanged:
    """Return the error for an item that cannot be rebased. Its details hold no values."""
    return PendingTargetChanged(pending_id=item.get("id"), why=changed.why.value, path=changed.path)


def check_pending(
    command: PatchDocument,
    profile: Profile,
    ops: list[Operation],
    effective: list[Operation],
    before: Json,
    after: Json,
) -> None:
    """Check a patch against the pending section; `effective` are the operations after redirection.

    A patch may only remove items. If it also writes elsewhere, it confirms them: each such write must be the operation
    of a removed item, rebased to this version; only the value may differ.
    Raises PendingItemInvalid, RoleRequired, ProposerCannotConfirm, PendingTargetChanged.
    """
    section = profile.pending.get(command.binding_id)
    if section is None or not any(touches(place, section) for op in effective for place in written(op)):
        return
    items = entries_at(before, pointer_text(section))
    had, has = Counter(map(canonical, items)), Counter(map(canonical, entries_at(after, pointer_text(section))))
    redirected = [op is not sent for op, sent in zip(effective, ops, strict=True)]
    made = Counter(canonical(op.value) for op, is_new in zip(effective, redirected, strict=True) if is_new)
    if has - had - made:
        raise PendingItemInvalid()
    lost = [item for data in (had - has).elements() if isinstance(item := orjson.loads(data), dict)]
    # An item that the service joins with the proposal is not gone.
    pairs = zip(effective, redirected, strict=True)
    changed = [op for op, is_new in pairs if is_new and op.verb == "replace"]
    places = [int(op.path[-1]) for op in changed]
    joined = {canonical(items[place].get("id")) for place in places if place < len(items)}
    gone = [item for item in lost if canonical(item.get("id")) not in joined]
    if not gone:
        return
    for item in gone:
        permit_decision(item.get("decides"), command.actor)
    state = {ROOT: orjson.loads(canonical(before))}
    for index, op in enumerate(effective):
        elsewhere = any(not lies_within(place, section) for place in written(op))
        if elsewhere and not redirected[index]:
            if not all(may_confirm(item, command.actor.principal, profile) for item in gone):
                raise ProposerCannotConfirm()
            rules = profile.upkeep_rules.get(command.binding_id, ())
            gone.remove(_proposed(index, op.body, gone, state[ROOT], section, rules))
        state = apply(state, orjson.loads(canonical([op.body])))


def written(op: Operation) -> list[Pointer]:
    """Return the places below /content that an operation changes."""
    if op.verb == "test":
        return []
    moved_from = [op.source[1:]] if op.source is not None and op.verb == "move" else []
    return [op.path[1:], *moved_from]


def _proposed(
    index: int, op: Op, gone: list[Json], content: Json, section: Pointer, rules: Sequence[SectionUpkeep]
) -> Json:
    """Return the item that proposes this operation. Raises PendingTargetChanged."""
    carried = [(item, carry(item, content, rules)) for item in gone]
    for item, found in carried:
        if isinstance(found, Rebased) and found.ops and _does(op, section) == _does(found.ops[0], section):
            return item
    for item, found in carried:
        if isinstance(found, RebaseConflict):
            raise refusal(item, found)
    message = "A patch that removes a pending item may only write what the item proposes."
    raise PendingTargetChanged(message, op_index=index, path=op["path"])


def _does(op: Op, section: Pointer) -> tuple[str, str, str | None]:
    """Return verb and pointers of an operation. A value from the pending section counts as added."""
    source = op.get("from") if op["op"] == "move" else None
    if op["op"] == "copy" or (source is not None and lies_within(content_pointer(source), section)):
        return "add", op["path"], None
    return op["op"], op["path"], source


def _keep(place: Pointer, content: Json, base: Json, op: Op) -> Pointer:
    """Copy the part of `content` that is needed at `place` into `base`, and return its pointer there."""
    for depth, name in enumerate(place):
        if name not in content:
            return place
        child, is_last = content[name], depth == len(place) - 1
        if is_last or not isinstance(child, (dict, list)):
            base[name] = child
            return place
        if isinstance(child, list):
            kept, index = _kept(child, place[depth + 1], op, is_added=op["op"] == "add" and depth == len(place) - 2)
            base[name] = kept
            return (*place[: depth + 1], index, *place[depth + 2 :])
        content, base = child, base.setdefault(name, {})
    return place


def _kept(elements: list[Json], segment: str, op: Op, *, is_added: bool) -> tuple[list[Json], str]:
    """Return the elements to keep, and the new index of `segment`."""
    if op["op"] == "move":
        return elements, segment
    index = len(elements) if segment == "-" else int(segment)
    meant = [op["value"]] if is_added else []
    if index < len(elements):
        # An insertion is placed by its neighbours.
        meant += elements[max(0, index - 1) : index + 1] if is_added else [elements[index]]
    kept = [position for position, element in enumerate(elements) if any(_alike(element, one) for one in meant)]
    own = "-" if index == len(elements) else str(sum(position < index for position in kept))
    return [elements[position] for position in kept], own


def _alike(one: Json, other: Json) -> bool:
    """Whether the elements could be confused: equal, same text, or a common identifier."""
    said = normalized_text(other)
    if same_json(one, other) or (said is not None and said == normalized_text(one)):
        return True
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    names = [ID] if ID in other else [name for name in other if name.endswith(ID_ENDINGS)]
    return any(name in one and same_json(one[name], other[name]) for name in names)


def _has_an_equal(op: Op, base: Json) -> bool:
    """Whether an entry that the operation changes had a duplicate in its array, so that it is ambiguous."""
    for name in ("from", "path"):
        place = content_pointer(op[name]) if name in op else ()
        # The last segment of an addition names a gap between entries.
        is_added = name == "path" and op["op"] in ("add", "move")
        for depth in range(len(place) - is_added):
            parent = resolve({ROOT: base}, pointer_text((ROOT, *place[:depth])))
            if isinstance(parent, list) and sum(same_json(parent[int(place[depth])], one) for one in parent) > 1:
                return True
    return False
