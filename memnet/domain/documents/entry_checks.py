"""Check the entries that a write changes: their evidence, their lifetime."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT, places
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import EntryExpired, EvidenceRequired, SchemaViolation
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.json_patch import Operation, Pointer, addition, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalized_text
from memnet.domain.core.timestamps import from_text, later, to_text
from memnet.domain.documents.array_matching import Lost, find_matching_element
from memnet.domain.documents.entry import entries_at, is_expired, is_open, moment, rule_of

CHANGED = "The text of an entry changes and its evidence does not."
HINT = "Replace the entry's evidence, or add the source of the new text to it."


def check_entry_evidence(before: Json, after: Json, rules: WriteRules, stated: EvidenceMembers | None = None) -> None:
    """Raise EvidenceRequired if a durable entry has a new text with the evidence of an old one.

    Entries are compared by content, so moving an entry or changing its id does not help. An entry that never had
    evidence needs none, and neither does one whose evidence is `stated`: the person who makes the change states it.
    The evidence of the change itself is checked by `confidence`.
    """
    had, has = (list(_entries(content, rules)) for content in (before, after))
    old, new = (Counter(entry.whole for entry in entries) for entries in (had, has))
    own = None if stated is None else canonical(stated)
    gone: dict[bytes | Pointer, set[str | None]] = {}
    for entry in had:
        if entry.evidence and old[entry.whole] > new[entry.whole]:
            gone.setdefault(entry.evidence, set()).add(entry.text)
            gone.setdefault(entry.place, set()).add(entry.text)
    for entry in has:
        # An entry without evidence is compared with the old entries of its section.
        old_texts = gone.get(entry.evidence or entry.place)
        is_new = new[entry.whole] > old[entry.whole] and entry.evidence != own
        if is_new and entry.text is not None and old_texts and entry.text not in old_texts:
            raise EvidenceRequired(CHANGED, hint=HINT, path=pointer_text((ROOT, *entry.place)))


class _Entry(NamedTuple):
    place: Pointer
    whole: bytes
    text: str | None
    evidence: bytes
    """Empty if the entry carries none."""


def _entries(content: Json, rules: WriteRules) -> Iterator[_Entry]:
    """Yield the objects in the durable sections of the binding."""
    for section in rules.durable:
        rule = rule_of(section, rules.section_rules)
        for place, value in places(content, (), section):
            # A section is an array of entries, or one entry.
            for entry in value if isinstance(value, list) else [value]:
                if isinstance(entry, dict):
                    evidence = entry.get(rule.evidence_field)
                    proof = canonical(evidence) if evidence else b""
                    yield _Entry(place, canonical(entry), normalized_text(entry, rule.text_field), proof)


def lifetime_ops(before: Json, after: Json, rules: WriteRules, source_time: datetime) -> list[Operation]:
    """Return the operations that set the expiry of new or changed entries with a class.

    The lifetime counts from `source_time`. An entry that keeps its class never expires earlier than in `before`.
    Raises SchemaViolation for a class that the profile does not have.
    """
    ops: list[Operation] = []
    classes = rules.profile.ttl_classes
    for rule in rules.section_rules:
        if rule.ttl_field is None or rule.expires_field is None:
            continue
        for place, entry in _written(before, after, rule):
            named = entry.get(rule.ttl_field) if isinstance(entry, dict) else None
            if named is None:
                continue
            duration = classes.get(named) if isinstance(named, str) else None
            if duration is None:
                path = pointer_text((*place, rule.ttl_field))
                message = "The profile has no such class in ttl_classes."
                raise SchemaViolation(message, path=path, allowed=sorted(classes))
            expires = to_text(later(source_time, duration))
            expires = _or_as_before(expires, before, after, rule, int(place[-1]))
            if entry.get(rule.expires_field) != expires:
                ops.append(addition((*place, rule.expires_field), expires))
    return ops


def _or_as_before(expires: str, before: Json, after: Json, rule: SectionUpkeep, index: int) -> str:
    """Return the later of `expires` and the expiry that the entry had in `before`, under the same class."""
    had, has = entries_at(before, rule.section), entries_at(after, rule.section)
    named, ends = has[index][rule.ttl_field], from_text(expires)
    same = [at for at, one in enumerate(had) if isinstance(one, dict) and one.get(rule.ttl_field) == named]
    longer = [at for at in same if (moment(had[at].get(rule.expires_field)) or ends) > ends]
    if not longer:
        return expires
    found = find_matching_element(index, has, had)
    # Nothing identifies it: it is the entry at the same index, unless the number of entries changed.
    if found is Lost.REMOVED_OR_CHANGED and len(had) == len(has):
        found = index
    return str(had[found][rule.expires_field]) if found in longer else expires


def check_lifetimes(before: Json, after: Json, rules: WriteRules, now: datetime) -> None:
    """Raise EntryExpired, with the pointer, if a new or changed entry has already expired."""
    for rule in rules.section_rules:
        if rule.expires_field is not None:
            for place, entry in _written(before, after, rule):
                if is_expired(entry, rule, now):
                    raise EntryExpired(path=pointer_text(place))


def _written(before: Json, after: Json, rule: SectionUpkeep) -> Iterator[tuple[Pointer, Json]]:
    """Yield the open entries of the section that are in `after` and not in `before`, with their pointers.

    What a closed entry says has ended, so its expiry refuses no change.
    """
    had = Counter(canonical(entry) for entry in entries_at(before, rule.section))
    for index, entry in enumerate(entries_at(after, rule.section)):
        data = canonical(entry)
        if had[data] > 0:
            had[data] -= 1
        elif is_open(entry, rule):
            yield (ROOT, *rule.place, str(index)), entry
