"""What a document says, entry by entry: readable text, section and origin.

An entry is an element of an array, or a member of an object, in a top-level member of the content. Sections that a
profile declares deeper are entered as well. A closed statement that upkeep moved to an event is an entry, too, without
a position in the document.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT, lies_within
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Pointer, pointer, pointer_text
from memnet.domain.core.json_types import text_member
from memnet.domain.core.scope import Actor, Json
from memnet.domain.documents.entry import confidence_of, entries_at, evidence_of, importance_of, is_open, rule_of
from memnet.domain.history.origin import Origin, Traced, traced
from memnet.domain.history.statements import NO_STATEMENT, EntryState, Validity, entry_id, validities


@dataclass(frozen=True, slots=True)
class Said:
    """One entry of a document."""

    rules: WriteRules | None
    """A binding for changing it, or else one that covers the document; None: there is no such binding."""
    section: str
    """The name of the section, for a person."""
    place: Pointer
    """Below the content; of an entry in an event, the place of its section."""
    text: str
    value: Json
    entry_id: str | None
    state: EntryState
    validity: Validity
    is_writable: bool
    confidence: float | None
    importance: float | None
    """As set when it was learnt, 0..1."""
    last_verified_at: str | None
    expires_at: str | None
    evidence: Json
    """Of the entry itself, or else of the change that put it; None: there is none."""
    members: Mapping[str, str] | None
    """The names that an entry with a text has for it, its evidence, confidence and verification; None: no text."""
    origin: Origin
    in_event: bool = False

    @property
    def pointer(self) -> str | None:
        """The pointer of the entry in the document; None: it is in an event."""
        return None if self.in_event else pointer_text((ROOT, *self.place))

    @property
    def is_pending(self) -> bool:
        """Whether it waits for confirmation."""
        return self.state is EntryState.WAITING

    def lies_in(self, section: Pointer) -> bool:
        """Whether it is below the pointer of a section, or would be, once it is confirmed."""
        places = [self.place]
        target = self.value.get("target") if self.is_pending and isinstance(self.value, dict) else None
        if isinstance(target, dict) and isinstance(target.get("path"), str):
            places.append(pointer(target["path"])[1:])
        return any(lies_within(place, section) for place in places)


def entries_of(content: Traced, covering: Sequence[WriteRules], pending: Sequence[str], actor: Actor) -> Iterator[Said]:
    """Yield the entries of a document by section, in name order; values that say nothing are left out.

    `covering` are the bindings of the document, `pending` its pending sections. Of the bindings, one is preferred
    through which `actor` may change the entry.
    """
    waiting = [pointer(section) for section in pending]
    declared = [*waiting, *(place for rules in covering for place in _declared(rules))]
    statements = dict(_statements(content.plain(), covering))
    for place, node in _places(content, (), declared):
        value = node.plain()
        if value not in (None, "", [], {}):
            rules, is_writable = _rules_for(place, covering, actor)
            state, validity = statements.get(place, (EntryState.OPEN, NO_STATEMENT))
            if any(lies_within(place, section) for section in waiting):
                state = EntryState.WAITING
            said = _said(node, value, place, rules, is_writable=is_writable)
            yield replace(said, state=state, validity=validity)


def closed_entries(
    entries: Sequence[Json], section: str, covering: Sequence[WriteRules], recorded_before: str
) -> Iterator[Said]:
    """Yield the closed statements of a section that upkeep moved to an event at that time."""
    place, origin = pointer(section), Origin(sequence=0, timestamp=recorded_before, is_known=False)
    found = _statement_rules(covering).get(place)
    known = [NO_STATEMENT] * len(entries) if found is None else validities(entries, found)
    for entry, validity in zip(entries, known, strict=True):
        said = _said(traced(entry, origin), entry, (*place, "0"), covering[0] if covering else None)
        yield replace(said, place=place, in_event=True, state=EntryState.CLOSED, validity=validity)


def _statements(content: Json, covering: Sequence[WriteRules]) -> Iterator[tuple[Pointer, tuple[EntryState, Validity]]]:
    """Yield the place, state and validity of each statement."""
    for place, rule in _statement_rules(covering).items():
        entries = entries_at(content, rule.section)
        for index, (entry, validity) in enumerate(zip(entries, validities(entries, rule), strict=True)):
            state = EntryState.OPEN if is_open(entry, rule) else EntryState.CLOSED
            yield (*place, str(index)), (state, validity)


def _statement_rules(covering: Sequence[WriteRules]) -> Mapping[Pointer, SectionUpkeep]:
    """Return the rules of the sections of statements, of the first binding that has one."""
    found: dict[Pointer, SectionUpkeep] = {}
    for rules in covering:
        for rule in rules.section_rules:
            if rule.statements is not None:
                found.setdefault(rule.place, rule)
    return found


def _places(node: Traced, place: Pointer, declared: Sequence[Pointer]) -> Iterator[tuple[Pointer, Traced]]:
    """Yield each entry below `place`, with its pointer."""
    is_section = len(place) <= 1 or place in declared
    if isinstance(node.value, list) and is_section:
        yield from (((*place, str(index)), child) for index, child in enumerate(node.value))
    elif isinstance(node.value, dict) and (is_section or any(_is_above(place, one) for one in declared)):
        for name in sorted(node.value):
            yield from _places(node.value[name], (*place, name), declared)
    else:
        yield place, node


def _declared(rules: WriteRules) -> list[Pointer]:
    """Return the sections that a profile names for a binding."""
    guidance = rules.profile.guidance_sections.get(rules.binding.binding_id, ())
    return [*rules.durable, *rules.upkept, *map(pointer, guidance)]


def _is_above(place: Pointer, section: Pointer) -> bool:
    return len(section) > len(place) and lies_within(section[: len(place)], place)


def _rules_for(place: Pointer, covering: Sequence[WriteRules], actor: Actor) -> tuple[WriteRules | None, bool]:
    for rules in covering:
        is_open = rules.binding.write_mode != "read_only" and rules.profile.admits(actor.principal)
        if is_open and any(lies_within(place, one) for one in rules.writable):
            return rules, True
    return (covering[0] if covering else None), False


def _said(node: Traced, value: Json, place: Pointer, rules: WriteRules | None, *, is_writable: bool = False) -> Said:
    rule = rule_of(place[:-1], () if rules is None else rules.section_rules)
    in_array = place[-1].isdecimal() and len(place) > 1
    has_text = isinstance(value, dict) and isinstance(value.get(rule.text_field), str)
    # The sentence counts: a later source or verification does not change who said it.
    origin = node.value[rule.text_field].origin if has_text else node.newest()
    own = evidence_of(value, rule)
    known = confidence_of(value, rule)
    return Said(
        rules=rules,
        section=" / ".join(map(_title, place[:-1] or place)),
        place=place,
        text=_text(value, rule) if in_array or len(place) == 1 else f"{_title(place[-1])}: {_text(value, rule)}",
        value=value,
        entry_id=entry_id(value, rule),
        state=EntryState.OPEN,
        validity=NO_STATEMENT,
        is_writable=is_writable,
        confidence=origin.confidence if known is None else known,
        importance=importance_of(value, rule),
        last_verified_at=text_member(value, rule.verified_field),
        expires_at=text_member(value, rule.expires_field),
        evidence=value[rule.evidence_field] if own else origin.evidence,
        members=_members(value, rule) if has_text else None,
        origin=origin,
    )


def _members(value: Json, rule: SectionUpkeep) -> Mapping[str, str]:
    names = {
        "text": rule.text_field,
        "evidence": rule.evidence_field,
        "confidence": rule.confidence_field,
        "last_verified_at": rule.verified_field,
    }
    return {meaning: name for meaning, name in names.items() if name in value}


def _text(value: Json, rule: SectionUpkeep) -> str:
    """Return a readable text: the entry's own, or else its members without those of its origin."""
    if not isinstance(value, dict):
        return _readable(value)
    if isinstance(value.get(rule.text_field), str):
        return str(value[rule.text_field])
    hidden = {rule.id_field, rule.confidence_field, rule.evidence_field, rule.verified_field}
    return _readable({name: child for name, child in value.items() if name not in hidden} or value)


def _readable(value: Json) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{_words(name)}: {_readable(child)}" for name, child in value.items())
    if isinstance(value, list):
        return ", ".join(map(_readable, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    return value if isinstance(value, str) else canonical(value).decode()


def _words(name: Any) -> str:
    return " ".join(str(name).replace("_", " ").split()) or str(name)


def _title(name: str) -> str:
    words = _words(name)
    return words[:1].upper() + words[1:]
