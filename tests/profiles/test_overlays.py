"""Profiles that extend another: what is joined, and every way to contradict the base, with both files."""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import main
from memnet.catalog import CatalogError, load_catalog
from memnet.domain.catalog.catalog import TextKind, TextName, texts_of
from memnet.domain.catalog.overlay import (
    APPENDED,
    BY_BINDING,
    BY_NAME,
    CLOSED,
    FIRST,
    LIMITS,
    OWN,
    PARTS,
    bases_first,
    every_member,
)
from memnet.domain.core.canonical_json import canonical
from memnet.settings import ROOT
from tests.profiles.conftest import PROFILE, Workshop

BASE, FILE = "profiles/gardener.json", "profiles/keeper.json"
BEES: dict[str, Any] = {
    "binding_id": "bees",
    "namespace": "hives",
    "path": "bees.json",
    "schema_id": "garden",
    "schema_version": "1.0.0",
    "max_chars": 900,
    "read_priority": 1,
}
SOUND: dict[str, Any] = {"profile_id": "keeper", "extends": "gardener", "document_bindings": [BEES]}


def keeper(workshop: Workshop, **members: Any) -> None:
    workshop.write(FILE, {**SOUND, **members})


def gardener(workshop: Workshop, **members: Any) -> None:
    workshop.write(BASE, {**deepcopy(PROFILE), **members})


def joined(workshop: Workshop) -> Any:
    return load_catalog(workshop.profiles, workshop.schemas, workshop.prompts).profiles["keeper"]


def test_every_member_of_a_profile_says_how_it_is_joined() -> None:
    ways = [*OWN, *APPENDED, *FIRST, *BY_BINDING, *BY_NAME, *LIMITS]
    assert sorted(every_member()) == sorted(ways)
    assert len(ways) == len(set(ways))
    assert CLOSED.keys() <= set(PARTS)


def test_an_overlay_is_its_base_and_what_it_adds(workshop: Workshop) -> None:
    gardener(workshop, ttl_classes={"short": "P7D"}, rendering=[
        {"binding_id": "garden", "section": "/plants", "heading": "Plants"},
    ])  # fmt: skip
    keeper(
        workshop,
        version="2.1.0",
        writable_path_rules={"bees": ["/plants"]},
        denied_fields=["password", "pin"],
        ttl_classes={"long": "P70D"},
        rendering=[{"binding_id": "bees", "section": "/plants", "heading": "Hives"}],
        confidence_rules={"min_confidence_for_durable_fact": 0.9},
        retention_rules={"events_days": 10},
    )
    found = joined(workshop)

    assert (found.profile_id, found.version, found.extends) == ("keeper", "2.1.0", "gardener")
    assert [one.binding_id for one in found.document_bindings] == ["garden", "bed", "bees"]
    assert found.writable_path_rules == {**PROFILE["writable_path_rules"], "bees": ("/plants",)} | {
        "garden": tuple(PROFILE["writable_path_rules"]["garden"])
    }
    assert found.denied_fields == ("password", "/soil/log", "pin")
    assert found.ttl_classes == {"short": "P7D", "long": "P70D"}
    assert [one.heading for one in found.rendering] == ["Hives", "Plants"]
    assert found.confidence_rules.model_dump() == {
        "min_confidence_for_durable_fact": 0.9, "min_confidence_for_auto_apply": 0.7,
    }  # fmt: skip
    assert found.retention_rules.events_days == 10
    assert found.pending_sections == PROFILE["pending_sections"]


def test_an_overlay_can_be_extended(workshop: Workshop) -> None:
    keeper(workshop, confidence_rules={"min_confidence_for_durable_fact": 0.9})
    hive = {**BEES, "binding_id": "hive", "path": "hive.json"}
    top: dict[str, Any] = {"profile_id": "a-top", "extends": "keeper", "document_bindings": [hive]}
    workshop.write("profiles/a-top.json", top)
    found = load_catalog(workshop.profiles, workshop.schemas, workshop.prompts)

    assert [one.binding_id for one in found.profiles["a-top"].document_bindings] == ["garden", "bed", "bees", "hive"]
    assert found.profiles["a-top"].confidence_rules.min_confidence_for_durable_fact == 0.9
    assert [found.inherits(found.profiles["a-top"], name) for name in ("garden", "bees", "hive")] == [True, True, False]
    assert not any(found.inherits(found.profiles["gardener"], name) for name in ("garden", "bed"))

    top["confidence_rules"] = {"min_confidence_for_durable_fact": 0.85}
    workshop.write("profiles/a-top.json", top)
    assert workshop.problems() == [
        ("profiles/a-top.json", "/confidence_rules/min_confidence_for_durable_fact",
         f"is less strict than the base ({workshop.root.as_posix()}/{FILE})"),
    ]  # fmt: skip


EXTRACTION = {"prompt_id": "planting", "prompt_version": "1.0.0", "max_confidence": 0.7}
RULE = {"section": "/plants", "merge": True}
CONTRADICTIONS = [
    ({}, {"document_bindings": [{**BEES, "binding_id": "garden", "schema_version": "2"}]},
     "/document_bindings/0", "is for the binding garden, which the base defines"),
    ({}, {"writable_path_rules": {"garden": ["/facts"]}},
     "/writable_path_rules/garden", "is a rule for garden, which the base defines"),
    ({}, {"durable_sections": {"garden": ["/facts"]}},
     "/durable_sections/garden", "is a rule for garden, which the base defines"),
    ({}, {"upkeep_rules": {"garden": [RULE]}}, "/upkeep_rules/garden", "is a rule for garden, which the base defines"),
    ({}, {"rendering": [{"binding_id": "garden", "section": "/plants", "heading": "x"}]},
     "/rendering/0", "is for the binding garden, which the base defines"),
    ({"ttl_classes": {"short": "P7D"}}, {"ttl_classes": {"short": "P8D"}},
     "/ttl_classes/short", "names short, which the base defines"),
    ({}, {"confidence_rules": {"min_confidence_for_auto_apply": 0.6}},
     "/confidence_rules/min_confidence_for_auto_apply", "is less strict than the base"),
    ({}, {"max_ops": 51}, "/max_ops", "is less strict than the base"),
    ({}, {"confirmed_by": "anyone"}, "/confirmed_by", "is less strict than the base"),
    ({"durable_writes": "confirmed_only"}, {"durable_writes": "confident"},
     "/durable_writes", "is less strict than the base"),
    ({"allowed_principals": ["svc-a"]}, {"allowed_principals": ["svc-a", "svc-b"]},
     "/allowed_principals", "is less strict than the base"),
    ({"allowed_principals": ["svc-a"]}, {"allowed_principals": None},
     "/allowed_principals", "is less strict than the base"),
    ({}, {"sensitive_content": {"allow": ["iban"]}}, "/sensitive_content/allow", "is less strict than the base"),
    ({}, {"recall": {"show_waiting": True}}, "/recall/show_waiting", "is less strict than the base"),
    ({}, {"corroboration": {"statements": 2}},
     "/corroboration", "applies pending items without a confirmation, and the base does not"),
    ({}, {"extraction": EXTRACTION}, "/extraction", "makes replays write, and the base's do not"),
    ({"extraction": EXTRACTION}, {"extraction": {"max_confidence": 0.71}},
     "/extraction/max_confidence", "is less strict than the base"),
    ({"extraction": EXTRACTION}, {"extraction": {"judge": {"prompt_id": "planting", "prompt_version": "1.0.0"}}},
     "/extraction/judge", "contradicts the base, which has none"),
    ({}, {"retention_rules": {"audit_days": 3000}},
     "/retention_rules/audit_days", "contradicts the base, which has none"),
    ({"retention_rules": {"audit_days": 30}}, {"retention_rules": {"audit_days": 29}},
     "/retention_rules/audit_days", "contradicts the base, which says 30"),
    ({"extraction": EXTRACTION}, {"extraction": {"prompt_id": "another"}},
     "/extraction/prompt_id", "contradicts the base, which says planting"),
    ({"extraction": EXTRACTION}, {"extraction": {"items": {"garden": {"/plants": {"text": "$text"}}}}},
     "/extraction/items/garden", "is a rule for garden, which the base defines"),
    ({"extraction": EXTRACTION}, {"extraction": None}, "/extraction", "removes what the base has"),
    ({"extraction": EXTRACTION}, {"writable_path_rules": {"bees": ["/plants"]}},
     "/extraction/prompts", "has no prompt for bees: that of the base is for its documents"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "overlay", "pointer", "reason"), CONTRADICTIONS)
def test_an_overlay_that_contradicts_its_base_does_not_start(
    workshop: Workshop, base: dict[str, Any], overlay: dict[str, Any], pointer: str, reason: str
) -> None:
    gardener(workshop, **base)
    assert workshop.problems() == []
    keeper(workshop, **overlay)
    assert workshop.problems() == [(FILE, pointer, f"{reason} ({workshop.root.as_posix()}/{BASE})")]


@pytest.mark.parametrize(
    ("base", "overlay"),
    [
        ({}, {"confidence_rules": {"min_confidence_for_auto_apply": 0.75}}),
        ({}, {"max_ops": 20}),
        ({"confirmed_by": "anyone"}, {"confirmed_by": "another_principal"}),
        ({}, {"durable_writes": "confirmed_only"}),
        ({}, {"allowed_principals": ["svc-a"]}),
        ({"allowed_principals": ["svc-a", "svc-b"]}, {"allowed_principals": ["svc-b"]}),
        ({"extraction": EXTRACTION}, {"extraction": {"max_confidence": 0.6}}),
        ({}, {"document_bindings": []}),
    ],
)
def test_an_overlay_may_be_stricter(workshop: Workshop, base: dict[str, Any], overlay: dict[str, Any]) -> None:
    gardener(workshop, **base)
    keeper(workshop, **overlay)
    assert workshop.problems() == []


def test_a_part_of_the_base_may_be_stricter_in_one_member(tmp_path: Path) -> None:
    shipped = shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    overlay = {"profile_id": "careful-v1", "extends": "personal-memory-v1", "corroboration": {"days_apart": 9}}
    (shipped / "careful-v1.json").write_text(json.dumps(overlay), "utf-8")
    found = load_catalog(shipped, ROOT / "schemas", ROOT / "prompts").profiles
    base, joined = found["personal-memory-v1"].corroboration, found["careful-v1"].corroboration
    assert base is not None
    assert joined is not None
    assert (joined.statements, joined.days_apart) == (base.statements, 9)
    assert base.days_apart < 9


def test_a_base_without_routing_may_get_it(workshop: Workshop) -> None:
    routing = PROFILE["routing"]
    base = {name: value for name, value in PROFILE.items() if name != "routing"}
    workshop.write(BASE, base)
    keeper(workshop, routing=routing)
    assert not any("contradicts" in reason for _, _, reason in workshop.problems())

    gardener(workshop)
    keeper(workshop, routing={**routing, "min_score": 0.9})
    ((_, pointer, reason),) = workshop.problems()
    assert pointer == "/routing"
    assert reason.startswith("contradicts the base, which says")


def test_a_fault_of_the_joined_profile_is_reported_where_it_was_added(workshop: Workshop) -> None:
    keeper(workshop, document_bindings=[{**BEES, "path": "../bees"}], denied_fields=["plants"])
    found = workshop.problems()
    assert ("profiles/keeper.json", "/document_bindings/0/path") in [one[:2] for one in found]
    assert ("profiles/keeper.json", "/denied_fields/0") in [one[:2] for one in found]

    keeper(workshop, document_bindings=[{**BEES, "namespace": "green", "path": "beds/x.json"}])
    ((file, pointer, reason),) = workshop.problems()
    assert (file, pointer) == (FILE, "/document_bindings/0/path")
    assert reason.startswith("covers a document of")


def test_a_fault_of_a_part_of_the_base_names_the_base(workshop: Workshop) -> None:
    gardener(workshop, durable_sections={"garden": ["/facts"]}, pending_sections={})
    keeper(workshop, durable_writes="confirmed_only")
    ((file, pointer, reason),) = workshop.problems()
    assert (file, pointer) == (FILE, "/extends")
    assert f"{BASE}, /durable_sections/garden takes confirmations only" in reason


def test_a_fault_of_the_base_is_reported_once(workshop: Workshop) -> None:
    gardener(workshop, pending_sections={"garden": "/nowhere"})
    keeper(workshop)
    assert {file for file, _, _ in workshop.problems()} == {BASE}


@pytest.mark.parametrize(
    ("extends", "reason"),
    [
        ({"keeper": "gardner"}, {"keeper": "there is no profile gardner"}),
        ({"keeper": "keeper"}, {"keeper": "extends itself: keeper extends keeper"}),
        ({"keeper": "b", "b": "keeper"},
         {"keeper": "extends itself: keeper extends b extends keeper",
          "b": "extends itself: b extends keeper extends b"}),
    ],
)  # fmt: skip
def test_a_base_must_exist_and_be_another_profile(
    workshop: Workshop, extends: dict[str, str], reason: dict[str, str]
) -> None:
    for name, base in extends.items():
        workshop.write(f"profiles/{name}.json", {"profile_id": name, "extends": base})
    assert sorted(workshop.problems()) == [
        (f"profiles/{name}.json", "/extends", text) for name, text in sorted(reason.items())
    ]


def test_what_leads_into_a_circle_is_not_read() -> None:
    order, problems = bases_first({"a": "b", "b": "c", "c": "b", "d": None, "e": "d"})
    assert order == ["d", "e"]
    assert problems.keys() == {"a", "b", "c"}


def test_a_base_with_another_text_needs_another_version_of_the_overlay(workshop: Workshop) -> None:
    keeper(workshop, version="1.0.0")
    folders = ["--schemas-dir", str(workshop.schemas), "--prompts-dir", str(workshop.prompts)]
    release = ["profiles", "release", str(workshop.profiles), *folders]
    assert CliRunner().invoke(main, release).exit_code == 0
    assert workshop.problems() == []

    gardener(workshop, version="1.1.0", max_ops=20)
    with pytest.raises(CatalogError) as caught:
        load_catalog(workshop.profiles, workshop.schemas, workshop.prompts)
    (problem,) = caught.value.problems
    assert (problem.pointer, problem.reason) == ("/keeper~11.0.0", "is released and was changed since")
    assert problem.remedy == "raise version in keeper.json: the profile or its base gardener is another"

    keeper(workshop, version="1.0.1")
    assert workshop.problems() == []


def test_the_joined_text_is_what_a_container_keeps(workshop: Workshop) -> None:
    keeper(workshop)
    catalog = load_catalog(workshop.profiles, workshop.schemas, workshop.prompts)
    text = texts_of(catalog)[TextName(TextKind.PROFILE, "keeper", "1.0.0")]
    whole = {**PROFILE, **SOUND, "document_bindings": [*PROFILE["document_bindings"], BEES]}
    assert text == canonical(whole)
