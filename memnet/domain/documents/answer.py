"""The answer to a question, as the entries that it confirms keep it in their evidence.

An answer is one item of evidence with `confirmed_by` and `answer`: the pending item that was answered, when, and the
digests of what was not taken. So a statement that the person has already answered is not asked again, and a late
answer can be shown what was decided.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import entries_at, evidence_of, is_open
from memnet.domain.documents.pending_item import PROVENANCE
from memnet.domain.documents.statement import (
    ANSWER,
    AT,
    CONFIRMED_BY,
    LACKS,
    Entry,
    statements_of,
    thing_of,
    time_of,
    value_of,
)

MAX_DIGESTS = 40
"""Digests of evidence that an answer keeps: of a question with eight choices, some five for each."""
_DIGEST_CHARS = 16
_APART_FROM: Final = "apart_from"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a confirmation decided: the pending item, and the statements that it did not take."""

    pending_id: str
    values: tuple[str, ...] = ()
    """The digests of what these statements say."""
    evidence: tuple[str, ...] = ()
    """The digests of their evidence."""
    apart_from: tuple[Json, ...] = ()
    """Of an entry that was set apart: what the statement had in the member that sets it apart. Empty: none was."""
    is_current: bool = True
    """Whether the question still shows what is open, so that the answer counts as a statement made now."""
    keeps_others: bool = False
    """Whether the answer is both, so that what other claimants say stays open."""

    def members(self, at: str, *, is_apart: bool = False) -> dict[str, Json]:
        """Return it as the member `answer` of an item of evidence; `is_apart`: of the entry that was set apart."""
        found: dict[str, Json] = {"pending_id": self.pending_id, "at": at}
        found |= {"values": list(self.values), "evidence": list(self.evidence)} if self.values else {}
        return found | ({_APART_FROM: self.apart_from[0]} if is_apart and self.apart_from else {})


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as it is found in a document."""

    pointer: str
    """The place, below the content, of the entry that is open now about the thing that was asked about."""
    entry: Entry
    by: str
    at: str


def answer_of(
    pending_id: str,
    refused: Sequence[Entry],
    rule: SectionUpkeep,
    *,
    apart_from: Sequence[Json] = (),
    is_current: bool = True,
) -> Answer:
    """Return the answer that did not take the statements `refused`."""
    values = dict.fromkeys(_digest(value_of(entry, rule)) for entry in refused)
    evidence = dict.fromkeys(found for entry in refused for found in _digests(entry, rule))
    return Answer(pending_id, tuple(values), tuple(evidence)[:MAX_DIGESTS], tuple(apart_from), is_current)


def refusing(entry: Entry, held: Sequence[Entry], rule: SectionUpkeep) -> Entry | None:
    """Return the entry of `held` whose answer has already refused the new statement `entry`; None: there is none.

    It says what was refused, and it was stated before the answer, or rests on nothing but the refused evidence. What
    the answer has closed is refused with its evidence alone: its time says when it held.
    """
    said, own = _digest(value_of(entry, rule)), _digests(entry, rule)
    known = [one for one in held if own and value_of(one, rule) == value_of(entry, rule)]
    closed_by = {
        one.get(statements_of(rule).replaced_field)
        for one in known
        if not is_open(one, rule) and set(own) <= set(_digests(one, rule))
    } - {None}
    at = max((time_of(item, AT) for item in evidence_of(entry, rule) if isinstance(item, dict)), default="")
    for other in held:
        for _, answer in _answers(other, rule):
            values, evidence = _listed(answer, "values"), _listed(answer, "evidence")
            is_known = bool(own) and all(one in evidence for one in own)
            if said in values and (is_known or at <= time_of(answer, AT)):
                return other
            if other.get(rule.id_field) in closed_by:
                return other
    return None


def set_apart(entry: Entry, held: Sequence[Entry], rule: SectionUpkeep) -> Entry:
    """Return a new statement with what sets it apart, if it says what an answer has set apart from the open entry."""
    name = apart_member(rule)
    for other in held:
        for _, answer in _answers(other, rule):
            before = {**other, name: answer.get(_APART_FROM)}
            is_same = is_open(other, rule) and value_of(other, rule) == value_of(entry, rule)
            if _APART_FROM in answer and is_same and thing_of(before, rule) == thing_of(entry, rule):
                return {**entry, name: other.get(name)}
    return entry


def apart_member(rule: SectionUpkeep) -> str:
    """Return the member that sets entries apart which are about the same otherwise: the last one of `about`.

    It is never the code of the claimant, which the service writes.
    """
    statements = statements_of(rule)
    return [name for name in statements.about if name != statements.claimed_by_field][-1]


def find_answered(content: Json, pending_id: str, rules: Sequence[SectionUpkeep]) -> Answered | None:
    """Return what was decided about a pending item, if an entry keeps the answer."""
    for rule in rules:
        entries = entries_at(content, rule.section) if rule.statements is not None else []
        places = [(place, entry) for place, entry in enumerate(entries) if isinstance(entry, dict)]
        for _, entry in places:
            for item, answer in _answers(entry, rule):
                if answer.get("pending_id") != pending_id:
                    continue
                about = [row for row in places if thing_of(row[1], rule) == thing_of(entry, rule)]
                now = [row for row in about if is_open(row[1], rule)]
                place, shown = now[0] if now else next(row for row in about if row[1] is entry)
                return Answered(f"{rule.section}/{place}", shown, str(item[CONFIRMED_BY]), time_of(answer, AT))
    return None


def bare(item: Json) -> Json:
    """Return an item of evidence without what may differ between a proposal and its entry."""
    if not isinstance(item, dict):
        return item
    return {name: value for name, value in item.items() if name not in (AT, LACKS, PROVENANCE)}


def _answers(entry: Entry, rule: SectionUpkeep) -> Iterator[tuple[dict[str, Any], Mapping[str, Json]]]:
    """Yield the items of evidence that are answers, each with its member `answer`."""
    for item in evidence_of(entry, rule):
        if isinstance(item, dict) and CONFIRMED_BY in item and isinstance(item.get(ANSWER), dict):
            yield item, item[ANSWER]


def _listed(answer: Mapping[str, Json], name: str) -> list[Json]:
    found = answer.get(name)
    return found if isinstance(found, list) else []


def _digests(entry: Entry, rule: SectionUpkeep) -> list[str]:
    """Return the digest of each item of evidence; an item with a time alone is no evidence."""
    return [_digest(found) for item in evidence_of(entry, rule) if (found := bare(item))]


def _digest(value: Json) -> str:
    return sha256_hex(canonical(value))[:_DIGEST_CHARS]
