"""Turn proposed operations into JSON Patch operations that add or replace and remove nothing, or reject them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from memnet.domain.catalog import path_policy
from memnet.domain.catalog.entry_template import Entry, fill, kept_by_service, renew, said_members, text_member
from memnet.domain.catalog.path_policy import ROOT, lies_within, touches
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import FieldDenied, MemnetError, PatchNotApplicable
from memnet.domain.core.json_patch import Op, Pointer, apply, parse_patch, pointer, pointer_text, resolve
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalized_text
from memnet.domain.documents.array_matching import count_items
from memnet.domain.documents.entry import covers, evidence_of, joins, names_messages, rule_of
from memnet.domain.documents.pending_item import carry
from memnet.domain.documents.pending_join import PROPOSAL
from memnet.domain.documents.rebase import Rebased
from memnet.domain.documents.statement import kept_members
from memnet.domain.replay.extraction import OutputOp, SourceDocument
from memnet.domain.replay.proposed_value import ProposedEntry, RejectedOp, checked_value, read_entry, same_statement

_INDEX = re.compile(r"0|[1-9]\d{0,5}", re.ASCII)
_PLAIN_NAME = re.compile(r"[^\W_][\w .-]{0,63}")
"""The form of a new member's name: none that a program could treat as special."""


@dataclass(frozen=True)
class Target:
    """The document a patch is proposed for, and its rules."""

    document: SourceDocument
    profile: Profile
    schema: Schema | None
    """None: this process does not know the document's schema version; the write checks it."""
    writable: Sequence[str]
    """The paths that a replay may propose to, as pointer patterns below the content."""

    @cached_property
    def pending(self) -> Pointer | None:
        """The pending section; only the service writes there."""
        section = self.profile.pending_sections.get(self.document.binding_id)
        return None if section is None else pointer(section)

    @cached_property
    def templates(self) -> dict[str, dict[str, Json]]:
        """The template of the entries, by section."""
        rules = self.profile.extraction
        return {} if rules is None else rules.items.get(self.document.binding_id, {})

    @cached_property
    def rules(self) -> Sequence[SectionUpkeep]:
        """The upkeep rules of the document's binding."""
        return self.profile.upkeep_rules.get(self.document.binding_id, ())

    def rule(self, section: Pointer) -> SectionUpkeep:
        """Return the rule that names the members with the origin of the section's entries."""
        return rule_of(section, self.rules)

    def labels(self, path: str) -> frozenset[str]:
        """Return the members of the entry at `path` that name rather than state: those of `about`, and enums."""
        section, _, _ = path.removeprefix(f"/{ROOT}").rpartition("/")
        statements = next((rule.statements for rule in self.rules if rule.section == section), None)
        names = said_members(self.templates.get(section, {}))
        enums = [name for name in names if self.schema and self.schema.choices(f"{section}/-/{name}")]
        return frozenset([*enums, *(statements.about if statements else ())])

    @cached_property
    def managed(self) -> list[tuple[Pointer, frozenset[str]]]:
        """The members of the entries that the service sets, by section."""
        found = [(pointer(section), kept_by_service(template)) for section, template in self.templates.items()]
        for rule in self.rules:
            names = {rule.id_field, rule.evidence_field, rule.confidence_field, rule.verified_field, rule.expires_field}
            names.add(rule.ttl_field)
            if rule.statements is not None:
                names |= {*kept_members(rule)}
            found.append((pointer(rule.section), frozenset(name for name in names if name is not None)))
        return found


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a patch."""

    replay_id: str
    confidence: float
    evidence: dict[str, Any]
    time: str
    topic: str | None = None
    claimed_by: str | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """The accepted operations, and those omitted because the document has their content."""

    ops: list[Op]
    known: list[str]
    """Pointers to the content that the omitted operations support, after the operations before them."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The document has the content of an operation, at this pointer."""

    at: str


def admit_ops(ops: Sequence[OutputOp], target: Target, source: Source, others: Sequence[Op]) -> Admitted:
    """Return the operations to apply to the document's content. Raises RejectedOp.

    An operation is omitted if its content is in the document, pending there, or in the `others` of this replay. An
    entry with another source of content in the document or pending is accepted: the rebase adds its evidence.
    """
    before = target.document.content
    state: Json = {ROOT: orjson.loads(canonical(before))}
    admitted = Admitted([], [])
    for op in ops:
        made = _admit(op, state, target, source)
        if not isinstance(made, _Known):
            made = _waiting(made, target, source) or _repeated(made, others, target) or made
        if isinstance(made, _Known):
            admitted.known.append(made.at)
            continue
        # Copied: later operations change the state, and must not change this operation.
        state = _applied(state, orjson.loads(canonical(made)))
        admitted.ops.append(made)
    _check_outcome(admitted.ops, before, state[ROOT], target)
    return admitted


def _admit(op: OutputOp, state: Json, target: Target, source: Source) -> Op | _Known:
    """Return the operation to apply, or where the document has its content."""
    place = _place(op.op, op.path, target)
    parent = _parent(state, place)
    if isinstance(parent, list):
        return _in_list(op.op, place, op.value, parent, target, source)
    return _in_object(op.op, place, _scalar(op.value, target), parent)


def _place(verb: str, path: str, target: Target) -> Pointer:
    try:
        place = path_policy.content_pointer(path)
    except MemnetError as error:
        raise RejectedOp(error.code, "Its path is no pointer below /content.") from None
    if target.pending is not None and touches(place, target.pending):
        raise RejectedOp(ErrorCode.PENDING_ITEM_INVALID, "Only the service writes to the pending section.")
    if not place or not any(lies_within(place, pointer(rule)) for rule in target.writable):
        raise RejectedOp(ErrorCode.PATH_NOT_WRITABLE, "The profile does not let a replay write there.")
    _check_addition(verb, place, target)
    for section, names in target.managed:
        if place[: len(section)] == section and set(place[len(section) + 1 : len(section) + 2]) & names:
            raise RejectedOp(ErrorCode.PATH_NOT_WRITABLE, "The service sets this member of an entry.")
    return place


def _check_addition(verb: str, place: Pointer, target: Target) -> None:
    """Raise RejectedOp unless the operation leaves the existing statements as they are."""
    for rule in target.rules:
        inside = rule.statements is not None and touches(place, rule.place)
        if inside and (verb != "add" or len(place) != len(rule.place) + 1):
            raise RejectedOp(
                ErrorCode.PATH_NOT_WRITABLE, "A replay adds statements; the write closes what they replace."
            )


def _parent(state: Json, place: Pointer) -> Json:
    try:
        parent = resolve(state, pointer_text((ROOT, *place[:-1])))
    except PatchNotApplicable:
        raise RejectedOp(ErrorCode.PATCH_NOT_APPLICABLE, "Its path does not exist in the document.") from None
    if not isinstance(parent, (list, dict)):
        raise RejectedOp(ErrorCode.PATCH_NOT_APPLICABLE, "Its path leads into a value without members.")
    return parent


def _in_object(verb: str, place: Pointer, value: Json, parent: dict[str, Json]) -> Op | _Known:
    name = place[-1]
    if name in parent:
        _check_overwriting(parent[name])
        if canonical(parent[name]) == canonical(value):
            return _Known(pointer_text((ROOT, *place)))
        return _op("replace", place, value)
    if verb == "replace":
        raise RejectedOp(ErrorCode.PATCH_NOT_APPLICABLE, "It replaces a member that the document does not have.")
    if not _PLAIN_NAME.fullmatch(name):
        raise RejectedOp(ErrorCode.PATH_NOT_WRITABLE, "A new member needs a plain name.")
    return _op("add", place, value)


def _in_list(
    verb: str, place: Pointer, value: Json, entries: list[Json], target: Target, source: Source
) -> Op | _Known:
    section, index = place[:-1], _index(place[-1], len(entries), verb)
    template, rule = target.templates.get(pointer_text(section)), target.rule(section)
    if template is None:
        value, field = _scalar(value, target), "text"
        text, old = value, None if verb == "add" else entries[index]
    else:
        proposed, field = read_entry(value, template, target.profile), text_member(template)
        text, old = proposed.text, None if verb == "add" else entries[index]
        entry = _entry(section, proposed, target, source)
        value = fill(template, entry) if verb == "add" else renew(old, template, entry)
    alike = [
        at
        for at, other in enumerate(entries)
        if isinstance(text, str) and normalized_text(other, field) == normalized_text(text)
    ]
    # Of a statement, the write decides whether it is known: a closed one may be stated again.
    decided_here = rule.statements is None
    if decided_here and alike and not (verb == "add" and _brings_source(value, entries, alike, source, rule)):
        return _Known(pointer_text((ROOT, *section, str(alike[0]))))
    if template is None:
        _check_overwriting(old)
    # A new entry is always added at the end, so that no other entry moves.
    return _op(verb, (*section, "-" if verb == "add" else str(index)), value)


def _scalar(value: Json, target: Target) -> Json:
    if isinstance(value, dict):
        raise RejectedOp(ErrorCode.PATCH_MALFORMED, "Only a list with a template of its entries accepts an entry.")
    return checked_value(value, target.profile)


def _brings_source(value: Json, entries: list[Json], alike: list[int], source: Source, rule: SectionUpkeep) -> bool:
    """Return whether the evidence would join an equal entry that does not cite these messages."""
    named = any(names_messages(entries[at], source.evidence, rule) for at in alike)
    return not named and joins(value, entries, rule) is not None


def _index(segment: str, length: int, verb: str) -> int:
    if segment == "-" and verb == "add":
        return length
    last = length if verb == "add" else length - 1
    if not _INDEX.fullmatch(segment) or int(segment) > last:
        raise RejectedOp(ErrorCode.PATCH_NOT_APPLICABLE, "It names an entry that does not exist.")
    return int(segment)


def _check_overwriting(old: Json) -> None:
    if isinstance(old, (list, dict)):
        raise RejectedOp(ErrorCode.PATH_NOT_WRITABLE, "It would replace a whole list or object.")


def _entry(section: Pointer, proposed: ProposedEntry, target: Target, source: Source) -> Entry:
    # The id depends on the content and the replay, so that the same extraction makes the same entry.
    named = [source.replay_id, target.document.binding_id, target.document.key.path, list(section), proposed.text]
    said = [dict(proposed.said)] if proposed.said else []
    return Entry(
        id=f"mem-{sha256_hex(canonical([*named, *said]))[:24]}",
        text=proposed.text,
        said=proposed.said,
        topic=source.topic,
        claimed_by=source.claimed_by,
        confidence=source.confidence,
        evidence=source.evidence,
        time=source.time,
    )


def _waiting(made: Op, target: Target, source: Source) -> _Known | None:
    """Return where the pending section has the same content, unless the operation brings another source of it."""
    rule = _rule(made, target)
    for at, item, proposed in _pending_targets(target):
        value = proposed.get("value")
        if not _is_about(made, proposed) or not _says_the_same(made["value"], value, rule):
            continue
        # A value without evidence of its own has that of its item.
        covered = bool(evidence_of(value, rule)) and covers(value, made["value"], rule)
        if covered or names_messages(value, source.evidence, rule) or names_messages(item, source.evidence, PROPOSAL):
            return _Known(at)
    return None


def _repeated(made: Op, others: Sequence[Op], target: Target) -> _Known | None:
    """Return where another operation of the same replay adds the same, whatever messages it cites."""
    for other in others:
        if _is_about(made, other) and _says_the_same(made["value"], other["value"], _rule(made, target)):
            return _Known(other["path"])
    return None


def _says_the_same(value: Json, other: Json, rule: SectionUpkeep) -> bool:
    if rule.statements is not None:
        return same_statement(value, other, rule)
    return count_items(value, [other], rule.text_field) > 0


def _is_about(made: Op, other: dict[str, Json]) -> bool:
    return all(other.get(name) == made[name] for name in ("op", "path"))


def _rule(made: Op, target: Target) -> SectionUpkeep:
    return target.rule(pointer(made["path"])[1:-1])


def _pending_targets(target: Target) -> Iterator[tuple[str, dict[str, Json], Op]]:
    """Yield where the pending items are, the items, and their operations, rebased onto the current content."""
    section = (ROOT, *(target.pending or ()))
    try:
        items = [] if target.pending is None else resolve({ROOT: target.document.content}, pointer_text(section))
    except PatchNotApplicable:
        return
    for index, item in enumerate(items if isinstance(items, list) else []):
        carried = carry(item, target.document.content, target.rules) if isinstance(item, dict) else None
        if isinstance(carried, Rebased):
            yield from ((pointer_text((*section, str(index))), item, op) for op in carried.ops)


def _op(verb: str, place: Pointer, value: Json) -> Op:
    return {"op": verb, "path": pointer_text((ROOT, *place)), "value": value}


def _applied(state: Json, op: Op) -> Json:
    try:
        return apply(state, [op])
    except MemnetError as error:
        raise RejectedOp(error.code, "It cannot be applied to the document.") from None


def _check_outcome(ops: list[Op], before: Json, after: Json, target: Target) -> None:
    try:
        path_policy.check_denied(parse_patch(ops), target.profile.denied, before, after)
    except FieldDenied as error:
        raise RejectedOp(error.code, error.message) from None
    violations = target.schema.violations(after) if target.schema else None
    if violations:
        raise RejectedOp(
            ErrorCode.SCHEMA_VIOLATION, f"The document would not match its schema: {violations[0].message}."
        )
