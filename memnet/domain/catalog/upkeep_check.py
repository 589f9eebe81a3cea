"""Check the upkeep rules of a profile: existing sections, one rule each, and no silent loss."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from memnet.domain.catalog.path_policy import touches
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.upkeep_rules import Measure, SectionUpkeep
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.problem import Problem

FIELDS = (
    "verified_field",
    "text_field",
    "confidence_field",
    "evidence_field",
    "id_field",
    "expires_field",
    "ttl_field",
)


def check_upkeep(profile: Profile, schemas: Mapping[str, Schema]) -> Iterator[Problem]:
    """Yield every fault of `upkeep_rules`; `schemas` are by binding_id."""
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
    if not (rule.merge or rule.keep is not None or rule.expires_field or rule.stale_after_days):
        yield Problem(at, "says nothing: it needs merge, keep, expires_field or stale_after_days")
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
        yield Problem(f"{at}/section", f"schema {schema.schema_id} {schema.version} has no array {rule.section}")
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
