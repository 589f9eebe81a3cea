"""Problems of statement rules, which stop the start."""

from typing import Any

import pytest

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.schema import Schema
from memnet.domain.catalog.statement_check import check_statements
from tests.domain.samples import ANYTHING
from tests.domain.statement_document import SCHEMA, STATEMENT, statement_rules

CLAIMED: dict[str, Any] = {"about": ["subject", "attribute", "claimed_by"], "claimed_by_field": "claimed_by"}
AT = "/upkeep_rules/b/0/statements"
NO_ROOM = "the schema refuses what the service writes to /"


def problems(rules: WriteRules, schema: Schema | None = None) -> list[tuple[str, str]]:
    found = check_statements(rules.profile, {"b": schema or rules.schema})
    return [(problem.pointer, problem.reason) for problem in found]


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"on_contradiction": "ask"},
        {"on_contradiction": "keep", "question": None, "several": {}},
        {"unless_less_sure_by": 0.2, "pending": False},
    ],
)
def test_sound_rules_have_no_problem(members: dict[str, Any]) -> None:
    assert problems(statement_rules(**members)) == []


@pytest.mark.parametrize(
    ("members", "pointer", "reason"),
    [
        ({"about": ["subject", "attribut"]}, f"{AT}/about/1", "the entries at /facts have no attribut"),
        ({"value_field": "worth"}, f"{AT}/value_field", "the entries at /facts have no worth"),
        ({"from_field": "since"}, f"{AT}/from_field", "the entries at /facts have no since"),
        ({"until_field": "till"}, f"{AT}/until_field", "the entries at /facts have no till"),
        ({"replaces_field": "before"}, f"{AT}/replaces_field", "the entries at /facts have no before"),
        ({"replaced_field": "after"}, f"{AT}/replaced_field", "the entries at /facts have no after"),
        (
            {"upkeep": {"id_field": "key"}},
            "/upkeep_rules/b/0/id_field",
            "the entries at /facts have no key",
        ),
        (
            {"upkeep": {"evidence_field": "proof"}},
            "/upkeep_rules/b/0/evidence_field",
            "the entries at /facts have no proof",
        ),
        ({"value_field": "subject"}, AT, "names subject twice: each of its members means one thing"),
        ({"value_field": "text"}, AT, "names text, which is the text_field of the section"),
        ({"several": {"atribute": ["owns"]}}, f"{AT}/several/atribute", "is not a member of about"),
        ({"several": {"attribute": []}}, f"{AT}/several/attribute", "lists no value"),
        (
            {"on_contradiction": "ask", "pending": False},
            f"{AT}/on_contradiction",
            "asks, and the binding has no pending section",
        ),
        (
            {"on_contradiction": "ask", "question": None},
            f"{AT}/on_contradiction",
            "asks, and there is no question",
        ),
        ({"question": "Now: {new}?"}, f"{AT}/question", "has no place for the old statement"),
        ({"question": "{old} or {new}? {new}?"}, f"{AT}/question", "quotes the new statement twice"),
        ({"question": "{old} {new} {when}"}, f"{AT}/question", "{when} is neither {old} nor {new}"),
        ({"upkeep": {"section": "/waiting"}}, AT, "are in the pending section, whose items are proposals"),
        ({"from_field": "subject", "about": ["attribute"]}, None, None),
        ({**CLAIMED, "between_claimants": "review"}, None, None),
        (
            {**CLAIMED, "about": ["subject", "attribute"]},
            f"{AT}/claimed_by_field",
            "claimed_by is no later member of about",
        ),
        (
            {**CLAIMED, "about": ["claimed_by", "subject"]},
            f"{AT}/claimed_by_field",
            "claimed_by is no later member of about",
        ),
        (
            {"between_claimants": "review"},
            f"{AT}/between_claimants",
            "asks the tenant, and there is no claimed_by_field",
        ),
        (
            {**CLAIMED, "between_claimants": "review", "question": None},
            f"{AT}/between_claimants",
            "asks the tenant, and there is no question",
        ),
        (
            {**CLAIMED, "between_claimants": "review", "pending": False},
            f"{AT}/between_claimants",
            "asks the tenant, and there is no pending_sections",
        ),
    ],
)
def test_a_problem_is_reported_with_its_pointer(
    members: dict[str, Any], pointer: str | None, reason: str | None
) -> None:
    found = problems(statement_rules(**members))
    assert (pointer, reason) in found if pointer else found == []


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"valid_until": {"type": "string", "format": "date"}}, "valid_until"),
        ({"evidence": {"type": "object", "properties": {"at": {}}, "additionalProperties": False}}, "evidence"),
        ({"replaced_by": {"type": "integer"}}, "replaced_by"),
        ({"id": {"type": "string", "maxLength": 10}}, "id"),
        ({"claimed_by": {"type": "string", "maxLength": 10}}, "claimed_by"),
    ],
)
def test_a_schema_without_room_for_the_service_is_a_problem(changes: dict[str, Any], place: str) -> None:
    entry = {**STATEMENT, "properties": STATEMENT["properties"] | changes}
    body = {**ANYTHING, "properties": SCHEMA["properties"] | {"facts": {"type": "array", "items": entry}}}
    rules = statement_rules(**CLAIMED) if place == "claimed_by" else statement_rules()
    found = problems(rules, Schema.compile("any", "1.0.0", body))
    assert {pointer for pointer, _ in found} == {AT}
    assert all(reason.startswith(f"{NO_ROOM}{place}") for _, reason in found)
