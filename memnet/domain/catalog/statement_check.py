"""Check the statement rules of a profile: that the entries have the members, and room for what the service writes."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from memnet.domain.catalog.entry_template import CLAIMANT
from memnet.domain.catalog.path_policy import lies_within
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.rules_check import content_with
from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.statement_rules import Statements
from memnet.domain.core.claimant import PREFIX
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.suggestion import closest
from memnet.domain.core.violations import Problem

MEMBERS = ("value_field", "from_field", "until_field", "replaces_field", "replaced_field")
OF_SERVICE = ("id_field", "text_field", "confidence_field", "evidence_field", "verified_field")
TIME, ENTRY_ID = "2026-02-14T20:00:00.000000Z", "stm-0123456789abcdef01234567"
ANSWER: dict[str, Json] = {"pending_id": ENTRY_ID, "at": TIME, "values": ["0"], "evidence": ["0"], "apart_from": None}
ITEM: dict[str, Json] = {"conversation_id": "c", "at": TIME, "confirmed_by": "p", "answer": ANSWER, "lacks": ["m"]}
EVIDENCE: dict[str, Json] = {**ITEM, "also": [ITEM]}
"""What the service writes as the evidence of a statement."""
PROPOSAL: dict[str, Json] = {
    "id": ENTRY_ID,
    "text": "t",
    "profile_id": "p",
    "binding_id": "b",
    "confidence": None,
    "evidence": None,
    "proposed_at": TIME,
    "proposed_by": "p",
    "on_behalf_of": None,
    "proposed_on": None,
    "target": {"op": "add", "path": "/content/x/-", "value": {}},
    "base": {},
}
QUESTION: dict[str, Json] = {
    "question": "q" * 1500,
    "choices": ["c" * 300] * 8,
    "decides": "user",
    "contradicts": ENTRY_ID,
    "alternatives": [PROPOSAL] * 6,
    "also_proposed_by": ["p"] * 20,
}
"""The members that a full question adds to a pending item."""
CODE = f"{PREFIX}0123456789abcdef0123456789abcdef"
REMEDY = "allow date-times, ids, codes of claimants, and in evidence the members at, lacks, confirmed_by and answer"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def check_statements(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    """Yield the problems of `statements` in the upkeep rules; `schemas` are by binding_id."""
    for binding_id, rules in profile.upkeep_rules.items():
        for index, rule in enumerate(rules):
            if rule.statements is None:
                continue
            at = pointer_text(["upkeep_rules", binding_id, str(index), "statements"])
            yield from _check_names(at, rule, rule.statements)
            yield from _check_asking(at, profile, binding_id, rule, rule.statements)
            yield from _check_claimants(at, profile, binding_id, rule, rule.statements)
            schema = schemas.get(binding_id)
            if schema is not None and schema.has_array(rule.section):
                yield from _check_members(at, rule, rule.statements, schema)
                yield from _check_room(at, profile, binding_id, rule, schema)
            if schema is not None and rule.statements.question is not None:
                yield from _check_question(at, profile, binding_id, schema)


def _check_names(at: str, rule: SectionUpkeep, statements: Statements) -> Iterator[Problem]:
    own = [*statements.about, *(getattr(statements, name) for name in MEMBERS)]
    for name, count in Counter(own).items():
        if count > 1:
            yield Problem(at, f"names {name} twice: each of its members means one thing")
    for field in OF_SERVICE:
        if getattr(rule, field) in own:
            yield Problem(at, f"names {getattr(rule, field)}, which is the {field} of the section")
    for name, values in statements.several.items():
        if name not in statements.about:
            meant = closest(name, statements.about) or " or ".join(statements.about)
            yield Problem(f"{at}/several{pointer_text([name])}", "is not a member of about", f"write {meant}")
        if not values:
            yield Problem(f"{at}/several{pointer_text([name])}", "lists no value", "list the values, or remove it")


def _check_asking(
    at: str, profile: Profile, binding_id: str, rule: SectionUpkeep, statements: Statements
) -> Iterator[Problem]:
    pending = profile.pending_sections.get(binding_id)
    if statements.on_contradiction == "ask" and pending is None:
        remedy = f"add pending_sections for {binding_id}"
        yield Problem(f"{at}/on_contradiction", "asks, and the binding has no pending section", remedy)
    if statements.on_contradiction == "ask" and statements.question is None:
        yield Problem(f"{at}/on_contradiction", "asks, and there is no question", "add question, with {old} and {new}")
    if pending is not None and lies_within(rule.place, pointer(pending)):
        yield Problem(at, "are in the pending section, whose items are proposals")
    if statements.question is None:
        return
    found = Counter(_PLACEHOLDER.findall(statements.question))
    for name in ("old", "new"):
        if name not in found:
            yield Problem(f"{at}/question", f"has no place for the {name} statement", f"add {{{name}}}")
        elif found[name] > 1:
            # A question with long statements would be longer than QUESTION, for which the schema has room.
            yield Problem(f"{at}/question", f"quotes the {name} statement twice", f"write {{{name}}} once")
    for name in sorted(found.keys() - {"old", "new"}):
        yield Problem(f"{at}/question", f"{{{name}}} is neither {{old}} nor {{new}}", "write one of them")


def _check_question(at: str, profile: Profile, binding_id: str, schema: Schema) -> Iterator[Problem]:
    """Yield what the schema's pending items have no room for: a question with all of its choices."""
    section, binding = profile.pending_sections.get(binding_id), profile.binding(binding_id)
    if section is None or binding is None or not schema.has_array(section):
        return
    for name in QUESTION:
        if not schema.has(f"{section}/-/{name}"):
            yield Problem(f"{at}/question", f"the pending items at {section} have no {name}", "add it to the schema")
            return
    for violation in schema.violations(content_with(binding, section, QUESTION)):
        place = pointer(violation.pointer)[len(pointer(section)) + 1 :]
        if lies_within(pointer(violation.pointer), pointer(section)) and place and place[0] in QUESTION:
            reason = f"the schema refuses what the service writes to {pointer_text(place)}: {violation.message}"
            yield Problem(f"{at}/question", reason, "allow the members of a question that docs/profiles.md lists")


def _check_claimants(
    at: str, profile: Profile, binding_id: str, rule: SectionUpkeep, statements: Statements
) -> Iterator[Problem]:
    name = statements.claimed_by_field
    if statements.between_claimants == "review":
        for member, is_there in (
            ("claimed_by_field", name is not None),
            ("question", statements.question is not None),
            ("pending_sections", binding_id in profile.pending_sections),
        ):
            if not is_there:
                yield Problem(f"{at}/between_claimants", f"asks the tenant, and there is no {member}", f"add {member}")
    items = {} if profile.extraction is None else profile.extraction.items.get(binding_id, {})
    filled = [member for member, value in items.get(rule.section, {}).items() if value == CLAIMANT]
    if rule.section in items and filled != ([] if name is None else [name]):
        where = pointer_text(["extraction", "items", binding_id, rule.section])
        remedy = f"remove {CLAIMANT}" if name is None else f'write "{name}": "{CLAIMANT}"'
        yield Problem(where, f"does not write {CLAIMANT} where the statements have it", remedy)
    if name is not None and name not in statements.about[1:]:
        remedy = f"add {name} to about, after what the statement is about"
        yield Problem(f"{at}/claimed_by_field", f"{name} is no later member of about", remedy)


def _check_members(at: str, rule: SectionUpkeep, statements: Statements, schema: Schema) -> Iterator[Problem]:
    named = [(f"about/{index}", name) for index, name in enumerate(statements.about)]
    named += [(field, getattr(statements, field)) for field in MEMBERS]
    named += [(f"../{field}", getattr(rule, field)) for field in ("id_field", "evidence_field")]
    for field, name in named:
        if not schema.has(f"{rule.section}/-{pointer_text([name])}"):
            where = at.removesuffix("/statements") + field.removeprefix("..") if field[0] == "." else f"{at}/{field}"
            yield Problem(where, f"the entries at {rule.section} have no {name}")


def _check_room(at: str, profile: Profile, binding_id: str, rule: SectionUpkeep, schema: Schema) -> Iterator[Problem]:
    """Yield each member that refuses what the service writes there."""
    binding, statements = profile.binding(binding_id), rule.statements
    if binding is None or statements is None:
        return
    entry: dict[str, Json] = {rule.id_field: ENTRY_ID, rule.evidence_field: EVIDENCE}
    entry |= dict.fromkeys((statements.from_field, statements.until_field), TIME)
    entry |= dict.fromkeys((statements.replaces_field, statements.replaced_field), ENTRY_ID)
    if statements.claimed_by_field is not None:
        entry[statements.claimed_by_field] = CODE
    for violation in schema.violations(content_with(binding, rule.section, entry)):
        place = pointer(violation.pointer)[len(rule.place) + 1 :]
        if lies_within(pointer(violation.pointer), rule.place) and place and place[0] in entry:
            reason = f"the schema refuses what the service writes to {pointer_text(place)}: {violation.message}"
            yield Problem(at, reason, REMEDY)
