"""Check the rules of a profile for extraction, upkeep and retention."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import orjson

from memnet.domain.catalog.entry_template import (
    PLACEHOLDERS,
    SAID,
    SCALARS,
    TEXT,
    Entry,
    fill,
    placeholders,
    said_members,
)
from memnet.domain.catalog.path_policy import lies_within, touches
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.retention_policy import Ceilings, Kind, Limits
from memnet.domain.catalog.rules import RULES_CONFIDENCE, ExtractionRules, Measure, SectionUpkeep
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.suggestion import closest
from memnet.domain.core.violations import Problem

SAMPLE = Entry(
    id="entry-0123456789abcdef",
    text="Some text.",
    confidence=0.5,
    evidence={"conversation_id": "c", "message_ids": ["m"], "snapshot_uri": "blob://s"},
    time="2026-02-14T20:00:00.000000Z",
    claimed_by="clm-0123456789abcdef0123456789abcdef",
)


@dataclass(frozen=True, slots=True)
class CatalogNames:
    """The names that a profile may refer to."""

    prompts: Collection[tuple[str, str]] = ()
    cues: Mapping[tuple[str, str], Collection[str]] = field(default_factory=dict)
    """The kinds of phrases, by language and version."""
    broken_cues: Collection[tuple[str, str]] = ()
    """Cues with problems, which are reported at their files."""


NO_NAMES = CatalogNames()


def check_extraction(profile: Profile, schemas: Mapping[str, Schema], named: CatalogNames) -> Iterator[Problem]:
    """Yield the problems of `profile.extraction`; `schemas` are by binding_id."""
    rules = profile.extraction
    if rules is None:
        return
    yield from check_prompt("/extraction", rules.prompt_id, rules.prompt_version, named.prompts)
    if rules.judge is not None:
        yield from check_prompt("/extraction/judge", rules.judge.prompt_id, rules.judge.prompt_version, named.prompts)
    for binding_id, own in rules.prompts.items():
        at = pointer_text(["extraction", "prompts", binding_id])
        yield from check_prompt(at, own.prompt_id, own.prompt_version, named.prompts)
        if profile.binding(binding_id) is None:
            yield Problem(at, f"{binding_id} is no binding of the profile", "remove it, or name one of the bindings")
    yield from _check_cues(rules, named)
    yield from _check_confidence(profile, rules)
    for binding_id, sections in rules.items.items():
        for section, template in sections.items():
            at = pointer_text(["extraction", "items", binding_id, section])
            yield from _check_template(at, template)
            yield from _check_section(at, profile, binding_id, section)
            yield from _check_shape(at, profile, schemas, binding_id, section)
    for index, cue in enumerate(rules.cues):
        at = f"/extraction/cues/{index}"
        yield from _check_section(at, profile, cue.binding_id, cue.section)
        yield from _check_shape(at, profile, schemas, cue.binding_id, cue.section)
        if profile.binding(cue.binding_id) is not None and cue.binding_id not in profile.pending_sections:
            remedy = f"add pending_sections for {cue.binding_id}"
            yield Problem(f"{at}/binding_id", "has no pending section for the findings of a cue", remedy)


def check_prompt(
    at: str, prompt_id: str, prompt_version: str, prompts: Collection[tuple[str, str]]
) -> Iterator[Problem]:
    """Yield the problem of a reference to a prompt that does not exist."""
    versions = sorted(version for name, version in prompts if name == prompt_id)
    file = f"prompts/{prompt_id}/{prompt_version}.md"
    if not versions:
        meant = closest(prompt_id, {name for name, _ in prompts})
        remedy = f"write {meant}, or add {file}" if meant else f"add {file}"
        yield Problem(f"{at}/prompt_id", f"there is no prompt {prompt_id}", remedy)
    elif prompt_version not in versions:
        reason = f"prompt {prompt_id} has no version {prompt_version}"
        yield Problem(f"{at}/prompt_version", reason, f"write {' or '.join(versions)}, or add {file}")


def _check_cues(rules: ExtractionRules, named: CatalogNames) -> Iterator[Problem]:
    if not rules.cues:
        return
    keys = [(one.language, one.version) for one in rules.cue_sets]
    for index, key in enumerate(keys):
        if key not in named.cues and key not in named.broken_cues:
            known = [f"{language} {version}" for language, version in sorted(named.cues)]
            remedy = f"write {' or '.join(known)}, or add cues/{'/'.join(key)}.json"
            yield Problem(f"/extraction/cue_sets/{index}", f"there are no cues {' '.join(key)}", remedy)
    forms = {form for key in keys for form in named.cues.get(key, ())}
    for index, cue in enumerate(rules.cues):
        if cue.says not in forms and set(keys) <= named.cues.keys():
            remedy = f"write {' or '.join(sorted(forms))}"
            yield Problem(f"/extraction/cues/{index}/says", f"no phrase of the cue_sets says {cue.says}", remedy)


def _check_confidence(profile: Profile, rules: ExtractionRules) -> Iterator[Problem]:
    thresholds = profile.confidence_rules
    if profile.durable_sections and rules.max_confidence >= thresholds.min_confidence_for_durable_fact:
        reason = "reaches min_confidence_for_durable_fact: a replay could write a durable fact without a confirmation"
        remedy = f"write less than {thresholds.min_confidence_for_durable_fact}"
        yield Problem("/extraction/max_confidence", reason, remedy)
    if rules.cues and thresholds.min_confidence_for_auto_apply <= RULES_CONFIDENCE:
        reason = f"need a min_confidence_for_auto_apply above {RULES_CONFIDENCE}: their findings must be confirmed"
        yield Problem("/extraction/cues", reason, "raise it in confidence_rules, or remove the cues")


def _check_template(at: str, template: Mapping[str, Json]) -> Iterator[Problem]:
    found = set(placeholders(dict(template)))
    for unknown in sorted(found - PLACEHOLDERS):
        meant = closest(unknown, PLACEHOLDERS) or " or ".join(sorted(PLACEHOLDERS))
        yield Problem(at, f"{unknown} is none of {', '.join(sorted(PLACEHOLDERS))}", f"write {meant}")
    if TEXT not in found:
        yield Problem(at, f"has no place for the text: {TEXT}", f'add a member with the value "{TEXT}"')
    if sum(one == SAID for one in placeholders(dict(template))) > len(said_members(template)):
        yield Problem(at, f"has {SAID} within a member", f'write "{SAID}" as the value of a member of the entry')


def _check_section(at: str, profile: Profile, binding_id: str, section: str) -> Iterator[Problem]:
    if profile.binding(binding_id) is None:
        known = [binding.binding_id for binding in profile.document_bindings]
        remedy = f"write {closest(binding_id, known) or ' or '.join(known)}"
        yield Problem(at, f"{binding_id} is no binding of the profile", remedy)
        return
    place = pointer(section)
    if {"*", "-"} & set(place):
        yield Problem(at, "must be one pointer, without * and -")
        return
    pending = profile.pending_sections.get(binding_id)
    if pending is not None and touches(place, pointer(pending)):
        yield Problem(at, "is in the pending section, to which only the service adds items")
    if not any(lies_within(place, pointer(rule)) for rule in profile.writable_path_rules.get(binding_id, ())):
        remedy = f'add "{section}" to writable_path_rules of {binding_id}'
        yield Problem(at, f"writable_path_rules do not let {binding_id} write {section}", remedy)


def _check_shape(
    at: str, profile: Profile, schemas: Mapping[str, Schema], binding_id: str, section: str
) -> Iterator[Problem]:
    """Yield the violations of an entry that is made of a text and added to the section."""
    schema, binding, rules = schemas.get(binding_id), profile.binding(binding_id), profile.extraction
    if schema is None or binding is None or rules is None or {"*", "-"} & set(pointer(section)):
        return
    if not schema.has_array(section):
        yield schema.lacks(at, section, "array ")
        return
    template = rules.items.get(binding_id, {}).get(section, TEXT)
    said = said_members(template) if isinstance(template, dict) else []
    for name in said:
        types = schema.types(f"{section}/-/{name}") - {"null"}
        if not types or not types <= set(SCALARS):
            yield Problem(at, f"lets a replay fill {name}, which the schema does not restrict to {', '.join(SCALARS)}")
    filled = [(*pointer(section), "0", name) for name in said]
    entry = fill(template, replace(SAMPLE, said=dict.fromkeys(set(said) & set(schema.required(f"{section}/-")), "x")))
    for violation in schema.violations(content_with(binding, section, entry)):
        place = pointer(violation.pointer)
        # What a proposal fills is checked with the proposal.
        if lies_within(place, pointer(section)) and place not in filled:
            rest = violation.pointer.removeprefix(f"{section}/0")
            where = f"{rest} " if rest else ""
            remedy = f"write extraction.items for {binding_id} {section}: a template of an entry with {TEXT} in it"
            yield Problem(at, f"makes an entry that the schema refuses: {where}{violation.message}", remedy)


def content_with(binding: Binding, section: str, entry: Json) -> Json:
    """Return the initial content of the binding with one entry in the section."""
    content: Json = orjson.loads(canonical(binding.initial_content or {}))
    node = content
    *parents, last = pointer(section)
    for name in parents:
        if not isinstance(node.get(name), dict):
            node[name] = {}
        node = node[name]
    node[last] = [entry]
    return content


FIELDS = (
    "verified_field",
    "text_field",
    "confidence_field",
    "importance_field",
    "evidence_field",
    "id_field",
    "expires_field",
    "ttl_field",
)


def check_upkeep(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    """Yield the problems of `upkeep_rules`; `schemas` are by binding_id."""
    for binding_id, rules in profile.upkeep_rules.items():
        binding = profile.binding(binding_id)
        if binding is None:
            continue
        at = pointer_text(["upkeep_rules", binding_id])
        if binding.write_mode == "read_only" and rules:
            yield Problem(at, "keeps up a read_only binding")
        needed = len({*(rule.section for rule in rules), profile.pending_sections.get(binding_id)} - {None})
        if needed > profile.max_ops:
            yield Problem(at, f"may need {needed} operations, more than max_ops {profile.max_ops}")
        yield from _check_apart(at, rules)
        for index, rule in enumerate(rules):
            yield from _check_rule(f"{at}/{index}", profile, binding_id, rule)
            if binding_id in schemas:
                yield from _check_places(f"{at}/{index}", rule, schemas[binding_id])


def _check_apart(at: str, rules: tuple[SectionUpkeep, ...]) -> Iterator[Problem]:
    for (first, a), (second, b) in combinations(enumerate(rules), 2):
        one, other = sorted((pointer(a.section), pointer(b.section)), key=len)
        if other[: len(one)] == one:
            yield Problem(f"{at}/{second}/section", f"overlaps the section of {at}/{first}")


def _check_rule(at: str, profile: Profile, binding_id: str, rule: SectionUpkeep) -> Iterator[Problem]:
    says = rule.merge or rule.keep is not None or rule.expires_field or rule.stale_after_days or rule.statements
    if not says:
        yield Problem(at, "says nothing: it needs merge, keep, expires_field, stale_after_days or statements")
    if rule.ttl_field is not None and (rule.expires_field is None or not profile.ttl_classes):
        yield Problem(f"{at}/ttl_field", "needs expires_field, which it sets, and ttl_classes")
    yield from _check_trimming(at, profile, binding_id, rule)
    pending = profile.pending_sections.get(binding_id)
    if rule.stale_after_days is not None and pending is None:
        yield Problem(f"{at}/stale_after_days", "has nowhere to go: the binding has no pending section")
    if pending is None or rule.section == pending:
        if pending is not None and rule.stale_after_days is not None:
            yield Problem(f"{at}/stale_after_days", "is of the pending section itself")
    elif touches(pointer(rule.section), pointer(pending)):
        yield Problem(f"{at}/section", f'overlaps the pending section "{pending}"')


def _check_trimming(at: str, profile: Profile, binding_id: str, rule: SectionUpkeep) -> Iterator[Problem]:
    for name in ("trim_below", "trim_by"):
        if rule.keep is None and getattr(rule, name):
            yield Problem(f"{at}/{name}", "needs keep")
    if rule.keep is None:
        return
    durable = profile.durable_sections.get(binding_id, ())
    if rule.trim_below is None and any(touches(pointer(rule.section), pointer(place)) for place in durable):
        yield Problem(f"{at}/keep", "trims a durable section: it needs trim_below, so that the surest entries stay")
    limit = profile.array_limits(binding_id).get(rule.section.removeprefix("/"))
    if limit is not None and rule.keep > limit:
        yield Problem(f"{at}/keep", f"is more than the section may hold, which is {limit}")


def _check_places(at: str, rule: SectionUpkeep, schema: Schema) -> Iterator[Problem]:
    if {"*", "-"} & set(pointer(rule.section)) or not schema.has_array(rule.section):
        yield schema.lacks(f"{at}/section", rule.section, "array ")
        return
    segments = pointer(rule.section)
    if any(schema.has_array(pointer_text(segments[:depth])) for depth in range(1, len(segments))):
        yield Problem(f"{at}/section", "lies in an entry of an array: entries have no fixed place")
    needed = {name for name in FIELDS if name in rule.model_fields_set}
    if rule.stale_after_days is not None:
        needed.add("verified_field")
    if rule.trim_below is not None:
        needed.add("confidence_field")
    for name in FIELDS:
        field = getattr(rule, name)
        if name in needed and field is not None and not schema.has(rule.section + "/-" + pointer_text([field])):
            yield Problem(f"{at}/{name}", f"the entries at {rule.section} have no {field}")
    for index, measure in enumerate(rule.trim_by):
        if isinstance(measure, Measure):
            yield from _check_measure(f"{at}/trim_by/{index}", rule.section, measure, schema)


def _check_measure(at: str, section: str, measure: Measure, schema: Schema) -> Iterator[Problem]:
    place = section + "/-" + pointer_text([measure.field])
    if not schema.has(place):
        yield Problem(f"{at}/field", f"the entries at {section} have no {measure.field}")
    elif not measure.order:
        if not schema.has_number(place):
            yield Problem(f"{at}/field", "is not a number: its values need an order")
        if isinstance(measure.default, str):
            yield Problem(f"{at}/default", "is not a number")
    elif sorted(measure.order) != sorted(map(str, schema.choices(place))):
        yield Problem(f"{at}/order", "must list each value of the schema's enum once")
    elif measure.default is not None and measure.default not in measure.order:
        yield Problem(f"{at}/default", "is not in order")


def check_ceilings(ceilings: Ceilings) -> Iterator[Problem]:
    """Yield each minimum above its maximum, for the organisation and each tenant."""
    yield from _check_limits("", ceilings)
    for tenant_id in ceilings.tenants:
        yield from _check_limits(pointer_text(["tenants", tenant_id]), ceilings.of(tenant_id))


def _check_limits(at: str, limits: Limits) -> Iterator[Problem]:
    for kind in Kind:
        least, most = limits.least(kind), limits.most(kind)
        if least is not None and most is not None and least > most:
            yield Problem(f"{at}/{kind}_min_days", f"is above {kind}_max_days, {most}")


def check_rules(profile: Profile, limits: Limits) -> Iterator[Problem]:
    """Yield each rule of the profile that exceeds the limits."""
    for kind in Kind:
        days: int | None = getattr(profile.retention_rules, f"{kind}_days")
        least, most = limits.least(kind), limits.most(kind)
        at = f"/retention_rules/{kind}_days"
        if days is not None and most is not None and days > most:
            yield Problem(at, f"is above the organisation's ceiling of {most} days", f"write at most {most}")
        if days is not None and least is not None and days < least:
            yield Problem(at, f"is below the organisation's floor of {least} days", f"write at least {least}")
