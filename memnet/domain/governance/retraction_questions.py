"""Plan what happens to a question when a source is taken back: it asks about what is there, and offers what remains."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import Json
from memnet.domain.documents.difference import GONE
from memnet.domain.documents.entry import entries_at, evidence_of, is_open
from memnet.domain.documents.pending_item import ALSO_PROPOSED_BY, ALTERNATIVES, proposals_of
from memnet.domain.documents.statement import Entry, thing_of
from memnet.domain.documents.statement_question import CONTRADICTS, OF_QUESTION, asks_about, is_sound
from memnet.domain.governance.retraction_units import Unit
from memnet.domain.governance.source import Source
from memnet.domain.history.origin import Traced

_ID_CHARS: Final = 32
_PROPOSERS = ("proposed_by", "on_behalf_of")


def is_question(item: Json, rules: Sequence[SectionUpkeep]) -> bool:
    """Return whether an entry is a pending item whose statements contradict an open one."""
    return isinstance(item, dict) and CONTRADICTS in item and is_sound(item, rules)


def proposals_in(question: Traced) -> Iterator[Traced]:
    """Yield the nodes of the proposals of a question, each without the members that belong to the question."""
    alternatives = question.value.get(ALTERNATIVES)
    others = alternatives.value if alternatives is not None and isinstance(alternatives.value, list) else []
    for node in [question, *(one for one in others if isinstance(one.value, dict))]:
        own = {name: child for name, child in node.value.items() if name not in OF_QUESTION}
        yield Traced(own, node.origin, node.further, node.was)


def remaining(
    question: dict[str, Any],
    proposals: Sequence[Any],
    also: Sequence[Json],
    entries: Sequence[tuple[Json, Any]],
    rule: SectionUpkeep,
) -> Any:
    """Return what remains of a question; GONE: nothing of what was proposed.

    `proposals`: what remains of each, or GONE; `also`: of the further proposers; `entries`: those of its section, each
    before and after. It asks about the entry that is open then. A question whose choices have moved, or that
    asks about another entry, gets a new id, so that an answer to the old one applies to nothing.
    """
    kept = [one for one in proposals if one is not GONE]
    if not kept:
        return GONE
    had = [_own(one) for one in proposals_of(question)]
    shown = next(((was, after) for was, after in entries if _id(was, rule) == question[CONTRADICTS]), (None, None))
    if canonical(had) == canonical(kept) and shown[1] is not GONE and canonical(shown[0]) == canonical(shown[1]):
        return question
    first, *others = kept
    made = {**first, **{name: question[name] for name in (CONTRADICTS, "decides") if name in question}}
    made |= {ALTERNATIVES: others} if others else {}
    own = [first.get(name) for name in _PROPOSERS]
    known = [*also, *(one.get(name) for one in others for name in _PROPOSERS)]
    further = [one for one in dict.fromkeys(known) if one is not None and one not in own]
    made |= {ALSO_PROPOSED_BY: further} if further else {}
    if "choices" in question:
        made = asks_about(made, _open_about(question, first, [after for _, after in entries], rule), rule)
    keeps_choices = GONE not in proposals[: len(kept)] and made[CONTRADICTS] == question[CONTRADICTS]
    ids = [question["id"], made[CONTRADICTS], *(one["id"] for one in kept)]
    return {**made, "id": question["id"] if keeps_choices else sha256_hex(canonical(ids))[:_ID_CHARS]}


def without_copies(item: dict[str, Any], gone: Sequence[Unit], source: Source, rules: Sequence[SectionUpkeep]) -> Json:
    """Return a pending item, and its alternatives, whose bases copy no entry of the source.

    A base keeps the entries that could be confused with the one that is added: those that are `gone`, and those whose
    evidence names the source alone. An operation on an entry that exists needs its base as it is.
    """
    made = dict(item)
    if isinstance(item.get(ALTERNATIVES), list):
        others = [one for one in item[ALTERNATIVES] if isinstance(one, dict)]
        made[ALTERNATIVES] = [without_copies(one, gone, source, rules) for one in others]
    target, base = item.get("target"), item.get("base")
    path = target.get("path") if isinstance(target, dict) and target.get("op") == "add" else None
    rule = next((one for one in rules if len(one.place) == 1 and path == f"/{ROOT}{one.section}/-"), None)
    if rule is None or not isinstance(base, dict) or rule.place[0] not in base:
        return made
    ids = [_id(unit.before, rule) for unit in gone if unit.place[:-1] == rule.place]

    def is_copy(entry: Json) -> bool:
        items = evidence_of(entry, rule) if isinstance(entry, dict) else []
        return (bool(items) and all(map(source.cites, items))) or (_id(entry, rule) or GONE) in ids

    kept = [entry for entry in entries_at(base, rule.section) if not is_copy(entry)]
    return {**made, "base": {**base, rule.place[0]: kept}}


def _own(proposal: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in proposal.items() if name not in OF_QUESTION}


def _open_about(question: Json, proposal: Json, after: Sequence[Any], rule: SectionUpkeep) -> Entry | None:
    """Return the entry that the question shows if it stays open, else the open one about the same thing."""
    remain = [one for one in after if isinstance(one, dict) and is_open(one, rule)]
    shown = [one for one in remain if _id(one, rule) == question[CONTRADICTS]]
    thing = thing_of(proposal["target"]["value"], rule)
    return next(iter([*shown, *(one for one in remain if thing_of(one, rule) == thing)]), None)


def _id(entry: Any, rule: SectionUpkeep) -> Json:
    return entry.get(rule.id_field) if isinstance(entry, dict) else None
