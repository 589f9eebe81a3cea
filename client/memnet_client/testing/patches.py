"""Decide a patch: the profile's paths and limits, the thresholds of confidence, and the pending section."""

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from memnet_client.testing.bodies import SOURCES
from memnet_client.testing.commits import Decision
from memnet_client.testing.entry_evidence import check_entry_evidence
from memnet_client.testing.joining import find_equal, joint, replacement
from memnet_client.testing.json_patch import (
    ROOT,
    Json,
    Pointer,
    apply,
    canonical,
    parse,
    pointer,
    pointer_text,
    resolve,
)
from memnet_client.testing.questions import proposers_of
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile, check_writable, lies_within, touches, written
from memnet_client.testing.settling import Settling, source_time
from memnet_client.testing.state import Document, World


@dataclass(frozen=True)
class Patch:
    """A proposed patch under a profile's binding."""

    profile: Profile
    binding: Json
    ops: list[Json]
    reason: str
    principal: str
    evidence: Json = None
    confidence: float | None = None
    source_time: str | None = None
    on_behalf_of: str | None = None
    claimed_by: str | None = None
    """The code of the claimant."""
    person: str | None = None
    """The signed-in user, whose own statement is a source."""

    @property
    def is_own_statement(self) -> bool:
        """Whether the signed-in user is the source."""
        return self.person is not None and (self.evidence or {}).get("stated_by") == self.person

    @property
    def binding_id(self) -> str:
        """The id of the binding."""
        return str(self.binding["binding_id"])


def decide_patch(world: World, patch: Patch, stored: Document | None) -> Decision:
    """Decide a patch on the newest version, or on the binding's initial content.

    Raises Refusal with what the profile refuses.
    """
    profile, binding = patch.profile, patch.binding
    ops = parse(patch.ops)
    if not 1 <= len(ops) <= profile.body["max_ops"]:
        limit, allowed = ("max_ops", profile.body["max_ops"]) if ops else ("min_ops", 1)
        raise Refusal("LIMIT_EXCEEDED", "The patch has too few or too many operations.", limit=limit, allowed=allowed)
    if binding["write_mode"] == "read_only":
        raise Refusal("PATH_NOT_WRITABLE", "The binding is read-only.", binding_id=patch.binding_id)
    check_writable(ops, profile.writable(patch.binding_id))
    before = content_of(stored, binding)
    applied(profile, binding, before, ops)
    effective, redirected = _gate(world, patch, ops, before, stored)
    content = applied(profile, binding, before, effective)
    stated = {"stated_by": patch.person} if patch.is_own_statement else None
    check_entry_evidence(profile, patch.binding_id, before, content, stated)
    _check_pending(patch, effective, before, content)
    effective, settled = settle(world, patch, before, effective, stored)
    content = applied(profile, binding, before, effective) if effective else before
    created = [{"op": "add", "path": f"/{ROOT}", "value": before}] if stored is None else []
    return decision(patch, binding, content, [*created, *effective], redirected, settled)


def settle(
    world: World,
    patch: Patch,
    before: Json,
    ops: list[Json],
    stored: Document | None,
    *,
    is_confirmed: bool = False,
    proposed_at: str | None = None,
    answer: Json = None,
) -> tuple[list[Json], list[Json]]:
    """Return the operations that write what follows from the statements in a patch, and the verdicts."""
    rules = patch.profile.statements(patch.binding_id)
    if not rules:
        return ops, []

    def ask(op: Json, rule: Json, held: Json) -> Json:
        item = _item(world, patch, op, {ROOT: before}, stored)
        asked = {"question": rule.get("question"), "decides": rule.get("decides")}
        asked["contradicts"] = held.get(rule["id_field"])
        if asked["question"] is not None:
            texts = {"old": str(held.get("text")), "new": str(op["value"].get("text"))}
            asked["choices"] = list(texts.values())
            asked["question"] = re.sub(
                r"\{(old|new)\}(\.?)",
                lambda found: texts[found[1]].removesuffix(found[2]) + found[2],
                asked["question"],
            )
        return item | {name: value for name, value in asked.items() if value is not None}

    settling = Settling(
        rules,
        source_time(patch.source_time or proposed_at, world.ticks.now()),
        {patch.principal, patch.on_behalf_of},
        patch.confidence,
        patch.evidence,
        ask,
        world.ticks.new_id,
        patch.profile.pending(patch.binding_id),
        is_confirmed,
        patch.claimed_by,
        answer,
        closes_rivals=is_confirmed and patch.evidence is not None and patch.evidence.get("take") != "both",
        now=world.ticks.now(),
    )
    return settling.settle(before, ops), settling.settled


def decision(
    patch: Patch,
    binding: Json,
    content: Json,
    ops: list[Json],
    redirected: list[Json],
    settled: Sequence[Json] = (),
) -> Decision:
    """Return the decision of a patch."""
    return Decision(
        content=content,
        ops=ops,
        reason=patch.reason,
        schema=(binding["schema_id"], binding["schema_version"]),
        profile=patch.profile,
        binding_id=patch.binding_id,
        redirected=redirected,
        settled=settled,
        evidence=patch.evidence,
        confidence=patch.confidence,
        source_time=patch.source_time,
    )


def content_of(stored: Document | None, binding: Json) -> Json:
    """Return the content of the newest version, or the binding's initial content."""
    return deepcopy(stored.newest.view[ROOT] if stored else binding["initial_content"] or {})


def applied(profile: Profile, binding: Json, before: Json, ops: list[Json]) -> Json:
    """Return the content after the operations.

    Raises Refusal FIELD_DENIED, LIMIT_EXCEEDED, PATH_NOT_WRITABLE, PATCH_NOT_APPLICABLE, PATCH_TEST_FAILED.
    """
    patched = apply({ROOT: before}, ops)
    if not isinstance(patched, dict) or ROOT not in patched:
        raise Refusal("PATH_NOT_WRITABLE", "A patch cannot remove the content as a whole.")
    profile.check_denied(ops)
    check_size(profile, binding, patched[ROOT], before)
    return patched[ROOT]


def check_size(profile: Profile, binding: Json, content: Json, before: Json) -> None:
    """Raise Refusal LIMIT_EXCEEDED if the content or an array is too long and did not become shorter."""
    size = len(canonical(content))
    if size > binding["max_chars"] and size >= len(canonical(before)):
        details = {"limit": "max_chars", "allowed": binding["max_chars"], "found": size}
        raise Refusal("LIMIT_EXCEEDED", "The write would exceed a limit of the profile.", **details)
    for name, allowed in profile.limits(binding["binding_id"]):
        found = _length(content, name)
        if found > allowed and found >= _length(before, name):
            details = {"limit": f"max_{name}", "allowed": allowed, "found": found, "path": f"/{ROOT}/{name}"}
            raise Refusal("LIMIT_EXCEEDED", "The write would exceed a limit of the profile.", **details)


def check_claim(patch: Patch, ops: list[Json]) -> None:
    """Raise Refusal CONFIDENCE_TOO_LOW or EVIDENCE_REQUIRED unless a confirmation may write this."""
    required = patch.profile.threshold("durable_fact")
    if any(_is_durable(patch, op) for op in ops) and (patch.confidence or 0.0) < required:
        raise Refusal("CONFIDENCE_TOO_LOW", "The confidence is below the profile's threshold.", required=required)
    _check_evidence(patch, ops)


def _gate(
    world: World, patch: Patch, ops: list[Json], before: Json, stored: Document | None
) -> tuple[list[Json], list[Json]]:
    """Replace the operations below their threshold by additions of pending items."""
    section, effective, redirected = patch.profile.pending(patch.binding_id), list(ops), list[Json]()
    joins = section is not None and not any(touches(place, section) for op in ops for place in written(op))
    joined = set[int]()
    for index, op in enumerate(ops):
        required = _shortfall(patch, op)
        if required is None:
            continue
        if section is None:
            message = "The confidence is below the profile's threshold, and there is no pending section."
            raise Refusal("CONFIDENCE_TOO_LOW", message, op_index=index, required=required)
        if any(touches(place, section) for place in written(op)):
            raise Refusal("PENDING_ITEM_INVALID", "Only the service adds pending items.", op_index=index)
        state = apply({ROOT: before}, ops[:index])
        item = _item(world, patch, op, state, stored)
        found = find_equal(item, before, section, joined) if joins else None
        effective[index] = {"op": "add", "path": pointer_text((ROOT, *section, "-")), "value": item}
        if found is not None:
            joined.add(found)
            item = joint(resolve(before, section)[found], item)
            effective[index] = replacement(section, found, item)
        to = pointer_text((ROOT, *section))
        why = {"required": required, "given": patch.confidence, "reason": _too_low(patch, op, required)}
        redirected.append({"op_index": index, "path": op["path"], "to": to, "pending_id": item["id"], **why})
    _check_evidence(patch, effective)
    return effective, redirected


def _too_low(patch: Patch, op: Json, required: float) -> str:
    if patch.profile.body.get("durable_writes") == "confirmed_only" and _is_durable(patch, op):
        return "This profile confirms every write to a durable section, whatever its confidence."
    given = "no confidence was sent" if patch.confidence is None else f"{patch.confidence:g} was sent"
    return f"Confidence {required:g} is required, and {given}."


def _item(world: World, patch: Patch, op: Json, state: Json, stored: Document | None) -> Json:
    target = {name: deepcopy(op[name]) for name in ("op", "path", "from", "value") if name in op}
    if op["op"] == "copy":
        target = {"op": "add", "path": op["path"], "value": deepcopy(resolve(state, pointer(op["from"])))}
    value = target["value"] if "value" in target else resolve(state, pointer(op.get("from", op["path"])))
    text = value["text"] if isinstance(value, dict) and isinstance(value.get("text"), str) else value
    section = pointer(op["path"])[1:2]
    base = {section[0]: state[ROOT][section[0]]} if section and section[0] in state[ROOT] else state[ROOT]
    return {
        "id": world.ticks.new_id(),
        "text": (text if isinstance(text, str) else canonical(text))[:1000],
        "profile_id": patch.profile.profile_id,
        "binding_id": patch.binding_id,
        "confidence": patch.confidence,
        "evidence": patch.evidence,
        "proposed_at": world.ticks.now(),
        "proposed_by": patch.principal,
        "on_behalf_of": patch.on_behalf_of,
        "proposed_on": stored.newest.etag if stored else None,
        "target": target,
        "base": deepcopy(base),
    }


def _shortfall(patch: Patch, op: Json) -> float | None:
    """Return the threshold that the operation's confidence does not reach."""
    profile, places = patch.profile, written(op)
    durable, auto = profile.threshold("durable_fact"), profile.threshold("auto_apply")
    if not places:
        return None
    if _is_durable(patch, op):
        confirmed_only = profile.body["durable_writes"] == "confirmed_only"
        if confirmed_only or patch.confidence is None or patch.confidence < durable:
            return durable
    section = profile.pending(patch.binding_id)
    waits = section is not None and all(lies_within(place, section) for place in places)
    reaches = patch.confidence is not None and patch.confidence >= auto
    return None if patch.reason != "replay_update" or waits or reaches else auto


def _is_durable(patch: Patch, op: Json) -> bool:
    sections = patch.profile.durable(patch.binding_id)
    return any(touches(place, section) for place in written(op) for section in sections)


def _check_evidence(patch: Patch, ops: list[Json]) -> None:
    given: Json = patch.evidence or {}
    if given.get("stated_by") is not None and not patch.is_own_statement:
        message = "evidence.stated_by must be the signed-in user who makes this change of their own memory."
        raise Refusal("EVIDENCE_REQUIRED", message)
    needed = patch.reason == "replay_update" or any(_is_durable(patch, op) for op in ops)
    if needed and not patch.is_own_statement and not any(given.get(name) for name in SOURCES):
        raise Refusal("EVIDENCE_REQUIRED", "Durable sections and replays need evidence with a pointer.")


def _check_pending(patch: Patch, effective: list[Json], before: Json, after: Json) -> None:
    """Refuse items that the service did not add, and to write more than a removed item proposes."""
    section = patch.profile.pending(patch.binding_id)
    if section is None or not any(touches(place, section) for op in effective for place in written(op)):
        return
    made = [canonical(op["value"]) for op, sent in zip(effective, patch.ops, strict=True) if op is not sent]
    had, has = _items(before, section), _items(after, section)
    if set(has) - set(had) - set(made):
        raise Refusal("PENDING_ITEM_INVALID", "Only the service adds items to a pending section.")
    joined = {
        op["value"]["id"] for op in effective if op["op"] == "replace" and lies_within(pointer(op["path"])[1:], section)
    }
    gone = [item for text, item in had.items() if text not in has and item.get("id") not in joined]
    for op in (sent for sent, done in zip(patch.ops, effective, strict=True) if sent is done) if gone else ():
        if all(lies_within(place, section) for place in written(op)):
            continue
        if not all(may_confirm(item, patch.principal, patch.profile) for item in gone):
            raise Refusal("PROPOSER_CANNOT_CONFIRM", "A pending item is not confirmed by its proposer.")
        proposed = [item for item in gone if (item["target"]["op"], item["target"]["path"]) == (op["op"], op["path"])]
        if not proposed:
            message = "A patch that removes a pending item may only write what the item proposes."
            raise Refusal("PENDING_TARGET_CHANGED", message, path=op["path"])
        gone.remove(proposed[0])


def may_confirm(item: Json, principal: str, profile: Profile) -> bool:
    """Whether a principal may confirm an item."""
    return profile.body["confirmed_by"] == "anyone" or principal not in proposers_of(item)


def _items(content: Json, section: Pointer) -> dict[str, Json]:
    try:
        return {canonical(item): item for item in resolve(content, section)}
    except LookupError:
        return {}


def _length(content: Json, name: str) -> int:
    section = content.get(name) if isinstance(content, dict) else None
    return len(section) if isinstance(section, list) else 0
