"""Problems of the rules `consolidate`, which stop the start."""

from typing import Any

import pytest

from memnet.domain.catalog.consolidation_check import check_consolidation
from memnet.domain.catalog.rules_check import CatalogNames
from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.statement_rules import MERGES
from tests.domain.samples import ANYTHING
from tests.domain.statement_document import SCHEMA, statement_rules

AT = "/upkeep_rules/b/0/consolidate"
NAMED = CatalogNames(prompts={("join", "1.0.0")})
PROMPT = {"prompt_id": "join", "prompt_version": "1.0.0"}
IDS = {"type": "array", "items": {"type": "string"}}


def problems(rule: dict[str, Any] | None, *, has_merges: bool = True, **rules: Any) -> list[tuple[str, str, str]]:
    """The problems of a section with this rule; pending items have only `merges`, or only another member."""
    upkeep = {**rules.pop("upkeep", {}), **({} if rule is None else {"consolidate": {"above": 0.85, **rule}})}
    own = statement_rules(upkeep=upkeep, **rules)
    items = {"type": "object", "additionalProperties": False, "properties": {MERGES if has_merges else "other": IDS}}
    properties = {**SCHEMA["properties"], "waiting": {"type": "array", "items": items}}
    schema = Schema.compile("any", "1.0.0", {**ANYTHING, **SCHEMA, "properties": properties})
    found = check_consolidation(own.profile, {"b": schema}, NAMED)
    return [(problem.pointer, problem.reason, problem.remedy) for problem in found]


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        (None, {"has_merges": False, "pending": False}),
        ({}, {"has_merges": False, "pending": False}),
        (PROMPT, {}),
    ],
)
def test_sound_rules_have_no_problem(rule: dict[str, Any] | None, more: dict[str, Any]) -> None:
    assert problems(rule, **more) == []


@pytest.mark.parametrize(
    ("rule", "more", "expected"),
    [
        (
            {},
            {"upkeep": {"statements": None}},
            (AT, "is for statements, and the section has none", "add statements, or remove it"),
        ),
        (
            {"prompt_id": "joim", "prompt_version": "1.0.0"},
            {},
            (f"{AT}/prompt_id", "there is no prompt joim", "write join, or add prompts/joim/1.0.0.md"),
        ),
        (
            {"prompt_id": "join", "prompt_version": "2.0.0"},
            {},
            (f"{AT}/prompt_version", "prompt join has no version 2.0.0", "write 1.0.0, or add prompts/join/2.0.0.md"),
        ),
        ({"prompt_id": "join"}, {}, (AT, "has a prompt_id without a prompt_version", "add prompt_version")),
        ({"prompt_version": "1.0.0"}, {}, (AT, "has a prompt_version without a prompt_id", "add prompt_id")),
        (
            PROMPT,
            {"pending": False},
            (
                AT,
                "has a prompt, and the binding has no pending section for its texts",
                "add pending_sections for b",
            ),
        ),
        (
            PROMPT,
            {"has_merges": False},
            (AT, "has a prompt, and the items at /waiting have no merges", "add merges, an array of ids"),
        ),
    ],
)
def test_a_problem_is_reported_with_its_pointer_and_remedy(
    rule: dict[str, Any], more: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    assert problems(rule, **more) == [expected]
