"""Steps and functions of migrations: their results, and the problems of their form."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet.domain.catalog.migration_model import Migration, Target
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import LimitExceeded, PatchNotApplicable
from memnet.domain.governance.migration_functions import check_steps, make
from memnet.domain.governance.migration_plan import NotMigratable, upgraded
from tests.domain.samples import CATALOG

OLD = {"updated_at": "2026-02-14T20:00:00Z", "content": {"a": 1, "list": ["x", {"name": "y"}]}}
SOURCES = {"old": OLD}


def target(*steps: dict[str, Any]) -> Target:
    return Target.model_validate_json(
        canonical({"namespace": "n", "path": "p", "schema_id": "s", "schema_version": "1", "steps": list(steps)})
    )


def made(*steps: dict[str, Any], sources: Any = SOURCES) -> Any:
    return make(target(*steps), sources)


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def copy(source: str, path: str, **members: Any) -> dict[str, Any]:
    return {"op": "copy", "from": source, "path": path, **members}


def mapped(template: Any) -> dict[str, Any]:
    return {"op": "apply", "function": "map_entries", "path": "/content/list", "with": {"template": template}}


LIST = copy("/sources/old/content/list", "/content/list")


def test_the_content_is_empty_at_first() -> None:
    assert made({"op": "test", "path": "/content", "value": {}}) == {}


def test_steps_apply_in_order() -> None:
    assert made(copy("/sources/old/content/a", "/content/b"), copy("/content/b", "/content/c")) == {"b": 1, "c": 1}
    assert made(copy("/sources/old/content", "/content"), {"op": "remove", "path": "/content/list"}) == {"a": 1}
    assert made(copy("/sources/old/updated_at", "/content/at")) == {"at": "2026-02-14T20:00:00Z"}


def test_a_step_with_if_present_is_skipped_without_its_value() -> None:
    assert made(copy("/sources/old/content/z", "/content/z", if_present=True)) == {}
    assert made({"op": "remove", "path": "/content/z", "if_present": True}) == {}
    assert made({**mapped("$entry"), "if_present": True}) == {}
    assert made(copy("/sources/other/content", "/content", if_present=True)) == {}
    assert made(copy("/sources/old/content/a", "/content/b", if_present=True)) == {"b": 1}


def test_a_failing_step_is_named() -> None:
    with pytest.raises(PatchNotApplicable) as refused:
        made(add("/content/x", 1), copy("/sources/old/content/z", "/content/z"))
    assert refused.value.details["op_index"] == 1


def test_copies_are_limited() -> None:
    with pytest.raises(LimitExceeded):
        made(add("/content/x", ["y" * 400_000] * 2), copy("/content/x", "/content/z"))


def test_entries_are_mapped_by_a_template() -> None:
    template = {"text": "$entry", "at": "$sources/old/updated_at", "n": 5, "in": ["$entry/name", "$nothing"]}
    assert made(LIST, mapped(template)) == {
        "list": [
            {"text": "x", "at": OLD["updated_at"], "n": 5, "in": ["$nothing"]},
            {"text": {"name": "y"}, "at": OLD["updated_at"], "n": 5, "in": ["y", "$nothing"]},
        ]
    }
    assert made(LIST, mapped("$entry/name")) == {"list": ["y"]}


def test_ids_depend_on_the_entry() -> None:
    ids = made(add("/content/list", ["x", "y", "x"]), mapped("$id"))["list"]
    assert len(set(ids)) == 3
    assert made(add("/content/list", ["y", "x", "x"]), mapped("$id"))["list"] == [ids[1], ids[0], ids[2]]


def test_only_an_array_has_entries() -> None:
    with pytest.raises(PatchNotApplicable, match="needs an array"):
        made(add("/content/list", {}), mapped("$entry"))


json_values = st.recursive(
    st.none() | st.integers(0, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=30)
@given(st.lists(json_values, max_size=3), json_values)
def test_it_is_pure(entries: list[Any], template: Any) -> None:
    found = target(add("/content/list", []), copy("/sources/old/content/list", "/content/list"), mapped(template))
    sources = {"old": {"content": {"list": entries}}}
    before = canonical([sources, found.model_dump()])
    assert canonical(make(found, sources)) == canonical(make(found, sources))
    assert canonical([sources, found.model_dump()]) == before


@pytest.mark.parametrize(
    ("step", "pointer", "reason"),
    [
        ({"path": "/content"}, "/steps/0/op", "must be one of add, remove, replace, move, copy, test, apply"),
        (add("/sources/old/content", 1), "/steps/0/path", "must begin with /content"),
        (copy("/sources/new/content", "/content"), "/steps/0/from",
         "must begin with /content or with /sources/ and the name of a source"),
        (copy("/sources", "/content"), "/steps/0/from",
         "must begin with /content or with /sources/ and the name of a source"),
        ({"op": "add", "path": "/content/x"}, "/steps/0", "add needs a value."),
        ({"op": "copy", "path": "/content/x"}, "/steps/0", "copy needs a from."),
        ({**add("/content/x", 1), "if_absent": True}, "/steps/0/if_absent", "is not a member that add has"),
        ({**add("/content/x", 1), "from": "/content"}, "/steps/0/from", "is not a member that add has"),
        ({**add("/content/x", 1), "if_present": 1}, "/steps/0/if_present", "must be true or false"),
        (add("content", 1), "/steps/0",
         "A JSON Pointer is '' or starts with '/', and '~' occurs only in '~0' and '~1'."),
        ({**mapped("$entry"), "function": "eval"}, "/steps/0/function", "must be one of map_entries"),
        ({**mapped("$entry"), "with": {}}, "/steps/0/with", "must be an object of template"),
    ],
)  # fmt: skip
def test_the_problems_of_a_step(step: dict[str, Any], pointer: str, reason: str) -> None:
    problems = [(p.pointer, p.reason) for p in check_steps(target(step), {"old": None})]
    assert problems == [(pointer, reason)]


def test_valid_steps_have_no_problem() -> None:
    steps = [add("/content", {}), LIST, mapped("$entry"), {"op": "move", "from": "/content/list", "path": "/content/l"}]
    assert list(check_steps(target(*steps), {"old": None})) == []


def test_formatting_and_defaults_do_not_change_the_digest() -> None:
    body = {
        "migration_id": "m",
        "sources": {"a": {"namespace": "n", "path": "a", "schema_id": "s", "schema_version": "1"}},
        "targets": [target(add("/content", {})).model_dump(exclude_unset=True)],
    }
    first = Migration.model_validate_json(canonical(body))
    again = Migration.model_validate_json(canonical(first.model_dump(exclude_unset=True)))
    body["sources"]["a"]["required"] = False  # type: ignore[index]
    assert first.digest() == again.digest() != Migration.model_validate_json(canonical(body)).digest()


def test_a_required_source_must_exist() -> None:
    document = {"namespace": "n", "path": "d.json", "schema_id": "s", "schema_version": "1.0.0"}
    steps = [{"op": "add", "path": "/content/a", "value": 1}]
    members = {"migration_id": "m", "sources": {"old": document}, "targets": [{**document, "steps": steps}]}
    with pytest.raises(NotMigratable, match="there is no source old"):
        upgraded(Migration.model_validate(members, strict=False), {}, CATALOG)
