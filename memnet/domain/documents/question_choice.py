"""Work out what an answer to a pending item takes: the proposal, the entry that exists, or both side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.domain.catalog.catalog import Catalog, WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MalformedRequest, PendingTargetChanged
from memnet.domain.core.json_patch import Op, apply
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.documents.answer import Answer, answer_of, apart_member
from memnet.domain.documents.commands import ConfirmPending
from memnet.domain.documents.entry import confidence_of, entries_at, evidence_of, open_entries
from memnet.domain.documents.pending_item import proposals_of
from memnet.domain.documents.statement import Entry, confirmed_by, statements_of, thing_of, time_of, value_of
from memnet.domain.documents.statement_fold import fold
from memnet.domain.documents.statement_question import CONTRADICTS, is_sound, question_section

APART_CHARS = (300, 80, 40)
"""To how many characters the value that sets an entry apart is shortened, if the schema refuses more."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What an answer takes."""

    proposal: dict[str, Any] | None
    """The proposal to apply; None: none."""
    existing: Op | None = None
    """The operation that writes the entry that exists, unchanged; None: it is not part of the answer."""
    answer: Answer | None = None
    """What the evidence keeps of it; None: the item is no question."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The open entry that a question shows."""

    pointer: str
    """Its place in the document."""
    entry: Entry
    evidence: list[Json]
    """What it rests on, one item for each source."""
    confidence: float | None
    since: str | None
    """Since when it holds."""
    confirmed_by: list[str]


def shown_in(item: dict[str, Any], content: Json, rules: Sequence[SectionUpkeep]) -> Shown | None:
    """Return the entry that a question shows; None: it is not open any more, or the item is no question."""
    rule = question_section(item, rules)
    found = None if rule is None else _shown(item, content, rule)
    if rule is None or found is None:
        return None
    place, entry = found
    return Shown(
        pointer=f"/{ROOT}{rule.section}/{place}",
        entry=entry,
        evidence=evidence_of(entry, rule),
        confidence=confidence_of(entry, rule),
        since=time_of(entry, statements_of(rule).from_field) or None,
        confirmed_by=sorted(confirmed_by(entry, rule)),
    )


def shown_by(catalog: Catalog, key: DocumentKey, item: dict[str, Any], content: Json) -> Shown | None:
    """Return the entry that a question of a document shows, under the rules of the item's profile.

    None: it is not open any more, the item is no question, or its profile has no such rules now.
    """
    named = item.get("profile_id"), item.get("binding_id")
    for rules in catalog.covering(key) if CONTRADICTS in item else ():
        if (rules.profile.profile_id, rules.binding.binding_id) == named:
            return shown_in(item, content, rules.section_rules)
    return None


def is_outdated(item: Json, content: Json, rules: Sequence[SectionUpkeep]) -> bool:
    """Return whether a question shows an entry that is not open any more, so that its words are wrong."""
    return question_section(item, rules) is not None and shown_in(item, content, rules) is None


def choose(command: ConfirmPending, item: dict[str, Any], content: Json, rules: WriteRules) -> Taken:
    """Return what an answer to `item` takes in `content`.

    Raises MalformedRequest if the item offers no such choice, and PendingTargetChanged if the entry that the question
    shows is not open any more; its details hold the entry that is open instead, which is memory content.
    """
    rule = question_section(item, rules.section_rules)
    _check(command, item, is_question=rule is not None)
    if rule is None:
        return Taken(item)
    if not is_sound(item, rules.section_rules):
        raise PendingTargetChanged(pending_id=item.get("id"), why="ambiguous", path=f"/{ROOT}{rule.section}")
    proposals = proposals_of(item)
    chosen = None if command.take == "existing" else proposals[command.choice - 1]
    refused = [one["target"]["value"] for one in proposals if one is not chosen]
    shown = _shown(item, content, rule)
    if command.take == "proposed":
        is_current = shown is not None
        return Taken(chosen, None, answer_of(command.pending_id, refused, rule, is_current=is_current))
    if shown is None:
        raise _changed(item, content, rule)
    place, entry = shown
    write: Op = {"op": "replace", "path": f"/{ROOT}{rule.section}/{place}", "value": entry}
    is_beside = chosen is not None and thing_of(chosen["target"]["value"], rule) != thing_of(entry, rule)
    if chosen is None or (is_beside and command.apart is None):
        answer = answer_of(command.pending_id, refused, rule)
        return Taken(chosen, write, replace(answer, keeps_others=command.take == "both"))
    apart = _apart(command, chosen, content, rules, rule)
    had = chosen["target"]["value"].get(apart_member(rule))
    answer = answer_of(command.pending_id, refused, rule, apart_from=[had])
    return Taken(apart, write, replace(answer, keeps_others=True))


def _check(command: ConfirmPending, item: Json, *, is_question: bool) -> None:
    """Refuse an answer that the item does not offer, or that says two things. Raises MalformedRequest."""
    offered = len(proposals_of(item))
    if not is_question and command.take != "proposed":
        message = "Only an item that contradicts an entry has the answers existing and both."
        raise MalformedRequest(message, param="/take", pending_id=command.pending_id)
    if not 1 <= command.choice <= offered or (command.take == "existing" and command.choice != 1):
        message = f"The choice must be from 1 to {offered}: an index into the choices of the item."
        if command.take == "existing":
            message = "The answer existing takes no choice."
        hint = "Choice 0 is the open entry: send take existing for it."
        raise MalformedRequest(message, param="/choice", hint=hint, pending_id=command.pending_id)
    if command.apart is not None and command.take != "both":
        raise MalformedRequest("apart is only for the answer both.", param="/apart", pending_id=command.pending_id)
    if command.values and command.take != "proposed":
        message = "A value is only for the answer proposed."
        raise MalformedRequest(message, param="/value", pending_id=command.pending_id)


def _shown(item: dict[str, Any], content: Json, rule: SectionUpkeep) -> tuple[int, Entry] | None:
    """Return the open entry that the question shows, and its index; None: it is not open any more.

    One that says the same and has taken its place counts, too.
    """
    before = _contradicted(item, content, rule)
    if before is None:
        return None
    held = [row for row in open_entries(content, rule) if thing_of(row[1], rule) == thing_of(before, rule)]
    same = [row for row in held if value_of(row[1], rule) == value_of(before, rule)]
    return next((row for row in same if row[1] is before), same[0] if same else None)


def _changed(item: dict[str, Any], content: Json, rule: SectionUpkeep) -> PendingTargetChanged:
    """Return the refusal, whose details show the versions: they are memory content."""
    before = _contradicted(item, content, rule)
    thing = thing_of(item["target"]["value"] if before is None else before, rule)
    return PendingTargetChanged(
        "The entry that the question shows is not open any more. Nothing was written.",
        hint="Read what is open now; then take a proposal, or reject the item.",
        pending_id=item.get("id"),
        why="gone" if before is None else "changed",
        path=f"/{ROOT}{rule.section}",
        base=before,
        ours=item.get("target"),
        theirs=next((one for _, one in open_entries(content, rule) if thing_of(one, rule) == thing), None),
    )


def _contradicted(item: dict[str, Any], content: Json, rule: SectionUpkeep) -> Entry | None:
    entries = [one for one in entries_at(content, rule.section) if isinstance(one, dict)]
    return next((one for one in entries if _id(one, rule) == item[CONTRADICTS]), None)


def _id(entry: Entry, rule: SectionUpkeep) -> Json:
    """Return the id of an entry; of one without, the id that the gate would give it."""
    own = entry.get(rule.id_field)
    return own if isinstance(own, str) else fold({0: entry}, rule)[-1].entry.get(rule.id_field)


def _apart(
    command: ConfirmPending, chosen: dict[str, Any], content: Json, rules: WriteRules, rule: SectionUpkeep
) -> dict[str, Any]:
    """Return the proposal about something of its own, beside what is open. Raises MalformedRequest."""
    name, target = apart_member(rule), chosen["target"]
    given = command.apart is not None
    for text in [command.apart] if command.apart is not None else _derived(target["value"], name, rule):
        made = {**target, "value": {**target["value"], name: text}}
        after = apply({ROOT: orjson.loads(canonical(content))}, [made])[ROOT]
        if not given and rules.schema.violations(after):
            continue
        if any(thing_of(one, rule) == thing_of(made["value"], rule) for _, one in open_entries(content, rule)):
            message = f"Another entry is open with this {name}."
            raise MalformedRequest(message, param="/apart", hint=f"Send another {name}.", pending_id=command.pending_id)
        return {**chosen, "target": made}
    message = f"The schema allows no {name} that is made of the proposed value."
    hint = f"Send in apart the {name} that sets the entry apart."
    raise MalformedRequest(message, param="/apart", hint=hint, pending_id=command.pending_id)


def _derived(entry: Entry, name: str, rule: SectionUpkeep) -> Iterator[str]:
    """Yield what sets an entry apart: its value, behind what it is about already."""
    value = entry.get(statements_of(rule).value_field)
    text = value if isinstance(value, str) else canonical(value).decode()
    had = entry.get(name)
    whole = f"{had}: {text}" if isinstance(had, str) and had else text
    for length in APART_CHARS:
        yield whole[:length].strip()
