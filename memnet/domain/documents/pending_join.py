"""Join a proposal with the pending item that waits for the same, or with the question about the same thing.

An item counts the conversations in which the user stated it (`stated`). Only replays count: they cite what the user
said, and a live writer cannot set `stated`.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.entry_template import kept_by_service
from memnet.domain.catalog.path_policy import ROOT, touches
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Operation, Pointer, parse_patch, pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalized_text
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.commands import PatchDocument, Redirection, Settled
from memnet.domain.documents.difference import difference
from memnet.domain.documents.entry import confidence_of, entries_at, joint_evidence, moment, rule_of
from memnet.domain.documents.pending_item import proposals_of, written
from memnet.domain.documents.statement import statements_of, thing_of, value_of
from memnet.domain.documents.statement_question import (
    QUESTION,
    asked_again,
    choice_of,
    find_question,
    section_of,
    with_choice,
    with_proposal,
)

STATED: Final = "stated"
"""The member of a pending item with the conversations in which the user stated it: conversation_id, from, until."""
MAX_STATED: Final = 20
"""The most that a profile can require (`Corroboration.statements`)."""
PROPOSAL = SectionUpkeep(section="/any")
"""Of a pending item, evidence and confidence have the default names."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A patch whose pending items are joined with those that wait."""

    ops: list[Operation]
    """The operations: an addition of an item that waits already changes, member by member, that item instead."""
    whole: list[Operation]
    """The same, but each item that waits is replaced as a whole."""
    pending_ids: Mapping[str, str]
    """By the id of an item that is not added, the id of the one that waits."""
    dropped: frozenset[str] = frozenset()
    """The ids of items that are not added, because the question about the same thing is full."""

    def redirection(self, row: Redirection) -> Redirection:
        """Return the row with the id of the item that waits."""
        return {**row, "pending_id": self.pending_ids.get(row["pending_id"], row["pending_id"])}

    def verdict(self, row: Settled) -> Settled:
        """Return the row with the id of the item that waits, if it waits."""
        pending_id = row.get("pending_id")
        if pending_id is None:
            return row
        if pending_id in self.dropped:
            kept: Any = {name: value for name, value in row.items() if name != "pending_id"} | {"verdict": "kept"}
            dropped: Settled = kept
            return dropped
        return {**row, "pending_id": self.pending_ids.get(pending_id, pending_id)}


def join(
    command: PatchDocument, rules: WriteRules, ops: list[Operation], before: Json, *, sent: Sequence[Operation]
) -> Joined:
    """Join each item that the service adds to the pending section with one that waits in the content `before`.

    A patch whose `sent` operations change the pending section is left as it is: they move its items.

    A question takes every statement about the same thing. Else they join if the same principal proposes to add the
    same to the same array, under this profile or one of `rules.shared_by`: a statement about the same thing with the
    same value, else the same normalised text with the same members, but for those that the service fills.
    """
    profile = rules.profile
    section = profile.pending.get(command.binding_id)
    if section is None or any(_touches(op, section) for op in sent):
        return Joined(ops, ops, {})
    upkeep = profile.upkeep_rules.get(command.binding_id, ())
    waiting = [*entries_at(before, pointer_text(section))]
    found: list[Operation] = []
    whole: list[Operation] = []
    pending_ids: dict[str, str] = {}
    dropped: set[str] = set()
    taken = set(range(len(waiting), len(waiting) + len(ops)))  # what this patch adds is not joined with itself
    for op in ops:
        if not _adds_to(op, section):
            found.append(op)
            whole.append(op)
            continue
        item = _counted(op.value, command, profile)
        asked = find_question(item, waiting, upkeep)
        index = _equal(item, waiting, taken, rules) if asked is None else asked
        if index is None:
            waiting.append(item)
            made = parse_patch([{**op.body, "value": item}])
            found += made
            whole += made
            continue
        kept = waiting[index]
        joint = _joint(kept, item, upkeep) if asked is None else _asked(kept, item, upkeep)
        if joint is None:
            dropped.add(str(item["id"]))
            joint = kept
        pending_ids[str(item["id"])] = str(joint.get("id"))
        taken.add(index)
        waiting[index] = joint
        place = (ROOT, *section, str(index))
        replaced = parse_patch([{"op": "replace", "path": pointer_text(place), "value": joint}])
        # So each member, and each choice of a question, keeps the change that it comes from.
        found += parse_patch(list(difference(kept, joint, place))) or replaced
        whole += replaced
    return Joined(found, whole, pending_ids, frozenset(dropped))


def _asked(kept: dict[str, Any], item: dict[str, Any], rules: Sequence[SectionUpkeep]) -> dict[str, Any] | None:
    """Return the question `kept` with the statement of `item`: as evidence of an equal one, or as one more choice.

    None: the question is full.
    """
    rule = section_of(item, rules)
    assert rule is not None
    number = choice_of(kept, item, rule)
    if number is None:
        made = with_choice(kept, item)
    else:
        made = with_proposal(kept, number, _joint(proposals_of(kept)[number], item, rules))
    if made is None:
        return None
    return asked_again(made, kept, item, statements_of(rule).question)


def _touches(op: Operation, section: Pointer) -> bool:
    return any(touches(place, section) for place in written(op))


def _adds_to(op: Operation, section: Pointer) -> bool:
    return op.verb == "add" and op.path == (ROOT, *section, "-") and isinstance(op.value, dict)


def _counted(item: dict[str, Any], command: PatchDocument, profile: Profile) -> dict[str, Any]:
    """Return the item with the conversation in which the user stated it, if the profile counts them."""
    conversation_id = (command.evidence or {}).get("conversation_id")
    if profile.corroboration is None or command.stated_at is None or not isinstance(conversation_id, str):
        return item
    at = to_text(from_text(command.stated_at))
    row = {"conversation_id": conversation_id, "from": at, "until": at}
    return {**item, STATED: [row]}


def _equal(item: dict[str, Any], waiting: Sequence[Json], taken: set[int], rules: WriteRules) -> int | None:
    for index, other in enumerate(waiting):
        is_known = isinstance(other, dict) and other.get("profile_id") in (item.get("profile_id"), *rules.shared_by)
        if index not in taken and is_known and _proposes_the_same(item, other, rules.profile):
            return index
    return None


def _proposes_the_same(item: dict[str, Any], other: dict[str, Any], profile: Profile) -> bool:
    if any(item.get(name) != other.get(name) for name in ("proposed_by", "binding_id")):
        return False
    target, its = item["target"], other.get("target")
    if not isinstance(its, dict) or target["op"] != "add" or not str(target["path"]).endswith("/-"):
        return False
    if any(its.get(name) != target[name] for name in ("op", "path")):
        return False
    place = pointer(target["path"])[1:-1]
    section, rule = pointer_text(place), rule_of(place, profile.upkeep_rules.get(item["binding_id"], ()))
    one, another = target["value"], its.get("value")
    if rule.statements is not None and isinstance(one, dict) and isinstance(another, dict):
        return thing_of(one, rule) == thing_of(another, rule) and value_of(one, rule) == value_of(another, rule)
    text = normalized_text(one, rule.text_field)
    if text is None or text != normalized_text(another, rule.text_field):
        return False
    template = None if profile.extraction is None else profile.extraction.items.get(item["binding_id"], {}).get(section)
    filled = rule.usual_fields | kept_by_service(template or {})
    return _without(one, filled) == _without(another, filled)


def _without(entry: Json, names: AbstractSet[str]) -> bytes:
    rest = {name: value for name, value in entry.items() if name not in names} if isinstance(entry, dict) else {}
    return canonical(rest)


def _joint(kept: dict[str, Any], item: dict[str, Any], rules: Sequence[SectionUpkeep]) -> dict[str, Any]:
    """Return the item that waits, with the evidence, the confidence and the conversations of the other one.

    It asks what the other one asks: what it proposes may contradict an entry that was not open before.
    """
    joint = {name: item[name] for name in QUESTION if name in item} | _with_sources(kept, item, PROPOSAL)
    value, other = kept["target"].get("value"), item["target"]["value"]
    if isinstance(value, dict) and isinstance(other, dict):
        rule = rule_of(pointer(kept["target"]["path"])[1:-1], rules)
        joint["target"] = {**kept["target"], "value": _with_sources(value, other, rule)}
    stated = _together([*stated_in(kept), *stated_in(item)])
    return {**joint, STATED: stated} if stated else joint


def _with_sources(kept: dict[str, Any], other: dict[str, Any], rule: SectionUpkeep) -> dict[str, Any]:
    found = dict(kept)
    evidence = joint_evidence(kept, [other], rule)
    if evidence is not None:
        found[rule.evidence_field] = evidence
    claimed = [one for one in (confidence_of(kept, rule), confidence_of(other, rule)) if one is not None]
    if claimed:
        found[rule.confidence_field] = max(claimed)
    return found


def _together(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return one row for each conversation, by time. Of too many, the first and the last stay."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        known = found.get(row["conversation_id"], row)
        found[row["conversation_id"]] = {
            "conversation_id": row["conversation_id"],
            "from": min(known["from"], row["from"]),
            "until": max(known["until"], row["until"]),
        }
    ordered = sorted(found.values(), key=lambda row: (row["from"], row["conversation_id"]))
    return ordered if len(ordered) <= MAX_STATED else [*ordered[: MAX_STATED - 1], ordered[-1]]


def stated_in(item: dict[str, Any]) -> list[dict[str, str]]:
    """Return the conversations of an item. A PUT can store rows of another form, which do not count."""
    rows = item.get(STATED)
    return [row for row in rows if _is_row(row)] if isinstance(rows, list) else []


def _is_row(row: Json) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("conversation_id"), str):
        return False
    return all(moment(row.get(name)) is not None for name in ("from", "until"))
