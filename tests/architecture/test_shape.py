"""Files stay short, names say something, and everything public says what it is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGES, Module, modules

MAX_LINES = 400
GENERATED = {"client/memnet_client/errors.py"}
VAGUE = frozenset({"util", "utils", "helper", "helpers", "common", "manager", "base", "misc", "stuff"})
EVERYWHERE = modules(*PACKAGES, "tests")


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def is_public(name: str) -> bool:
    return not name.startswith("_")


def public_parts(module: Module) -> Iterator[tuple[str, ast.AST]]:
    """The module itself, its public functions and classes, and their public methods.

    Methods of adapters are left out: they implement a Protocol of memnet/ports, whose docstring holds for them. So are
    the client's requests: each has the name of an operation of the API, whose description holds for it.
    """
    if module.tree.body:
        yield module.name, module.tree
    if module.name != "client/memnet_client/requests.py":
        yield from _definitions(module.name, module.tree.body, methods=not module.name.startswith("memnet/adapters/"))


def _definitions(place: str, body: list[ast.stmt], *, methods: bool) -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and is_public(node.name):
            name = f"{place}:{node.lineno} {node.name}"
            yield name, node
            if isinstance(node, ast.ClassDef) and methods:
                yield from _definitions(name, node.body, methods=methods)


def test_a_file_has_at_most_400_lines() -> None:
    written = [m for m in EVERYWHERE if m.name not in GENERATED]
    assert {m.name: m.text.count("\n") for m in written if m.text.count("\n") > MAX_LINES} == {}


def test_no_file_directory_or_class_has_a_vague_name() -> None:
    places = [part for m in EVERYWHERE for part in Path(m.name).with_suffix("").parts]
    classes = [node.name for m in EVERYWHERE for node in m.nodes if isinstance(node, ast.ClassDef)]
    assert [name for name in {*places, *classes} if words(name) & VAGUE] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_public_has_a_docstring(package: str) -> None:
    parts = [part for module in modules(package) for part in public_parts(module)]
    assert [name for name, node in parts if ast.get_docstring(node) is None] == []  # type: ignore[arg-type]
