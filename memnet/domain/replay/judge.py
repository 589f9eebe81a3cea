"""The judge: a model says which open entry a proposed statement is about. It aligns statements, and decides nothing.

A statement is judged if no open entry is about exactly the same thing, but some are near. `same_as` and `about` copy
members of an entry that was shown with it, `unsure` makes it a question, `beside` changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import Statements
from memnet.domain.core.json_patch import Op, pointer
from memnet.domain.core.json_types import known_members
from memnet.domain.core.model_output import read_as
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalized_text, traces
from memnet.domain.documents.entry import open_entries
from memnet.domain.replay.extraction import ProposedPatch, SourceDocument
from memnet.domain.replay.prompt_input import quoted_line

SCHEMA_NAME: Final = "memory_judgement"
MAX_CANDIDATES: Final = 20
"""Statements of one call."""
MAX_MATERIAL: Final = 60_000
"""Characters of the material of one call."""
MAX_OUTPUT: Final = 100_000
"""The longest output that is read, in characters."""


class Verdict(StrEnum):
    """What a statement is to the entries that were shown with it."""

    SAME_AS = "same_as"
    ABOUT = "about"
    BESIDE = "beside"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed statement, and the open entries of its section."""

    patch: int
    op: int
    """The positions of its patch, and of its operation there."""
    rule: SectionUpkeep
    statements: Statements
    value: dict[str, Json]
    near: Sequence[dict[str, Json]]
    """Entries with an id; those that are near once `nearest` has chosen them."""
    linked: frozenset[str] = frozenset()
    """The ids of those that share the meaning or a word of their own with it. Of the others it can only be asked."""

    def text(self) -> str:
        """Return the statement as a text."""
        return entry_text(self.value, self)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the model says of one candidate, and the entry that it names."""

    verdict: Verdict
    entry_id: str | None


@dataclass(frozen=True, slots=True)
class JudgeProvenance:
    """Who judged, by which prompt, and how often each verdict was given; part of the extraction's provenance."""

    model: str | None = None
    prompt_id: str | None = None
    prompt_version: str | None = None
    prompt_sha256: str | None = None
    verdicts: Mapping[str, int] | None = None
    note: str | None = None
    """Why there are no verdicts, or which were ignored; without content."""

    def members(self) -> dict[str, Any]:
        """Return the known members by name."""
        return known_members(self)


def find_candidates(
    patches: Sequence[ProposedPatch], sources: Sequence[SourceDocument], profile: Profile
) -> list[Candidate]:
    """Return the added statements that are about nothing known by exact words, where there are open entries.

    Statements of documents with a prompt of their own are not judged: the others are judged as without them.
    """
    own = {} if profile.extraction is None else profile.extraction.prompts
    contents = {(document.key, document.etag): document.content for document in sources}
    found = []
    for number, patch in enumerate(patches):
        if patch.binding_id in own:
            continue
        content = contents[patch.key, patch.base_etag]
        rules = {rule.place: rule for rule in profile.upkeep_rules.get(patch.binding_id, ())}
        for index, op in enumerate(patch.ops):
            place = pointer(op["path"])
            rule = rules.get(place[1:-1])
            if rule is None or rule.statements is None or op["op"] != "add" or not isinstance(op["value"], dict):
                continue
            entries = [one for _, one in open_entries(content, rule)]
            about = _about(op["value"], rule.statements)
            if any(_about(entry, rule.statements) == about for entry in entries):
                continue
            named = [entry for entry in entries if isinstance(entry.get(rule.id_field), str)]
            if named:
                found.append(Candidate(number, index, rule, rule.statements, op["value"], named))
    return found[:MAX_CANDIDATES]


def _about(entry: dict[str, Json], statements: Statements) -> tuple[str | None, ...]:
    return tuple(normalized_text(entry, name) for name in _names(statements))


def _names(statements: Statements) -> list[str]:
    """Return the members that say what an entry is about; who claims it is no question for a model."""
    return [name for name in statements.about if name != statements.claimed_by_field]


def entry_text(entry: dict[str, Json], of: Candidate) -> str:
    """Return what an entry of the candidate's section says, as a text."""
    names = (*_names(of.statements), of.statements.value_field, of.rule.text_field)
    return " ".join(text for name in dict.fromkeys(names) if isinstance(text := entry.get(name), str))


def nearest(candidate: Candidate, scores: Sequence[float] | None, *, near: float, top: int) -> Candidate:
    """Keep the entries that are near, the nearest first, at most `top`.

    `scores` are the similarities of the entries; None: entries with a common word, or with the same first member of
    `about`, are near.
    """
    if scores is not None:
        ranked = [(score, -index) for index, score in enumerate(scores) if score >= near]
        linked = {-index for _, index in ranked}
    else:
        said, about = traces(candidate.text()), _about(candidate.value, candidate.statements)
        ranked, linked = [], set()
        for index, entry in enumerate(candidate.near):
            common = said & traces(entry_text(entry, candidate))
            same = about[0] is not None and _about(entry, candidate.statements)[0] == about[0]
            if common or same:
                ranked.append((len(common) + same / 2, -index))
            if common - traces(about[0] or ""):
                linked.add(index)
    kept = [-index for _, index in sorted(ranked, reverse=True)[:top]]
    ids = frozenset(str(candidate.near[index][candidate.rule.id_field]) for index in kept if index in linked)
    return replace(candidate, near=[candidate.near[index] for index in kept], linked=ids)


def compose(candidates: Sequence[Candidate]) -> tuple[str, int]:
    """Return the material, each candidate quoted as data on one line, and how many of the candidates fit."""
    lines: list[str] = []
    left = MAX_MATERIAL
    for number, candidate in enumerate(candidates, 1):
        line = quoted_line({"candidate": number, **_shown(candidate.value, candidate), "near": _near(candidate)})
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(["<candidates>", *lines, "</candidates>"]), len(lines)


def _near(candidate: Candidate) -> list[Json]:
    id_field = candidate.rule.id_field
    return [{"entry_id": entry[id_field], **_shown(entry, candidate)} for entry in candidate.near]


def _shown(entry: dict[str, Json], of: Candidate) -> dict[str, Json]:
    names = dict.fromkeys((*_names(of.statements), of.statements.value_field, of.rule.text_field))
    return {"statement": {name: entry[name] for name in names if entry.get(name) is not None}}


_ANSWER: Final[Json] = {
    "type": "object",
    "properties": {
        "candidate": {"type": "integer"},
        "verdict": {"type": "string", "enum": [verdict.value for verdict in Verdict]},
        "entry_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["candidate", "verdict", "entry_id"],
    "additionalProperties": False,
}
SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {"answers": {"type": "array", "items": _ANSWER}},
    "required": ["answers"],
    "additionalProperties": False,
}
"""In the subset of JSON Schema that providers enforce."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Answer(_Part):
    candidate: int
    verdict: Verdict
    entry_id: str | None


class _Output(_Part):
    answers: list[_Answer]


def is_output(text: str) -> bool:
    """Return whether `read_output` can read the text."""
    return read_as(_Output, text, MAX_OUTPUT) is not None


def read_output(text: str, candidates: Sequence[Candidate]) -> tuple[dict[int, Judgement], int]:
    """Return the judgements by position of the candidate, and how many answers are ignored.

    An answer is ignored if its candidate does not exist or has one already, or if it takes an entry that was not shown
    with the candidate.
    """
    output = read_as(_Output, text, MAX_OUTPUT)
    judgements: dict[int, Judgement] = {}
    ignored = 0
    for answer in () if output is None else output.answers:
        position = answer.candidate - 1
        if not 0 <= position < len(candidates) or position in judgements:
            ignored += 1
            continue
        shown = {entry[candidates[position].rule.id_field] for entry in candidates[position].near}
        takes = answer.verdict in (Verdict.SAME_AS, Verdict.ABOUT)
        if takes and answer.entry_id not in shown:
            ignored += 1
            continue
        judgements[position] = Judgement(answer.verdict, answer.entry_id if takes else None)
    return judgements, ignored


def align(
    patches: Sequence[ProposedPatch], candidates: Sequence[Candidate], judgements: Mapping[int, Judgement]
) -> list[ProposedPatch]:
    """Return the patches with the judgements applied.

    A patch with an unsure statement asks: it waits as a whole, with a question about the nearest entry. So does one
    that takes an entry with which it has nothing in common: the model's word alone closes no entry.
    """
    aligned = list(patches)
    for position, judgement in sorted(judgements.items()):
        candidate = candidates[position]
        patch = aligned[candidate.patch]
        row: dict[str, Json] = {"op_index": candidate.op, "verdict": judgement.verdict.value}
        if judgement.entry_id is not None:
            row["entry_id"] = judgement.entry_id
        patch = replace(patch, judged=[*patch.judged, row])
        if judgement.verdict is Verdict.UNSURE:
            patch = replace(patch, asks_about=candidate.near[0][candidate.rule.id_field])
        elif judgement.entry_id is not None and judgement.entry_id not in candidate.linked:
            patch = replace(patch, asks_about=judgement.entry_id)
        elif judgement.entry_id is not None:
            patch = replace(patch, ops=_aligned_ops(patch.ops, candidate, judgement))
        aligned[candidate.patch] = patch
    return aligned


def _aligned_ops(ops: Sequence[Op], candidate: Candidate, judgement: Judgement) -> list[Op]:
    entry = next(one for one in candidate.near if one[candidate.rule.id_field] == judgement.entry_id)
    names = _names(candidate.statements)
    if judgement.verdict is Verdict.SAME_AS:
        names.append(candidate.statements.value_field)
    taken = {name: entry[name] for name in names if name in entry}
    kept = {name: value for name, value in candidate.value.items() if name not in names}
    changed = list(ops)
    changed[candidate.op] = {**ops[candidate.op], "value": {**kept, **taken}}
    return changed
