"""Profiles and schemas alone define the kinds of memory: the code contains none of their names."""

import ast
import json
import re

from tests.architecture.source_tree import ROOT, Module, modules, texts

PART_OF_THE_API = frozenset({"project_id"})
"""Names that the specification's own request and answer of context:assemble have, whatever the profile."""
ORDINARY = frozenset(
    {
        "account",
        "claims",
        "customer",
        "decisions",
        "facts",
        "items",
        "namespace",
        "personal",
        "plan",
        "profile",
        "session_id",
    }
    | {"state", "subject", "summary", "workspace"}
)
"""Section names that are words of the code, too: they are looked for as steps of a JSON Pointer only."""


def shipped_names() -> set[str]:
    """Ids, template variables and top-level sections of every shipped profile and schema."""
    names: set[str] = set()
    for path in (ROOT / "profiles").glob("*-v1.json"):
        profile = json.loads(path.read_text("utf-8"))
        names.add(profile["profile_id"])
        for binding in profile["document_bindings"]:
            names |= {binding["binding_id"], binding["schema_id"]}
            names |= set(re.findall(r"\{(\w+)\}", binding.get("path_template", "")))
    for path in (ROOT / "schemas").glob("*/*.json"):
        if not path.name.endswith(".examples.json"):
            names |= {path.parent.name, *json.loads(path.read_text("utf-8"))["properties"]}
    return names


def found_in(module: Module, names: set[str]) -> list[str]:
    wanted = "|".join(re.escape(name) for name in sorted(names - ORDINARY))
    lines = enumerate(module.text.splitlines(), 1)
    hits = [f"{module.name}:{n} {hit}" for n, line in lines for hit in re.findall(rf"(?<![\w.-])(?:{wanted})\b", line)]
    steps = re.compile(rf"(?<!docs)/(?:{'|'.join(sorted(ORDINARY))})(?![\w{{])")
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and steps.search(node.value):
            hits.append(f"{module.name}:{node.lineno} {node.value}")
    return hits


def test_the_shipped_names_are_known() -> None:
    names = shipped_names()
    assert {"user_dynamic", "preferences", "ticket", "support.customer", "project-copilot-v1", "ticket_id"} <= names
    assert names >= ORDINARY


def test_no_memory_category_is_in_the_core() -> None:
    names = shipped_names()
    assert [hit for module in modules("memnet") for hit in found_in(module, names)] == []


def test_no_memory_category_is_in_the_api_or_the_command() -> None:
    names = shipped_names() - PART_OF_THE_API
    assert [hit for module in modules("api", "cli") for hit in found_in(module, names)] == []


def test_no_memory_category_is_in_the_console() -> None:
    wanted = "|".join(re.escape(name) for name in sorted(shipped_names() - ORDINARY - PART_OF_THE_API))
    scripts = {name: text for name, text in texts().items() if re.fullmatch(r"api/(console|me)/.*\.js", name)}
    assert scripts
    assert {
        name: hits for name, text in scripts.items() if (hits := re.findall(rf"(?<![\w.-])(?:{wanted})\b", text))
    } == {}
