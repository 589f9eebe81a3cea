"""The compiled schemas judge as `jsonschema` does, the reference implementation in Python, formats included."""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from referencing import Registry, Resource

from memnet.catalog import load_schemas
from memnet.domain.catalog.schema import DIALECT, Schema, schema_uri
from memnet.domain.core.scope import Json
from memnet.settings import ROOT

SCHEMAS = load_schemas(ROOT / "schemas")


@cache
def oracle(key: tuple[str, str]) -> Draft202012Validator:
    resources = [(schema_uri(*k), Resource.from_contents(schema.body)) for k, schema in SCHEMAS.items()]
    registry: Registry[Any] = Registry().with_resources(resources)
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(SCHEMAS[key].body, registry=registry, format_checker=checker)


@cache
def examples(key: tuple[str, str]) -> str:
    return (ROOT / "schemas" / key[0] / f"{key[1]}.examples.json").read_text(encoding="utf-8")


TEXTS = st.sampled_from(
    [
        "",
        "a",
        "x" * 501,
        "x" * 2001,
        "2026-02-14T20:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-02-14",
        "add",
        "en-GB",
        "é😀",
    ]
) | st.text(max_size=8).map(lambda text: text.replace("\n", " "))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-1, 2) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def places(value: Json) -> list[tuple[Any, Any]]:
    """Every (container, key) in the value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for name, child in members for place in [(value, name), *places(child)]]


@st.composite
def contents(draw: st.DrawFn, key: tuple[str, str]) -> Json:
    """One of the schema's examples, changed in some places: mostly near the border between valid and invalid."""
    rows = json.loads(examples(key))
    value = draw(st.sampled_from(rows["valid"] + rows["invalid"]))
    for _ in range(draw(st.integers(0, 3))):
        found = places(value)
        if not found:
            return draw(VALUES)
        container, name = draw(st.sampled_from(found))
        action = draw(st.sampled_from(["replace", "drop", "insert"]))
        if action == "replace":
            container[name] = draw(VALUES)
        elif action == "drop":
            del container[name]
        elif isinstance(container, dict):
            container[draw(TEXTS)] = draw(VALUES)
        else:
            container.append(draw(VALUES))
    return value


@pytest.mark.parametrize("key", SCHEMAS, ids="/".join)
@given(data=st.data())
def test_both_give_the_same_verdict_at_the_same_places(key: tuple[str, str], data: st.DataObject) -> None:
    content = data.draw(contents(key))

    errors = list(oracle(key).iter_errors(content))
    found = SCHEMAS[key].violations(content)

    assert bool(found) == bool(errors)
    if found.total == len(found):
        # Ours may say more: it enters the alternative that was meant, and an object reports each missing member.
        top = {path.split("/")[1] if path else "" for path in (v.pointer for v in found)}
        assert top == {str(error.absolute_path[0]) if error.absolute_path else "" for error in errors}


KNOWN_DIFFERENCES = [
    ({"format": "date-time"}, "2016-12-31T23:59:60Z", True, "a leap second is allowed by RFC 3339, 5.6"),
    ({"format": "date-time"}, "0000-01-01T00:00:00Z", True, "RFC 3339 has a year 0, Python has not"),
    ({"format": "date"}, "0000-01-01", True, "RFC 3339 has a year 0, Python has not"),
    ({"format": "date-time"}, "2026-02-14T20:00:00Z\n", False, "$ also matches before a final newline in Python"),
    ({"pattern": "^a$"}, "a\n", False, "$ also matches before a final newline in Python"),
    ({"format": "email"}, "a@b@c", False, "jsonschema only looks for an @"),
    ({"format": "email"}, "joe.@example.com", False, "jsonschema only looks for an @"),
    ({"multipleOf": 0.1}, 0.3, True, "jsonschema divides as doubles, ours exactly"),
]


@pytest.mark.parametrize(("subschema", "value", "ours", "why"), KNOWN_DIFFERENCES)
def test_known_differences(subschema: dict[str, Any], value: Json, ours: bool, why: str) -> None:
    body = {"$schema": DIALECT, "$id": "memnet:t:1", "type": "object", "properties": {"a": subschema}}
    theirs = Draft202012Validator(body, format_checker=Draft202012Validator.FORMAT_CHECKER)

    assert bool(Schema.compile("t", "1", body).violations({"a": value})) is not ours, why
    assert theirs.is_valid({"a": value}) is not ours, why
