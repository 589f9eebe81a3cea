"""Every fault of the rules about content, expiry and guidance that stops the start."""

from typing import Any

import pytest

from tests.profiles.conftest import Workshop

FACTS = {"section": "/facts", "expires_field": "until", "ttl_field": "lives"}


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def guidance(*sections: str) -> dict[str, Any]:
    return put("/guidance_sections", {"garden": list(sections)})


SOUND = [
    [put("/sensitive_content", {"allow": ["iban"], "shapes": {"plot": "PLOT-####"}})],
    [put("/ttl_classes", {"this week": "P7D", "b": "P2W", "c": "PT12H"}), put("/upkeep_rules", {"garden": [FACTS]})],
    [guidance("/plants", "/soil/log", "/facts")],
]

PROBLEMS = [
    pytest.param([put("/sensitive_content", {"allow": ["ibans"]})], "/sensitive_content/allow/0", "Input should be",
                 id="unknown kind"),
    pytest.param([put("/sensitive_content", {"shapes": {"plot": "P-##"}})], "/sensitive_content/shapes/plot",
                 "String should match pattern", id="shape of a common word"),
    pytest.param([put("/ttl_classes", {"soon": "7 days"})], "/ttl_classes/soon", "String should match pattern",
                 id="no duration"),
    pytest.param([put("/ttl_classes", {"soon": "P0D"})], "/ttl_classes/soon", "String should match pattern",
                 id="no time at all"),
    pytest.param([put("/upkeep_rules", {"garden": [FACTS]})], "/upkeep_rules/garden/0/ttl_field",
                 "needs expires_field, which it sets, and ttl_classes", id="classes without durations"),
    pytest.param([put("/ttl_classes", {"a": "P7D"}),
                  put("/upkeep_rules", {"garden": [{"section": "/facts", "merge": True, "ttl_field": "lives"}]})],
                 "/upkeep_rules/garden/0/ttl_field", "needs expires_field, which it sets, and ttl_classes",
                 id="classes that set nothing"),
    pytest.param([put("/guidance_sections", {"park": ["/plants"]})], "/guidance_sections/park",
                 "is a rule for a binding that the profile lacks", id="unknown binding"),
    pytest.param([guidance("/plantz")], "/guidance_sections/garden/0", "schema garden 1.0.0 has no /plantz",
                 id="guidance the schema lacks"),
    pytest.param([guidance("/beds/*/names")], "/guidance_sections/garden/0",
                 "must be one pointer below the content, without * and -", id="guidance in many places"),
    pytest.param([guidance("")], "/guidance_sections/garden/0",
                 "must be one pointer below the content, without * and -", id="everything is guidance"),
    pytest.param([guidance("/soil", "/soil/log")], "/guidance_sections/garden/1", "overlaps a section before it",
                 id="guidance in guidance"),
    pytest.param([guidance("/waiting")], "/guidance_sections/garden/0", 'overlaps the pending section "/waiting"',
                 id="guidance that waits"),
]  # fmt: skip


@pytest.mark.parametrize("changes", SOUND)
def test_sound_rules_are_taken(workshop: Workshop, changes: list[Any]) -> None:
    workshop.profile(*changes)
    assert workshop.problems() == []


@pytest.mark.parametrize(("changes", "pointer", "reason"), PROBLEMS)
def test_a_fault_is_named_with_its_place(workshop: Workshop, changes: list[Any], pointer: str, reason: str) -> None:
    workshop.profile(*changes)
    assert [problem for problem in workshop.problems() if problem[1] == pointer and problem[2].startswith(reason)]
