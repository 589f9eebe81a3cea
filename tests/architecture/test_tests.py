"""Tests hide nothing, and judge nothing by the clock: a machine may be slow at any moment."""

import ast
import re
import tomllib
from collections.abc import Iterator

from tests.architecture.source_tree import Module, modules, texts

TESTS = modules("tests")
CLOCKS = re.compile(r"\b(perf_counter|process_time|monotonic|thread_time|time)(_ns)?\(\)$")


def calls(module: Module) -> Iterator[tuple[str, ast.expr, list[ast.keyword]]]:
    """Every dotted name that is called or used bare, with its keywords."""
    called = {id(node.func) for node in module.nodes if isinstance(node, ast.Call)}
    for node in module.nodes:
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
        for node in module.nodes
        if isinstance(node, ast.Import | ast.ImportFrom) and "mock" in ast.unparse(node)
    ]
    assert imported == []


def is_clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and CLOCKS.search(ast.unparse(node)) is not None


def is_elapsed(node: ast.expr) -> bool:
    """`clock() - began`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and is_clock(node.left)


def is_limit(node: ast.expr) -> bool:
    """A number or a constant, or what is computed of such."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return all(name.isupper() for name in names) and not any(isinstance(part, ast.Call) for part in ast.walk(node))


def test_nothing_must_be_done_within_a_time() -> None:
    """What must end has a generous time limit against hanging; what must be cheap is shown by what it does."""
    found = [
        f"{module.name}:{node.lineno}"
        for module in TESTS
        for asserted in module.nodes
        if isinstance(asserted, ast.Assert)
        for node in ast.walk(asserted)
        if isinstance(node, ast.Compare)
        and any(map(is_elapsed, operands := [node.left, *node.comparators]))
        and any(map(is_limit, operands))
    ]
    assert found == []
