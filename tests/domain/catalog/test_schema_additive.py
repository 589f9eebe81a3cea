"""What may change between a schema version and one that says it is additive to it."""

from typing import Any

import jsonpatch
import pytest

from memnet.domain.catalog.schema import DIALECT, InvalidSchema, Schema, check_schema, schema_uri
from memnet.domain.catalog.schema_additive import ADDITIVE_TO

FIRST: dict[str, Any] = {
    "$schema": DIALECT,
    "$id": schema_uri("s", "1.0.0"),
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 10, "format": "email"},
        "kind": {"enum": ["a", "b"]},
        "size": {"type": "number", "minimum": 0, "exclusiveMaximum": 9, "multipleOf": 0.5},
        "open": {"type": "object", "properties": {"x": {"type": "string"}}},
        "facts": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/fact"}},
        "other": {"not": {"$ref": "#/$defs/fact"}},
        "either": {"oneOf": [{"$ref": "#/$defs/small"}, {"type": "string"}]},
        "named": {"type": "object", "patternProperties": {"^n_": {"maxLength": 3}}, "additionalProperties": False},
    },
    "$defs": {
        "fact": {"type": "object", "additionalProperties": False, "properties": {"text": {"type": "string"}}},
        "small": {"type": "number", "maximum": 5},
        "free": {"anyOf": [{"maxLength": 2}, {"type": "array", "items": {"$anchor": "leaf", "maxLength": 4}}]},
    },
}
P = "/properties"


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def drop(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def problems(*changes: dict[str, Any], before: tuple[dict[str, Any], ...] = ()) -> list[tuple[str, str]]:
    """What is wrong with version 1.1.0 that has these changes over version 1.0.0."""
    older = jsonpatch.apply_patch(FIRST, list(before))
    newer = jsonpatch.apply_patch(older, [put("/$id", schema_uri("s", "1.1.0")), put(f"/{ADDITIVE_TO}", "1.0.0")])
    newer = jsonpatch.apply_patch(newer, list(changes))
    registered = {schema_uri("s", "1.0.0"): older, schema_uri("s", "1.1.0"): newer}
    assert check_schema("s", "1.0.0", older, registered) == []
    return [(p.pointer, p.reason) for p in check_schema("s", "1.1.0", newer, registered)]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [put(f"{P}/note", {"type": "string", "maxLength": 5})],
        [put(f"{P}/note", {"$ref": "#/$defs/note"}), put("/$defs/note", {"type": "string"})],
        [put(f"{P}/named{P}", {"other": {"type": "null"}})],
        [put(f"{P}/open{P}/y", {"title": "any value"}), put(f"{P}/open{P}/z", True)],
        [put(f"{P}/name/maxLength", 11), put(f"{P}/name/minLength", 1), put(f"{P}/facts/maxItems", 4)],
        [put(f"{P}/size/minimum", -1), put(f"{P}/size/exclusiveMaximum", 10)],
        [put(f"{P}/kind/enum", ["c", "b", "a"])],
        [drop("/$defs/free"), put("/required", ["name"]), put(f"{P}/name/type", ["string"])],
        [put("/$defs/free/anyOf/0/maxLength", 3)],
    ],
)
def test_an_additive_change_is_proven(changes: list[dict[str, Any]]) -> None:
    assert problems(*changes) == []


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ([put("/required/-", "kind")], "/required"),
        ([put("/required", [])], "/required"),
        ([drop(f"{P}/kind")], f"{P}/kind"),
        ([put(f"{P}/name/maxLength", 9)], f"{P}/name/maxLength"),
        ([drop(f"{P}/name/format")], f"{P}/name/format"),
        ([put(f"{P}/name/pattern", "^a")], f"{P}/name/pattern"),
        ([put(f"{P}/name/type", "number")], f"{P}/name/type"),
        ([put(f"{P}/name/type", ["string", "null"])], f"{P}/name/type"),
        ([put(f"{P}/size/multipleOf", 1)], f"{P}/size/multipleOf"),
        ([put(f"{P}/size/exclusiveMaximum", 8)], f"{P}/size/exclusiveMaximum"),
        ([put("/additionalProperties", True)], "/additionalProperties"),
        # The older version takes any value there, so documents may have another one.
        ([put(f"{P}/open{P}/y", {"type": "string"})], f"{P}/open{P}/y"),
        ([put(f"{P}/named{P}", {"n_1": {"type": "null"}})], f"{P}/named{P}/n_1"),
        ([put(f"{P}/named/patternProperties/^m_", True)], f"{P}/named/patternProperties"),
        # What is wider inside of `not` and `oneOf` makes the whole narrower; these reach it over a reference.
        ([put(f"/$defs/fact{P}/more", {})], f"/$defs/fact{P}/more"),
        ([put("/$defs/small/maximum", 6)], "/$defs/small/maximum"),
        ([put(f"{P}/either/oneOf/1/type", "number")], f"{P}/either/oneOf/1/type"),
        ([put(f"{P}/either/oneOf/-", {"type": "null"})], f"{P}/either/oneOf"),
        ([put(f"{P}/facts/items/$ref", "#/$defs/small")], f"{P}/facts/items/$ref"),
        ([put(f"{P}/facts/items", True)], f"{P}/facts/items"),
        ([put("/dependentRequired", {"kind": ["size"]})], "/dependentRequired"),
    ],
)
def test_any_other_change_is_refused_with_its_place(changes: list[dict[str, Any]], pointer: str) -> None:
    assert [at for at, _ in problems(*changes)] == [pointer]


def test_a_conditional_may_become_wider_in_its_branches_alone() -> None:
    condition = {"if": {"required": ["kind"]}, "then": {"maxProperties": 2}, "contains": {"maxLength": 2}}
    before = (put("/allOf", [condition]),)
    assert problems(put("/allOf/0/then/maxProperties", 3), before=before) == []
    assert [at for at, _ in problems(put("/allOf/0/if/required", []), before=before)] == ["/allOf/0/if/required"]
    assert [at for at, _ in problems(put("/allOf/0/contains/maxLength", 3), before=before)] == [
        "/allOf/0/contains/maxLength"
    ]
    assert [at for at, _ in problems(put("/allOf/-", True), before=before)] == ["/allOf"]


def test_a_text_that_refers_to_itself_is_compared_to_its_end() -> None:
    before = (
        put(f"{P}/child", {"$ref": "#"}),
        put(f"{P}/leaves", {"$ref": "#leaf"}),
        put(f"{P}/free", {"$ref": "#/$defs/free"}),
    )
    assert problems(put(f"{P}/note", {}), before=before) == []
    assert problems(put("/$defs/free/anyOf/1/items/maxLength", 5), before=before) == []
    narrower = problems(put("/$defs/free/anyOf/1/items/maxLength", 3), before=before)
    assert {at for at, _ in narrower} == {"/$defs/free/anyOf/1/items/maxLength"}


@pytest.mark.parametrize(("name", "fragment"), [("any", "any"), ("a b", "a%20b")])
def test_a_reference_may_be_encoded_and_lead_to_a_boolean(name: str, fragment: str) -> None:
    before = (put(f"/$defs/{name}", True), put(f"{P}/child", {"$ref": f"#/$defs/{fragment}"}))
    assert problems(before=before) == []
    assert problems(put(f"/$defs/{name}", False), before=before) != []


def test_a_reference_to_a_dynamic_anchor_is_compared() -> None:
    before = (put("/$defs/node", {"$dynamicAnchor": "node"}), put(f"{P}/child", {"$ref": "#node"}))
    assert {at for at, _ in problems(before=before)} == {"/$defs/node/$dynamicAnchor"}


def test_dynamic_references_are_not_proven() -> None:
    before = (put("/$dynamicAnchor", "node"), put(f"{P}/child", {"$dynamicRef": "#node"}))
    assert {at for at, _ in problems(before=before)} == {"/$dynamicAnchor", f"{P}/child/$dynamicRef"}


@pytest.mark.parametrize("named", ["1.1.0", "0.9.0", 1])
def test_the_older_version_has_to_be_there(named: Any) -> None:
    ((at, reason),) = problems(put(f"/{ADDITIVE_TO}", named))
    assert (at, reason) == (f"/{ADDITIVE_TO}", "must name another version of s that is there")


def test_the_older_version_has_to_be_sound() -> None:
    older = {**FIRST, "$id": "memnet:s:0.9.0"}
    newer = {**FIRST, "$id": schema_uri("s", "1.1.0"), ADDITIVE_TO: "1.0.0"}
    registered = {schema_uri("s", "1.0.0"): older, schema_uri("s", "1.1.0"): newer}
    ((problem),) = check_schema("s", "1.1.0", newer, registered)
    assert problem.reason == "version 1.0.0 has faults of its own"


def test_a_schema_that_is_not_what_it_says_is_never_compiled() -> None:
    newer = {**FIRST, "$id": schema_uri("s", "1.1.0"), ADDITIVE_TO: "1.0.0", "required": []}
    with pytest.raises(InvalidSchema, match=r"/required: not additive to 1\.0\.0: was changed"):
        Schema.compile("s", "1.1.0", newer, {schema_uri("s", "1.0.0"): FIRST})
