"""Check the rules `consolidate` of a profile: they are for statements, and their prompts exist."""

from collections.abc import Iterator, Mapping

from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.rules_check import CatalogNames, check_prompt
from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.statement_rules import MERGES, Consolidation
from memnet.domain.core.json_patch import pointer_text
from memnet.domain.core.violations import Problem


def check_consolidation(profile: Profile, schemas: Mapping[str, Schema], named: CatalogNames) -> Iterator[Problem]:
    """Yield the problems of `consolidate` in the upkeep rules; `schemas` are by binding_id."""
    for binding_id, rules in profile.upkeep_rules.items():
        for index, rule in enumerate(rules):
            if rule.consolidate is None:
                continue
            at = pointer_text(["upkeep_rules", binding_id, str(index), "consolidate"])
            if rule.statements is None:
                yield Problem(at, "is for statements, and the section has none", "add statements, or remove it")
            yield from _check_prompt(at, rule.consolidate, named)
            if rule.consolidate.prompt_id is not None:
                yield from _check_pending(at, profile, binding_id, schemas.get(binding_id))


def _check_prompt(at: str, rule: Consolidation, named: CatalogNames) -> Iterator[Problem]:
    if rule.prompt_id is not None and rule.prompt_version is not None:
        yield from check_prompt(at, rule.prompt_id, rule.prompt_version, named.prompts)
    elif rule.prompt_id is not None:
        yield Problem(at, "has a prompt_id without a prompt_version", "add prompt_version")
    elif rule.prompt_version is not None:
        yield Problem(at, "has a prompt_version without a prompt_id", "add prompt_id")


def _check_pending(at: str, profile: Profile, binding_id: str, schema: Schema | None) -> Iterator[Problem]:
    """A text of a model may have to wait, and its confirmation closes what it joins."""
    pending = profile.pending_sections.get(binding_id)
    if pending is None:
        remedy = f"add pending_sections for {binding_id}"
        yield Problem(at, "has a prompt, and the binding has no pending section for its texts", remedy)
    elif schema is not None and schema.has_array(pending) and not schema.has(f"{pending}/-/{MERGES}"):
        remedy = f"add {MERGES}, an array of ids"
        yield Problem(at, f"has a prompt, and the items at {pending} have no {MERGES}", remedy)
