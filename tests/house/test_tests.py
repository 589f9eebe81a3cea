"""Tests hide nothing: a known gap is a strict xfail with its reason, and our own code is never mocked."""

import ast
import tomllib
from collections.abc import Iterator

from tests.house.source_tree import Module, modules, texts

TESTS = modules("tests")


def calls(module: Module) -> Iterator[tuple[str, ast.expr, list[ast.keyword]]]:
    """Every dotted name that is called or used bare, with its keywords."""
    called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.func, node.keywords
        elif isinstance(node, ast.Attribute) and id(node) not in called:
            yield ast.unparse(node), node, []


def test_an_expected_failure_is_strict_and_has_a_reason() -> None:
    settings = tomllib.loads(texts()["pyproject.toml"])["tool"]["pytest"]["ini_options"]
    assert settings["xfail_strict"] is True
    found = []
    for module in TESTS:
        for name, node, keywords in calls(module):
            if name == "pytest.xfail":
                found.append(f"{module.name}:{node.lineno} is not strict")
            if name.endswith("mark.xfail"):
                given = {k.arg: ast.unparse(k.value) for k in keywords}
                if given.get("reason", "''") in ("''", '""') or given.get("strict", "True") != "True":
                    found.append(f"{module.name}:{node.lineno} {given}")
    assert found == []


def test_a_skip_says_why() -> None:
    found = [
        f"{module.name}:{node.lineno}"
        for module in TESTS
        for name, node, keywords in calls(module)
        if name.endswith(("mark.skip", "mark.skipif")) and "reason" not in {k.arg for k in keywords}
    ]
    assert found == []


def test_our_own_code_is_never_mocked() -> None:
    imported = [
        f"{module.name}:{node.lineno}"
        for module in TESTS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and "mock" in ast.unparse(node)
    ]
    assert imported == []
