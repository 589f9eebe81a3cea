"""Check a profile: return all its problems, each with its pointer in the file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from memnet.domain.catalog.consolidation_check import check_consolidation
from memnet.domain.catalog.path_policy import ROOT, check_content, lies_within, touches
from memnet.domain.catalog.profile import Binding, Profile, RoutingRules
from memnet.domain.catalog.recall_check import check_recall
from memnet.domain.catalog.rules import DocumentFamily
from memnet.domain.catalog.rules_check import NO_NAMES, CatalogNames, check_extraction, check_upkeep
from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.statement_check import check_statements
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import FieldDenied, InvalidIdentifier
from memnet.domain.core.json_patch import Pointer, pointer, pointer_text
from memnet.domain.core.scope import MAX_PATH, MAX_SEGMENT, SEGMENT, check_path
from memnet.domain.core.suggestion import closest
from memnet.domain.core.violations import Problem

LIMIT_PREFIX = "max_"
PENDING_MEMBERS = (
    *("id", "text", "profile_id", "binding_id", "confidence", "evidence", "proposed_at", "proposed_by"),
    *("on_behalf_of", "proposed_on", "target", "base"),
)
"""The members of a pending item, which the schema of a pending section must allow."""


def check_profile(
    profile: Profile,
    schemas: Mapping[tuple[str, str], Schema],
    named: CatalogNames = NO_NAMES,
    unusable: frozenset[tuple[str, str]] = frozenset(),
) -> list[Problem]:
    """Return all problems of the profile. References to `unusable` (invalid) schemas are not reported."""
    by_binding = {
        b.binding_id: schemas[b.schema_id, b.schema_version]
        for b in profile.document_bindings
        if (b.schema_id, b.schema_version) in schemas
    }
    return [
        *check_bindings(profile),
        *_check_schemas(profile, schemas.keys() | unusable),
        *_check_rule_bindings(profile),
        *_check_writable(profile, by_binding),
        *_check_durable(profile, by_binding),
        *_check_pending(profile, by_binding),
        *_check_corroboration(profile, by_binding),
        *_check_guidance(profile, by_binding),
        *_check_array_limits(profile, by_binding),
        *check_contents(profile, by_binding),
        *_check_thresholds(profile),
        *_check_denied(profile),
        *_check_routing(profile, by_binding),
        *check_upkeep(profile, by_binding),
        *check_statements(profile, by_binding),
        *check_consolidation(profile, by_binding, named),
        *check_extraction(profile, by_binding, named),
        *check_recall(profile, by_binding, named),
    ]


def _check_schemas(profile: Profile, known: frozenset[tuple[str, str]] | set[tuple[str, str]]) -> Iterator[Problem]:
    for at, binding in located(profile):
        versions = sorted(version for schema_id, version in known if schema_id == binding.schema_id)
        file = f"schemas/{binding.schema_id}/{binding.schema_version}.json"
        if not versions:
            meant = closest(binding.schema_id, {schema_id for schema_id, _ in known})
            remedy = f"write {meant}, or add {file}" if meant else f"add {file}"
            yield Problem(f"{at}/schema_id", f"there is no schema {binding.schema_id}", remedy)
        elif binding.schema_version not in versions:
            reason = f"schema {binding.schema_id} has no version {binding.schema_version}"
            yield Problem(f"{at}/schema_version", reason, f"write {' or '.join(versions)}, or add {file}")


def _check_rule_bindings(profile: Profile) -> Iterator[Problem]:
    rules = ("writable_path_rules", "durable_sections", "pending_sections", "compaction_rules", "upkeep_rules")
    for name in (*rules, "guidance_sections"):
        for binding_id in getattr(profile, name):
            if profile.binding(binding_id) is None:
                known = [binding.binding_id for binding in profile.document_bindings]
                remedy = f"write {closest(binding_id, known) or ' or '.join(known)}"
                reason = "is a rule for a binding that the profile lacks"
                yield Problem(pointer_text([name, binding_id]), reason, remedy)


def _check_writable(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    for binding_id, rules in profile.writable_path_rules.items():
        binding = profile.binding(binding_id)
        at = pointer_text(["writable_path_rules", binding_id])
        if binding is not None and binding.write_mode == "read_only" and rules:
            yield Problem(at, "makes a read_only binding writable", "remove the rules, or the write_mode")
        elif binding is not None and rules and binding.initial_content is None and binding_id in schemas:
            yield from _check_creation(binding, schemas[binding_id], at, profile.writable[binding_id])
        yield from _absent(at, rules, schemas.get(binding_id))


def _check_creation(binding: Binding, schema: Schema, at: str, writable: Sequence[Pointer]) -> Iterator[Problem]:
    """Yield a problem if no patch can create the document: it would need a member that patches cannot write."""
    lacking = [name for name in schema.required("") if not any(lies_within((name,), rule) for rule in writable)]
    if lacking:
        reason = f"is writable, but no patch can create the document, which needs {', '.join(lacking)}"
        yield Problem(at, reason, f"add initial_content to the binding {binding.binding_id}")


def _absent(at: str, rules: tuple[str, ...], schema: Schema | None) -> Iterator[Problem]:
    for index, rule in enumerate(rules):
        if schema is not None and not schema.has(rule):
            yield schema.lacks(f"{at}/{index}", rule)


def _check_durable(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    for binding_id, rules in profile.durable_sections.items():
        at = pointer_text(["durable_sections", binding_id])
        yield from _absent(at, rules, schemas.get(binding_id))
        if profile.durable_writes == "confirmed_only" and rules and binding_id not in profile.pending_sections:
            remedy = f"add pending_sections for {binding_id}"
            yield Problem(at, "takes confirmations only, and the binding has no pending section", remedy)


def _check_pending(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    for binding_id, section in profile.pending_sections.items():
        at = pointer_text(["pending_sections", binding_id])
        if {"*", "-"} & set(pointer(section)):
            yield Problem(at, "must be one pointer, without * and -", "name one array at the top of the content")
            continue
        binding = profile.binding(binding_id)
        is_read_only = binding is not None and binding.write_mode == "read_only"
        writable = profile.writable.get(binding_id, ())
        if not is_read_only and not any(lies_within(pointer(section), rule) for rule in writable):
            reason = "is not writable, so no proposal could be confirmed or rejected"
            yield Problem(at, reason, f'add "{section}" to writable_path_rules of {binding_id}')
        for durable in profile.durable_sections.get(binding_id, ()):
            if touches(pointer(section), pointer(durable)):
                reason = f'overlaps the durable section "{durable}": nothing short of it could wait there'
                yield Problem(at, reason, "name an array outside of the durable sections")
        if profile.array_limits(binding_id).get(section.removeprefix("/")) == 0:
            yield Problem(at, "can hold nothing: its array limit is 0", "raise the limit in compaction_rules")
        if binding_id in schemas:
            yield from _check_pending_shape(at, section, schemas[binding_id])


def _check_pending_shape(at: str, section: str, schema: Schema) -> Iterator[Problem]:
    if not schema.has_array(section):
        yield schema.lacks(at, section, "array ")
        return
    lacking = [name for name in PENDING_MEMBERS if not schema.has(f"{section}/-/{name}")]
    if lacking:
        remedy = f"add these members to the items of {section} in schema {schema.schema_id} {schema.version}"
        yield Problem(at, f"its items have no room for {', '.join(lacking)}", remedy)


def _check_corroboration(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    if profile.corroboration is None:
        return
    if profile.durable_writes == "confirmed_only":
        yield Problem("/corroboration", "applies without a confirmation, and durable_writes is confirmed_only")
    if not profile.pending_sections:
        yield Problem("/corroboration", "has nothing to apply: the profile has no pending section")
    for binding_id, section in profile.pending_sections.items():
        schema = schemas.get(binding_id)
        if schema is not None and schema.has_array(section) and not schema.has(f"{section}/-/stated"):
            remedy = f"add stated to the items of {section} in schema {schema.schema_id} {schema.version}"
            yield Problem("/corroboration", f"{section} of {binding_id} has no room for stated", remedy)


def _check_guidance(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    for binding_id, sections in profile.guidance_sections.items():
        at = pointer_text(["guidance_sections", binding_id])
        yield from _absent(at, sections, schemas.get(binding_id))
        pending = profile.pending_sections.get(binding_id)
        for index, section in enumerate(sections):
            others = [pointer(other) for other in sections[:index]]
            if not section or {"*", "-"} & set(pointer(section)):
                yield Problem(f"{at}/{index}", "must be one pointer below the content, without * and -")
            elif any(touches(pointer(section), other) for other in others):
                yield Problem(f"{at}/{index}", "overlaps a section before it")
            elif pending is not None and touches(pointer(section), pointer(pending)):
                yield Problem(f"{at}/{index}", f'overlaps the pending section "{pending}"')


def _check_array_limits(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    for binding_id, rules in profile.compaction_rules.items():
        for rule in rules:
            at = pointer_text(["compaction_rules", binding_id, rule])
            name = rule.removeprefix(LIMIT_PREFIX)
            if name in (rule, "", "*", "-"):
                remedy = f"write max_{rule}" if name else "write max_ and the name of the array"
                yield Problem(at, "is not max_<name of an array at the top of the content>", remedy)
            elif binding_id in schemas and not schemas[binding_id].has_array(pointer_text([name])):
                yield schemas[binding_id].lacks(at, pointer_text([name]), "array ")


def _check_thresholds(profile: Profile) -> Iterator[Problem]:
    rules = profile.confidence_rules
    if profile.durable_sections and rules.min_confidence_for_auto_apply > rules.min_confidence_for_durable_fact:
        reason = "is above min_confidence_for_durable_fact: a durable fact would need less than other replayed writes"
        remedy = f"write at most {rules.min_confidence_for_durable_fact}"
        yield Problem("/confidence_rules/min_confidence_for_auto_apply", reason, remedy)


def _check_denied(profile: Profile) -> Iterator[Problem]:
    for index, denied in enumerate(profile.denied_fields):
        at = f"/denied_fields/{index}"
        for binding_id, rules in profile.writable_path_rules.items():
            for rule in rules:
                if _denies(denied, rule):
                    reason = f"denies {rule}, which writable_path_rules allow for {binding_id}"
                    yield Problem(at, reason, "remove one of the two")


def _denies(denied: str, rule: str) -> bool:
    """Whether the denied field makes the writable path useless."""
    place = pointer(rule)
    if denied.startswith("/"):
        return lies_within(place, pointer(denied))
    return denied.casefold() in {segment.casefold() for segment in place}


def _check_routing(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    if profile.routing is None:
        return
    variables = {b.variable() for b in profile.document_bindings if b.path_template is not None}
    if not variables:
        reason = "has nothing to route to: no binding has a path_template"
        yield Problem("/routing", reason, "remove routing, or give a binding a path_template")
    elif len(variables) > 1:
        yield Problem("/routing", "cannot fill path templates with different variables")
    source = profile.binding(profile.routing.source_binding)
    if source is None:
        known = [binding.binding_id for binding in profile.document_bindings]
        remedy = f"write {closest(profile.routing.source_binding, known) or ' or '.join(known)}"
        yield Problem("/routing/source_binding", "is no binding of the profile", remedy)
    elif source.path_template is not None:
        yield Problem("/routing/source_binding", "must have a fixed path: routing comes before a value is known")
    elif source.binding_id in schemas:
        yield from _check_entries(profile.routing, schemas[source.binding_id])
    unmatched = profile.routing.semantic_when_unmatched
    if unmatched is not None and unmatched < profile.routing.semantic_threshold:
        reason = "is below semantic_threshold: similarity alone would need less than similarity after words"
        yield Problem("/routing/semantic_when_unmatched", reason)


def _check_entries(routing: RoutingRules, schema: Schema) -> Iterator[Problem]:
    if {"*", "-"} & set(pointer(routing.entries)) or not schema.has_array(routing.entries):
        yield schema.lacks("/routing/entries", routing.entries, "array ")
        return
    named = [("/routing/id_field", routing.id_field)]
    for fields in ("alias_fields", "keyword_fields", "description_fields"):
        named += [(f"/routing/{fields}/{i}", name) for i, name in enumerate(getattr(routing, fields))]
    for at, name in named:
        if not schema.has(routing.entries + "/-" + pointer_text([name])):
            yield Problem(at, f"the entries at {routing.entries} have no {name}")


VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
SAMPLE = "x"
"""A value for the variable, to check the rest of a template."""
PATH_REASON = f"is not 1 to 8 segments of {SEGMENT.pattern} joined by '/', {MAX_PATH} characters at most"


def check_bindings(profile: Profile) -> Iterator[Problem]:
    """Yield the problems of the bindings."""
    for at, binding in located(profile):
        yield from check_family(at, binding)
    for (first, a), (second, b) in combinations(located(profile), 2):
        if a.binding_id == b.binding_id:
            yield Problem(f"{second}/binding_id", f"is the binding_id of {first} already", "choose another id")
        if overlap(a, b):
            name = "path" if b.path is not None else "path_template"
            reason = f"covers a document of {first}: one document, one binding"
            yield Problem(f"{second}/{name}", reason, "choose another path or namespace")


def located(profile: Profile) -> list[tuple[str, Binding]]:
    """Return the bindings with their pointers."""
    return [(f"/document_bindings/{i}", binding) for i, binding in enumerate(profile.document_bindings)]


def check_family(at: str, binding: DocumentFamily) -> Iterator[Problem]:
    """Yield the problems of path and template of the family at the pointer `at`."""
    if (binding.path is None) == (binding.path_template is None):
        reason = "needs a path or a path_template" if binding.path is None else "has path and path_template"
        yield Problem(at, reason, "write one of the two")
    if binding.path is not None and not _is_path(binding.path):
        hint = "; a variable belongs in path_template" if {"{", "}"} & set(binding.path) else ""
        yield Problem(f"{at}/path", PATH_REASON + hint)
    if binding.path_template is not None:
        yield from _check_template(f"{at}/path_template", binding.path_template)


def _check_template(at: str, template: str) -> Iterator[Problem]:
    variables = VARIABLE.findall(template)
    rest = VARIABLE.sub(SAMPLE, template)
    if {"{", "}"} & set(rest):
        yield Problem(at, "has a brace that is not part of a {variable}; a variable is letters, digits and _")
    elif len(variables) != 1:
        reason = f"needs exactly one {{variable}}, has {len(variables)}"
        yield Problem(at, reason, "write one, as in {name}.json; for one document write path")
    elif not _is_path(rest):
        yield Problem(at, PATH_REASON)
    elif _longest(template) > MAX_PATH:
        yield Problem(at, f"makes paths of more than {MAX_PATH} characters when its variable is long")


def _longest(template: str) -> int:
    return len("/".join("x" * MAX_SEGMENT if VARIABLE.search(part) else part for part in template.split("/")))


def _is_path(text: str) -> bool:
    try:
        check_path(text)
    except InvalidIdentifier:
        return False
    return True


def overlap(a: DocumentFamily, b: DocumentFamily) -> bool:
    """Whether a document can belong to both families. False for invalid paths, which are another problem."""
    if a.namespace != b.namespace:
        return False
    mine, yours = _segments(a), _segments(b)
    return len(mine) == len(yours) > 0 and all(_meet(m, y) for m, y in zip(mine, yours, strict=True))


def _segments(binding: DocumentFamily) -> list[tuple[str, ...]]:
    """Return the segments of the path: (text,), or (before, after) around the variable."""
    text = binding.path if binding.path_template is None else binding.path_template
    if text is None or len(VARIABLE.findall(text)) > 1 or not _is_path(VARIABLE.sub(SAMPLE, text)):
        return []
    return [tuple(VARIABLE.split(segment)[::2]) for segment in text.split("/")]


def _meet(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if len(a) == len(b) == 1:
        return a == b
    if len(a) == 1:
        return _fits(a[0], b)
    if len(b) == 1:
        return _fits(b[0], a)
    before, after = max(a[0], b[0], key=len), max(a[1], b[1], key=len)
    shortest = before + SAMPLE + after
    return _fits(shortest, a) and _fits(shortest, b)


def _fits(text: str, template: tuple[str, ...]) -> bool:
    before, after = template
    value = text[len(before) : len(text) - len(after)]
    return text == before + value + after and SEGMENT.fullmatch(value) is not None


def check_contents(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    """Yield the problems of each binding's `initial_content`; `schemas` are by binding_id."""
    for at, binding in located(profile):
        if binding.initial_content is not None and binding.binding_id in schemas:
            problems = _check_content(profile, binding, schemas[binding.binding_id])
            yield from (Problem(f"{at}/initial_content{p.pointer}", p.reason, p.remedy) for p in problems)


def _check_content(profile: Profile, binding: Binding, schema: Schema) -> Iterator[Problem]:
    content = binding.initial_content or {}
    for violation in schema.violations(content):
        remedy = f"change it as schema {schema.schema_id} {schema.version} requires"
        yield Problem(violation.pointer, violation.message, remedy)
    size = len(canonical(content).decode())
    if size > binding.max_chars:
        yield Problem("", f"has {size} characters, more than its max_chars {binding.max_chars}", "raise max_chars")
    for name, allowed in profile.array_limits(binding.binding_id).items():
        section = content.get(name)
        if isinstance(section, Sequence) and not isinstance(section, str) and len(section) > allowed:
            yield Problem(f"/{name}", f"has {len(section)} items, more than max_{name} {allowed}")
    try:
        check_content(content, profile.denied)
    except FieldDenied as error:
        yield Problem(str(error.details["path"]).removeprefix(f"/{ROOT}"), "is one of denied_fields")
