"""Problems of the rules `consolidate`, which stop the start."""

from typing import Any

import pytest

from memnet.domain.catalog.consolidation_check import check_consolidation
from memnet.domain.catalog.rules_check import CatalogNames
from memnet.domain.catalog.schema import Schema
from tests.domain.statement_document import SCHEMA, statement_rules

AT = "/upkeep_rules/b/0/consolidate"
NAMED = CatalogNames(prompts={("join", "1.0.0")})
PROMPT = {"prompt_id": "join", "prompt_version": "1.0.0"}
MERGES = {"type": "array", "items": {"type": "string"}}


def problems(rule: dict[str, Any] | None, *, waiting: Any = None, pending: bool = True, **upkeep: Any) -> Any:
    """The problems of a section whose pending items have the members `waiting`."""
    consolidate = {} if rule is None else {"consolidate": {"above": 0.85, **rule}}
    rules = statement_rules(pending=pending, upkeep={**consolidate, **upkeep})
    items = {"type": "object", "additionalProperties": False, "properties": {"merges": MERGES, **(waiting or {})}}
    if waiting is not None:
        items["properties"] = waiting
    properties = {**SCHEMA["properties"], "waiting": {"type": "array", "items": items}}
    schema = Schema("s", "1.0.0", {**rules.schema.body, **SCHEMA, "properties": properties})
    return [
        (problem.pointer, problem.reason, problem.remedy)
        for problem in check_consolidation(rules.profile, {"b": schema}, NAMED)
    ]
