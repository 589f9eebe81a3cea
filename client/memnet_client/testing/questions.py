"""Questions: pending items that contradict an open entry, and the answers to them.

The fake takes the entry that a question shows by its id, and sets a proposal apart by its value.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from memnet_client.testing.json_patch import ROOT, Json, Pointer, pointer, pointer_text, resolve
from memnet_client.testing.refusals import Refusal

ROLE = {"user": "Memory.Write", "tenant": "Memory.Admin"}
MAX_CHOICES = 8
SHARED = ("alternatives", "also_proposed_by", "contradicts", "question", "choices", "decides")
Rules = Mapping[Pointer, Json]


def proposals_of(item: Json) -> list[Json]:
    """Return the proposals of an item, in the order of its choices."""
    return [item, *item.get("alternatives", ())]


def proposers_of(item: Json) -> set[str]:
    """Return the principals that proposed something of the item, or for whom it was proposed."""
    return {item.get("proposed_by"), item.get("on_behalf_of"), *item.get("also_proposed_by", ())} - {None}


def check_decides(item: Json, roles: frozenset[str]) -> None:
    """Raise Refusal ROLE_REQUIRED unless the caller may decide the item."""
    needed = ROLE.get(item.get("decides", ""))
    if needed is not None and needed not in roles:
        message = f"The {item['decides']} decides this question, which requires the role {needed}."
        raise Refusal("ROLE_REQUIRED", message, roles=[needed], decides=item["decides"])


def joined(question: Json, item: Json, value_of: Any) -> Json | None:
    """Return the question with the statement of `item`; None: it has no room for one more choice."""
    made = deepcopy(question)
    said = value_of(item["target"]["value"])
    same = next((one for one in proposals_of(made) if value_of(one["target"]["value"]) == said), None)
    if same is not None:
        entry, source = same["target"]["value"], item.get("evidence") or {}
        had = entry.get("evidence") or {}
        entry["evidence"] = {**had, "also": [*had.get("also", ()), source]}
    elif len(proposals_of(made)) + 1 >= MAX_CHOICES:
        return None
    else:
        own = {name: value for name, value in item.items() if name not in SHARED}
        made["alternatives"] = [*made.get("alternatives", ()), own]
        if "choices" in made:
            made["choices"].append(item["choices"][1])
    for principal in (item["proposed_by"], item["on_behalf_of"]):
        if principal is not None and principal not in proposers_of(made):
            made["also_proposed_by"] = [*made.get("also_proposed_by", ()), principal]
    return made


def taken(item: Json, body: Json, content: Json, rules: Rules, answer: Json) -> tuple[Json | None, list[Json]]:
    """Return the proposal that an answer takes, or None, and the operations on the entry that exists.

    `answer`: the item of evidence that the answer adds to an entry. Raises Refusal MALFORMED_REQUEST and
    PENDING_TARGET_CHANGED.
    """
    take, choice = body.get("take", "proposed"), body.get("choice") or 1
    section = pointer(item["target"]["path"])[1:-1]
    rule = rules.get(section) if "contradicts" in item else None
    proposals = proposals_of(item)
    if rule is None and take != "proposed":
        message = "Only an item that contradicts an entry has the answers existing and both."
        raise Refusal("MALFORMED_REQUEST", message, pending_id=item["id"])
    if choice > len(proposals) or (take == "existing" and choice != 1):
        message = f"The choice must be from 1 to {len(proposals)}: an index into the choices of the item."
        raise Refusal("MALFORMED_REQUEST", message, pending_id=item["id"])
    for name, wanted in (("apart", "both"), ("value", "proposed")):
        if body.get(name) is not None and take != wanted:
            raise Refusal("MALFORMED_REQUEST", f"{name} is only for the answer {wanted}.", pending_id=item["id"])
    proposal = None if take == "existing" else proposals[choice - 1]
    if rule is None or take == "proposed":
        return proposal, []
    place, entry = _shown(item, content, section, rule)
    had = entry.get("evidence") or {}
    sure = max(body["confidence"], entry.get("confidence") or 0.0)
    written = {"evidence": {**had, "also": [*had.get("also", ()), answer]}, "confidence": sure}
    at = (ROOT, *section, str(place))
    ops = [{"op": "add", "path": pointer_text((*at, name)), "value": value} for name, value in written.items()]
    if proposal is None:
        return None, ops
    claimant, value = rule.get("claimed_by_field"), proposal["target"]["value"]
    if claimant is not None and value.get(claimant) != entry.get(claimant) and body.get("apart") is None:
        return proposal, ops
    name = [member for member in rule["about"] if member != claimant][-1]
    had_apart, said = value.get(name), str(value.get(rule["value_field"]))
    apart = body.get("apart") or (f"{had_apart}: {said}" if had_apart else said)
    target = {**proposal["target"], "value": {**value, name: apart}}
    return {**proposal, "target": target}, ops


def find_answer(content: Json, pending_id: str, rules: Rules) -> Json | None:
    """Return what was decided about a pending item, as the details of an error, if an entry keeps the answer."""
    for section, rule in rules.items():
        for place, entry in enumerate(_entries(content, section)):
            evidence = entry.get("evidence") or {}
            for one in [evidence, *evidence.get("also", ())]:
                if one.get("answer", {}).get("pending_id") == pending_id and entry.get(rule["until_field"]) is None:
                    where = {"pointer": pointer_text((ROOT, *section, str(place))), "entry": entry}
                    return {**where, "decided_by": one["confirmed_by"], "decided_at": one["answer"]["at"]}
    return None


def shown_in(item: Json, content: Json, rules: Rules) -> Json | None:
    """Return the open entry that a question shows, as a row of the tenant's list; None: it is not open any more."""
    section = pointer(item["target"]["path"])[1:-1]
    rule = rules.get(section)
    if rule is None or "contradicts" not in item:
        return None
    try:
        place, entry = _shown(item, content, section, rule)
    except Refusal:
        return None
    evidence = entry.get("evidence") or {}
    items = [one for one in [{n: v for n, v in evidence.items() if n != "also"}, *evidence.get("also", ())] if one]
    return {
        "pointer": pointer_text((ROOT, *section, str(place))),
        "entry": entry,
        "evidence": items,
        "confidence": entry.get("confidence"),
        "since": entry.get(rule["from_field"]),
        "confirmed_by": sorted({one["confirmed_by"] for one in items if "confirmed_by" in one}),
    }


def _shown(item: Json, content: Json, section: Pointer, rule: Json) -> tuple[int, Json]:
    for place, entry in enumerate(_entries(content, section)):
        if entry.get(rule["id_field"]) == item["contradicts"] and entry.get(rule["until_field"]) is None:
            return place, entry
    message = "The entry that the question shows is not open any more. Nothing was written."
    raise Refusal("PENDING_TARGET_CHANGED", message, pending_id=item["id"], path=pointer_text((ROOT, *section)))


def _entries(content: Json, section: Pointer) -> list[Json]:
    try:
        found = resolve(content, section)
    except LookupError:
        return []
    return [one if isinstance(one, dict) else {} for one in found] if isinstance(found, list) else []
