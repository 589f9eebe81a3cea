"""Check a profile's rules for replays: the prompt exists, entries fit, and no replay writes a durable fact alone."""

from collections.abc import Collection, Iterator, Mapping

import orjson

from memnet.domain.catalog.entry_template import PLACEHOLDERS, TEXT, Entry, fill, placeholders
from memnet.domain.catalog.extraction_rules import RULES_CONFIDENCE, ExtractionRules
from memnet.domain.catalog.path_policy import lies_within, touches
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.problem import Problem
from memnet.domain.core.scope import Json

SAMPLE = Entry(
    id="entry-0123456789abcdef",
    text="Some text.",
    confidence=0.5,
    evidence={"conversation_id": "c", "message_ids": ["m"], "snapshot_uri": "blob://s"},
    time="2026-02-14T20:00:00.000000Z",
)


def check_extraction(
    profile: Profile, schemas: Mapping[str, Schema], prompts: Collection[tuple[str, str]]
) -> Iterator[Problem]:
    """Yield the faults of `profile.extraction`; `schemas` are by binding_id, `prompts` those there are."""
    rules = profile.extraction
    if rules is None:
        return
    yield from _check_prompt(rules, prompts)
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
            yield Problem(f"{at}/binding_id", "has no pending section: what is found by a cue could wait nowhere")


def _check_prompt(rules: ExtractionRules, prompts: Collection[tuple[str, str]]) -> Iterator[Problem]:
    if rules.prompt_id not in {prompt_id for prompt_id, _ in prompts}:
        yield Problem("/extraction/prompt_id", f"there is no prompt {rules.prompt_id}")
    elif (rules.prompt_id, rules.prompt_version) not in prompts:
        yield Problem("/extraction/prompt_version", f"prompt {rules.prompt_id} has no version {rules.prompt_version}")


def _check_confidence(profile: Profile, rules: ExtractionRules) -> Iterator[Problem]:
    thresholds = profile.confidence_rules
    if profile.durable_sections and rules.max_confidence >= thresholds.min_confidence_for_durable_fact:
        yield Problem(
            "/extraction/max_confidence",
            "reaches min_confidence_for_durable_fact: a replay could write a durable fact that nobody confirmed",
        )
    if rules.cues and thresholds.min_confidence_for_auto_apply <= RULES_CONFIDENCE:
        yield Problem(
            "/extraction/cues",
            f"need a min_confidence_for_auto_apply above {RULES_CONFIDENCE}: what is found by a cue has to wait",
        )


def _check_template(at: str, template: Mapping[str, Json]) -> Iterator[Problem]:
    found = set(placeholders(dict(template)))
    for unknown in sorted(found - PLACEHOLDERS):
        yield Problem(at, f"{unknown} is none of {', '.join(sorted(PLACEHOLDERS))}")
    if TEXT not in found:
        yield Problem(at, f"has no place for the text: {TEXT}")


def _check_section(at: str, profile: Profile, binding_id: str, section: str) -> Iterator[Problem]:
    if profile.binding(binding_id) is None:
        yield Problem(at, f"{binding_id} is no binding of the profile")
        return
    place = pointer(section)
    if {"*", "-"} & set(place):
        yield Problem(at, "must name one place, without * and -")
        return
    pending = profile.pending_sections.get(binding_id)
    if pending is not None and touches(place, pointer(pending)):
        yield Problem(at, "is in the pending section, where only the service puts what falls short")
    if not any(lies_within(place, pointer(rule)) for rule in profile.writable_path_rules.get(binding_id, ())):
        yield Problem(at, f"writable_path_rules do not let {binding_id} write {section}")


def _check_shape(
    at: str, profile: Profile, schemas: Mapping[str, Schema], binding_id: str, section: str
) -> Iterator[Problem]:
    """Whether a text that is added to the section makes an entry that the schema takes."""
    schema, binding, rules = schemas.get(binding_id), profile.binding(binding_id), profile.extraction
    if schema is None or binding is None or rules is None or {"*", "-"} & set(pointer(section)):
        return
    if not schema.has_array(section):
        yield Problem(at, f"schema {schema.schema_id} {schema.version} has no array {section}")
        return
    template = rules.items.get(binding_id, {}).get(section, TEXT)
    for violation in schema.violations(_content_with(binding, section, fill(template, SAMPLE))):
        if lies_within(pointer(violation.pointer), pointer(section)):
            place = violation.pointer.removeprefix(f"{section}/0")
            yield Problem(
                at, f"makes an entry that the schema refuses: {place + ' ' if place else ''}{violation.message}"
            )


def _content_with(binding: Binding, section: str, entry: Json) -> Json:
    """The initial content, with one entry in the section; what is missing around it is other rules' concern."""
    content: Json = orjson.loads(canonical(binding.initial_content or {}))
    node = content
    *parents, last = pointer(section)
    for name in parents:
        if not isinstance(node.get(name), dict):
            node[name] = {}
        node = node[name]
    node[last] = [entry]
    return content
