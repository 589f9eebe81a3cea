"""Read the entries of a section: their text, confidence, evidence, verification and expiry."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from memnet.domain.catalog.rules import Measure, SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MalformedRequest, PatchMalformed, PatchNotApplicable
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES
from memnet.domain.core.json_patch import Operation, Pointer, apply, pointer, pointer_text, resolve
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalized_text
from memnet.domain.core.timestamps import from_text

ALSO = "also"
"""The member of evidence that holds the evidence of merged entries."""
_USUAL = SectionUpkeep(section="/any")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def entries_at(content: Json, section: str) -> list[Json]:
    """Return the entries of a section; none if it is absent or not an array."""
    for segment in pointer(section):
        content = content.get(segment) if isinstance(content, dict) else None
    return content if isinstance(content, list) else []


def open_entries(content: Json, rule: SectionUpkeep) -> list[tuple[int, dict[str, Json]]]:
    """Return the entries of a section that are objects and hold still, with their indices."""
    entries = enumerate(entries_at(content, rule.section))
    return [(place, entry) for place, entry in entries if isinstance(entry, dict) and is_open(entry, rule)]


def moment(value: Json) -> datetime | None:
    """Parse a time; a date stands for the end of that day in UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        if _DATE.fullmatch(value):
            return from_text(f"{value}T00:00:00Z") + timedelta(days=1)
        return from_text(value)
    except (MalformedRequest, OverflowError):
        return None


def is_expired(entry: Json, rule: SectionUpkeep, now: datetime) -> bool:
    """Whether the time of expiry in the entry has passed."""
    ends = expires_at(entry, rule)
    return ends is not None and ends <= now


def expires_at(entry: Json, rule: SectionUpkeep) -> datetime | None:
    """Return when the entry expires, if it does."""
    return None if rule.expires_field is None else moment(_member(entry, rule.expires_field))


def verified_at(entry: Json, rule: SectionUpkeep) -> datetime | None:
    """Return the time of the last verification, if the entry has one."""
    return moment(_member(entry, rule.verified_field))


def is_stale(entry: Json, rule: SectionUpkeep, now: datetime) -> bool:
    """Whether the last verification is too long ago. An entry without one is not stale."""
    since = stale_at(entry, rule)
    return since is not None and since <= now


def stale_at(entry: Json, rule: SectionUpkeep) -> datetime | None:
    """Return when the entry becomes stale, if it does. A closed statement does not: it says what was."""
    verified = verified_at(entry, rule)
    if verified is None or rule.stale_after_days is None or not is_open(entry, rule):
        return None
    try:
        return verified + timedelta(days=rule.stale_after_days)
    except OverflowError:
        return None


def is_open(entry: Json, rule: SectionUpkeep) -> bool:
    """Whether an entry holds still. Every entry does, but a statement whose `until_field` is set."""
    return rule.statements is None or _member(entry, rule.statements.until_field) is None


def confidence_of(entry: Json, rule: SectionUpkeep) -> float | None:
    """Return the confidence of the entry, if it has one."""
    value = _member(entry, rule.confidence_field)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def importance_of(entry: Json, rule: SectionUpkeep) -> float | None:
    """Return the importance of the entry, 0..1, if it has one; of a text, its place in the order of `trim_by`."""
    value = _member(entry, rule.importance_field)
    order = next((one.order for one in rule.measures if one.field == rule.importance_field), ())
    found = _measured(value, Measure(field=rule.importance_field, order=order))
    return None if found < 0 else min(1.0, found / max(1, len(order) - 1))


def learnt_at(entry: Json, rule: SectionUpkeep) -> datetime | None:
    """Return since when a statement holds, or else when the entry was verified last; None: unknown."""
    began = None if rule.statements is None else moment(_member(entry, rule.statements.from_field))
    return began or verified_at(entry, rule)


def value_of(entry: Json, rule: SectionUpkeep, worth: float) -> tuple[float, ...]:
    """Return the value of the entry by each measure of `trim_by`; minus infinity if it has none."""
    return tuple(
        _measured(_member(entry, measure.field), measure) if isinstance(measure, Measure) else worth
        for measure in rule.trim_by
    )


def _measured(value: Json, measure: Measure) -> float:
    for candidate in (value, measure.default):
        if measure.order:
            if candidate in measure.order:
                return float(measure.order.index(candidate))
        elif isinstance(candidate, (int, float)) and not isinstance(candidate, bool):
            return float(candidate)
    return -math.inf


def evidence_of(entry: Json, rule: SectionUpkeep) -> list[Json]:
    """Return the evidence of the entry, its own first, then that of the entries merged into it."""
    evidence = _member(entry, rule.evidence_field)
    if not isinstance(evidence, dict) or not evidence:
        return []
    also = evidence.get(ALSO)
    own = {name: value for name, value in evidence.items() if name != ALSO or not isinstance(also, list)}
    return [item for item in [own, *(also if isinstance(also, list) else [])] if item]


def rank(entry: Json, rule: SectionUpkeep, position: int) -> tuple[float, datetime, bool, int]:
    """Return the sort key of duplicates: confidence, verification, form, position. The greatest is kept."""
    sure, verified = confidence_of(entry, rule), verified_at(entry, rule)
    return (-1.0 if sure is None else sure, verified or _EARLIEST, isinstance(entry, dict), position)


def merge_evidence(kept: Json, merged: Sequence[Json], rule: SectionUpkeep) -> list[Json]:
    """Return the kept entry with the newest verification, latest expiry and evidence of the merged ones, best first."""
    if not isinstance(kept, dict):
        return []
    verified, ends = kept, rule.expires_field
    for name in [rule.verified_field, *([ends] if ends and ends in kept else [])]:
        newest = max([kept, *merged], key=lambda entry: moment(_member(entry, name)) or _EARLIEST)
        verified = verified if newest is kept else {**verified, name: newest[name]}
    evidence = joint_evidence(kept, merged, rule)
    candidates = [verified] if evidence is None else [{**verified, rule.evidence_field: evidence}, verified]
    return [candidate for candidate in candidates if candidate is not kept]


def merge_origins(kept: dict[str, Json], merged: Sequence[dict[str, Json]], rule: SectionUpkeep) -> dict[str, Json]:
    """Return the kept entry with the highest confidence, newest verification and latest expiry of the merged ones."""
    found = dict(kept)
    sure = [one for entry in [kept, *merged] if (one := confidence_of(entry, rule)) is not None]
    if sure and max(sure) != confidence_of(kept, rule):
        found[rule.confidence_field] = max(sure)
    for name in [rule.verified_field, *([rule.expires_field] if rule.expires_field in kept else [])]:
        newest = max([kept, *merged], key=lambda entry: moment(entry.get(name)) or _EARLIEST)
        if newest is not kept:
            found[name] = newest[name]
    return found


def with_sources_of_targets(kept: Json, merged: Sequence[Json], rules: Sequence[SectionUpkeep]) -> Json:
    """Return the kept pending item, with the evidence of the entries that the others propose."""
    target = _member(kept, "target")
    value = _member(target, "value")
    try:
        section = pointer(_member(target, "path"))[1:-1]
    except PatchMalformed:
        return kept
    if not isinstance(value, dict):
        return kept
    rule = rule_of(section, rules)
    evidence = joint_evidence(value, [_member(_member(item, "target"), "value") for item in merged], rule)
    if evidence is None:
        return kept
    return {**kept, "target": {**target, "value": {**value, rule.evidence_field: evidence}}}


def joint_evidence(kept: Json, others: Sequence[Json], rule: SectionUpkeep) -> Json:
    """Return the evidence of an entry with that of others as `also`; None if they add nothing, or too much."""
    every = {canonical(item): item for entry in [kept, *others] for item in evidence_of(entry, rule)}
    if len(every) <= len(evidence_of(kept, rule)):
        return None
    first, *rest = every.values()
    own, also = (first, rest) if isinstance(first, dict) else ({}, [first, *rest])
    evidence = {**own, ALSO: also} if also else own
    return evidence if len(canonical(evidence)) <= MAX_EVIDENCE_BYTES else None


def evidence_with(items: Sequence[Json]) -> Json:
    """Return evidence with these items, at least one."""
    first, *rest = items
    return {**first, ALSO: rest} if rest else first


def rule_of(section: Pointer, rules: Sequence[SectionUpkeep]) -> SectionUpkeep:
    """Return the rule of the array at `section`, or a rule with the default member names."""
    return next((rule for rule in rules if rule.place == section), _USUAL)


def covers(there: Json, entry: Json, rule: SectionUpkeep) -> bool:
    """Whether `there` contains all of `entry`, its evidence included, so that `entry` may be dropped."""
    if isinstance(entry, str) and normalized_text(entry) is not None:
        return normalized_text(there, rule.text_field) == normalized_text(entry)
    said, known = entry_identity(entry, rule), {canonical(item) for item in evidence_of(there, rule)}
    if said is None or said != entry_identity(there, rule):
        return canonical(there) == canonical(entry)
    return known >= {canonical(item) for item in evidence_of(entry, rule)}


def names_messages(entry: Json, source: Mapping[str, Json], rule: SectionUpkeep) -> bool:
    """Whether the evidence of the entry already names the conversation and messages of `source`."""
    for item in evidence_of(entry, rule):
        if not isinstance(item, dict) or item.get("conversation_id") != source["conversation_id"]:
            continue
        listed = item.get("message_ids")
        if isinstance(listed, list) and all(message_id in listed for message_id in source["message_ids"]):
            return True
    return False


def joins(entry: Json, entries: Sequence[Json], rule: SectionUpkeep) -> tuple[int, Json] | None:
    """Return the twin that gets the evidence of `entry`, and its evidence then; None if none needs it or has room."""
    if any(covers(there, entry, rule) for there in entries):
        return None
    for position in twins(entry, entries, rule):
        evidence = joint_evidence(entries[position], [entry], rule)
        if evidence is not None:
            return position, evidence
    return None


def twins(entry: Json, entries: Sequence[Json], rule: SectionUpkeep) -> list[int]:
    """Return the positions of the objects that differ from `entry` only in their origin."""
    said = entry_identity(entry, rule)
    return [
        position
        for position, there in enumerate(entries)
        if said is not None and isinstance(there, dict) and entry_identity(there, rule) == said
    ]


def entry_identity(entry: Json, rule: SectionUpkeep, proposed: Sequence[SectionUpkeep] | None = None) -> bytes | None:
    """Return the identity of an entry: its normalised text and all members but those of its origin.

    Two entries with the same identity are twins. None: the entry has no text, and no twin. Of a pending item, the
    proposed value is compared in the same way, by the rules of the sections it may be `proposed` for.
    """
    text = normalized_text(entry, rule.text_field)
    if text is None:
        return None
    rest = _rest(entry, [rule])
    target = rest.get("target")
    if proposed is not None:
        # Neither the version it was proposed on nor the neighbours of a new entry matter.
        rest.pop("proposed_on", None)
        if isinstance(target, dict) and _adds_an_entry(target, rest.get("base")):
            rest.pop("base", None)
    if proposed is not None and isinstance(target, dict) and "value" in target:
        rest["target"] = {**target, "value": _proposed(target["value"], [rule, *proposed])}
    return canonical([text, rest])


def _adds_an_entry(target: Json, base: Json) -> bool:
    """Whether a proposal adds an entry to an array whose pointer has no index (valid in `base` only)."""
    try:
        place = pointer(target.get("path"))[1:-1]
    except PatchMalformed:
        return False
    for name in place:
        base = base.get(name) if isinstance(base, dict) else None
    return target.get("op") == "add" and isinstance(base, list)


def _proposed(value: Json, rules: Sequence[SectionUpkeep]) -> Json:
    texts = [text for rule in rules if (text := normalized_text(value, rule.text_field)) is not None]
    return [texts[0], _rest(value, rules)] if texts else value


def _rest(entry: Json, rules: Sequence[SectionUpkeep]) -> dict[str, Json]:
    """Return the members that are neither text nor origin. The expiry counts as origin where the service sets it."""
    if not isinstance(entry, dict):
        return {}
    origin = {name for rule in rules for name in rule.usual_fields}
    # Since when a statement holds is the time of its source.
    origin |= {rule.statements.from_field for rule in rules if rule.statements is not None}
    set_by_class = {rule.expires_field for rule in rules if rule.ttl_field and entry.get(rule.ttl_field) is not None}
    return {name: value for name, value in entry.items() if name not in origin | set_by_class}


def _member(entry: Json, name: str) -> Json:
    return entry.get(name) if isinstance(entry, dict) else None


def source_ops(ops: Sequence[Operation], state: Json, rules: Sequence[SectionUpkeep]) -> frozenset[int]:
    """Return the indices of such operations. All apply to `state` in turn, and change it."""
    found = set()
    for index, op in enumerate(ops):
        if _adds_source(op, state, rules):
            found.add(index)
        state = apply(state, [op.body])
    return frozenset(found)


def _adds_source(op: Operation, state: Json, rules: Sequence[SectionUpkeep]) -> bool:
    path = op.path
    rule = rule_of(path[1:-2], rules)
    if op.verb != "add" or path[-1:] != (rule.evidence_field,):
        return False
    try:
        entries, entry = (resolve(state, pointer_text(path[:-depth])) for depth in (2, 1))
    except PatchNotApplicable:
        return False
    if not (isinstance(entries, list) and isinstance(entry, dict)):
        return False
    return covers({**entry, rule.evidence_field: op.value}, entry, rule)
