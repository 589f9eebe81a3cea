"""Pending items: list, confirm, reject."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memnet_client.testing.call import Answer, Call, check_identifier, checked_place
from memnet_client.testing.commits import Decision, Write, commit, target
from memnet_client.testing.documents import governed
from memnet_client.testing.json_patch import ROOT, Json, Pointer, canonical, pointer, pointer_text, resolve
from memnet_client.testing.patches import Patch, applied, check_claim, content_of, decision, may_confirm, settle
from memnet_client.testing.questions import check_decides, find_answer, shown_in, taken
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import covers
from memnet_client.testing.state import Document, Place, UserMemory, World


@dataclass(frozen=True)
class Waiting:
    """A pending item and its position."""

    section: Pointer
    index: int
    item: Json

    @property
    def pointer(self) -> str:
        """The pointer of the item in the document."""
        return pointer_text((ROOT, *self.section, str(self.index)))


def list_pending(call: Call) -> Answer:
    """List the items of all documents, by document name."""
    documents = [(place, found) for place, found in sorted(call.memory.documents.items()) if found.exists]
    page = call.page("pending", documents, most=25)
    rows = [
        {
            "namespace": place[0],
            "path": place[1],
            "pointer": waiting.pointer,
            "etag": document.newest.etag,
            "item": waiting.item,
            "existing": _existing(call.world, waiting.item, document),
        }
        for place, document in page.body["pending"]
        for waiting in _waiting(call.world, place, document)
    ]
    return Answer({**page.body, "pending": rows})


def list_tenant_pending(call: Call) -> Answer:
    """List the questions that the tenant decides, of all users, each with the entry that it shows."""
    if call.query("decides") not in (None, "tenant"):
        raise Refusal("MALFORMED_REQUEST", "The query parameter decides must be tenant.", parameter="decides")
    page = call.page("pending", sorted(call.tenant.users.items()), most=25)
    rows = [row for user_id, memory in page.body["pending"] for row in _questions(call.world, user_id, memory)]
    return Answer({**page.body, "pending": rows})


def _questions(world: World, user_id: str, memory: UserMemory) -> Iterator[Json]:
    for place, document in sorted(memory.documents.items()):
        for waiting in _waiting(world, place, document) if document.exists else ():
            if waiting.item.get("decides") != "tenant":
                continue
            yield {
                "user_id": user_id,
                "namespace": place[0],
                "path": place[1],
                "pointer": waiting.pointer,
                "etag": document.newest.etag,
                "item": waiting.item,
                "existing": _existing(world, waiting.item, document),
            }


def _existing(world: World, item: Json, document: Document) -> Json | None:
    """Return the open entry that a question shows."""
    if "contradicts" not in item:
        return None
    rules = world.profiles[item["profile_id"]].statements(item["binding_id"])
    return shown_in(item, document.newest.view[ROOT], rules)


def items_of(world: World, memory: UserMemory) -> list[Json]:
    """Return the pending items of all documents of a user."""
    documents = [(place, found) for place, found in memory.documents.items() if found.exists]
    return [one.item for place, document in documents for one in _waiting(world, place, document)]


def confirm_pending(call: Call) -> Answer:
    """Apply the proposed operation to the newest version and remove the item, in one change."""
    body, place, pending_id, write = _head(call, "CONFIRM")

    def decide(stored: Document | None) -> Decision:
        found, patch = _find(call, place, pending_id, stored)
        if not may_confirm(found.item, call.principal, patch.profile):
            raise Refusal("PROPOSER_CANNOT_CONFIRM", "A pending item is not confirmed by its proposer.")
        before, now = content_of(stored, patch.binding), call.world.ticks.now()
        rules = patch.profile.statements(patch.binding_id)
        answer = {**(body.get("evidence") or {}), "at": now, "confirmed_by": call.principal}
        answer["answer"] = {"pending_id": pending_id, "at": now}
        proposal, written = taken(found.item, body, before, rules, answer)
        if proposal is not None:
            op = dict(proposal["target"])
            if "value" in body:
                op["value"] = body["value"]
            written += _verified(_carried(op, proposal, before), body, now)
        evidence = {**(body.get("evidence") or {}), "pending_id": pending_id}
        if "contradicts" in found.item:
            evidence["take"] = body.get("take", "proposed")
            if evidence["take"] != "existing":
                evidence["choice"] = body.get("choice", 1)
        patch = replace(patch, reason="confirmation", confidence=body["confidence"], evidence=evidence)
        check_claim(patch, written)
        ops, settled = settle(
            call.world,
            patch,
            before,
            [{"op": "remove", "path": found.pointer}, *written],
            stored,
            is_confirmed=True,
            proposed_at=found.item["proposed_at"] if proposal is None else proposal["proposed_at"],
            answer=answer if "contradicts" in found.item else None,
        )
        return decision(patch, patch.binding, applied(patch.profile, patch.binding, before, ops), ops, [], settled)

    return commit(call.world, target(call, place), write, decide)


def reject_pending(call: Call) -> Answer:
    """Remove the item; nothing else changes."""
    body, place, pending_id, write = _head(call, "REJECT")

    def decide(stored: Document | None) -> Decision:
        found, patch = _find(call, place, pending_id, stored)
        ops = [{"op": "remove", "path": found.pointer}]
        content = applied(patch.profile, patch.binding, content_of(stored, patch.binding), ops)
        patch = replace(patch, reason="rejection")
        return replace(decision(patch, patch.binding, content, ops, []), note=body.get("note"))

    return commit(call.world, target(call, place), write, decide)


def _head(call: Call, verb: str) -> tuple[Json, Place, str, Write]:
    pending_id, tag = check_identifier("pending_id", call.path["pending_id"]), call.if_match()
    if call.request.headers.get("If-None-Match") is not None:
        raise Refusal("INVALID_PRECONDITION", "A decision accepts only If-Match.")
    place = checked_place(call.body["namespace"], call.body["path"])
    request = [verb, pending_id, call.body]
    write = Write(call.identity, call.key(), request, tag, call.flag("dry_run"))
    return call.body, place, pending_id, write


def _waiting(world: World, place: Place, document: Document) -> Iterator[Waiting]:
    sections = {
        section
        for profile in world.profiles.values()
        for binding in profile.bindings
        if covers(binding, place) and (section := profile.pending(binding["binding_id"])) is not None
    }
    for section in sorted(sections):
        try:
            items = resolve(document.newest.view[ROOT], section)
        except LookupError:
            continue
        for index, item in enumerate(items):
            yield Waiting(section, index, item)


def _find(call: Call, place: Place, pending_id: str, stored: Document | None) -> tuple[Waiting, Patch]:
    waiting = _waiting(call.world, place, stored) if stored else iter(())
    found = [one for one in waiting if one.item["id"] == pending_id]
    if len(found) != 1:
        raise Refusal(
            "PENDING_ITEM_NOT_FOUND",
            "The document has no pending item with this id.",
            **_decided(call, place, pending_id, stored),
        )
    profile, binding = governed(call, found[0].item, place)
    check_decides(found[0].item, call.identity.roles)
    return found[0], Patch(profile, binding, [], "confirmation", call.principal, person=call.person)


def _decided(call: Call, place: Place, pending_id: str, stored: Document | None) -> Json:
    """Return what was decided about a question, for a caller that may read."""
    if stored is None or not call.identity.may_read:
        return {}
    for profile in call.world.profiles.values():
        for binding in profile.bindings:
            rules = profile.statements(binding["binding_id"]) if covers(binding, place) else {}
            found = find_answer(stored.newest.view[ROOT], pending_id, rules)
            if found is not None:
                return {**found, "etag": stored.newest.etag}
    return {}


def _carried(op: Json, item: Json, content: Json) -> list[Json]:
    """Return the operation for the newest content; none if its result is there already.

    Raises Refusal PENDING_TARGET_CHANGED if what it touches was changed, is gone or is ambiguous.
    """
    place, base = pointer(op["path"])[1:], item["base"]
    try:
        parent = _followed(place[:-1], base, content)
        there = resolve(content, parent)
        if op["op"] == "add":
            last = "-" if isinstance(there, list) else place[-1]
            same = isinstance(there, list) and any(canonical(one) == canonical(op["value"]) for one in there)
        else:
            last = _followed(place, base, content)[-1]
            found, had = canonical(resolve(there, (last,))), canonical(resolve(base, place))
            same = "value" in op and found == canonical(op["value"])
            if found != had and not same:
                raise LookupError(last)
    except LookupError:
        message = "The target of the pending item was changed, is gone or is ambiguous."
        raise Refusal("PENDING_TARGET_CHANGED", message, pending_id=item["id"], path=op["path"]) from None
    return [] if same else [{**op, "path": pointer_text((ROOT, *parent, last))}]


def _followed(place: Pointer, base: Json, content: Json) -> Pointer:
    """Return where the value at a pointer of `base` is in `content`. Raises LookupError."""
    found: Pointer = ()
    for depth, segment in enumerate(place):
        if isinstance(content, list):
            had = canonical(resolve(base, place[: depth + 1]))
            same = [index for index, one in enumerate(content) if canonical(one) == had]
            if len(same) != 1:
                raise LookupError(segment)
            segment = str(same[0])
        content, found = resolve(content, (segment,)), (*found, segment)
    return found


def _verified(ops: list[Json], body: Json, now: str) -> list[Json]:
    """Set confidence, evidence and time of verification in a written entry that has these members."""
    for op in ops:
        entry = op.get("value")
        if isinstance(entry, dict):
            claims = {"confidence": body["confidence"], "last_verified_at": now, "evidence": body.get("evidence")}
            known = {name: value for name, value in claims.items() if name in entry and value is not None}
            op["value"] = {**entry, **known}
    return ops
