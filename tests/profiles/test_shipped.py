"""The profiles and schemas that ship: sound, released, unchanged, and as the specification writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from memnet.catalog import Catalog, load_catalog, read_released
from memnet.domain.catalog.profile_check import PENDING_MEMBERS
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import ProfileForbidden
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.settings import ROOT

PROFILES, SCHEMAS, PROMPTS = ROOT / "profiles", ROOT / "schemas", ROOT / "prompts"
SCOPE = UserScope("t1", "u1")
ACTOR = Actor("svc-a", frozenset({"Memory.Write"}))

SPECIFIED = """{
  "profile_id": "project-copilot-v1",
  "document_bindings": [
    {"binding_id": "user_static", "namespace": "user", "path": "user_static.json", "schema_id": "memory.user.static",
     "schema_version": "1.0.0", "max_chars": 12000, "read_priority": 10, "write_mode": "restricted_patch"},
    {"binding_id": "user_dynamic", "namespace": "user", "path": "user_dynamic.json", "schema_id": "memory.user.dynamic",
     "schema_version": "1.0.0", "max_chars": 18000, "read_priority": 20, "write_mode": "restricted_patch"},
    {"binding_id": "project_doc", "namespace": "projects", "path_template": "{project_id}.json",
     "schema_id": "memory.project", "schema_version": "1.0.0", "max_chars": 32000, "read_priority": 30,
     "write_mode": "restricted_patch"}
  ],
  "writable_path_rules": {
    "user_dynamic": ["/preferences", "/durable_facts", "/pending_confirmations"],
    "project_doc": ["/summary", "/facets", "/recent_notes"]
  },
  "retention_rules": {"snapshots_days": 60, "events_days": 365, "audit_days": 365},
  "confidence_rules": {"min_confidence_for_durable_fact": 0.80, "min_confidence_for_auto_apply": 0.70},
  "compaction_rules": {
    "user_dynamic": {"max_preferences": 12, "max_durable_facts": 80, "max_pending_confirmations": 30},
    "project_doc": {"max_recent_notes": 30}
  }
}"""

RELEASED = {
    "learner.state/1.0.0": "2fbe4e22a86aa276fe514dcf8cae1d62e54d6474e3dbd9fe77d5edcf6e49c42c",
    "memory.personal/1.0.0": "35a88236db08a4b43df964a2b2ee1237f0fa92c9583a7f3c6d319265cf182d94",
    "memory.workspace/1.0.0": "bb1d18058e4ffa237e9154bc02d6d9e62b463e85b37ad286ac3cea64a36fb128",
    "agents.transcript/1.0.0": "e0ec4983a07f920ca7e3a0f4c0582bf3eeae49ba0e0a9774f4aaa85d342fc2cf",
    "langgraph.items/1.0.0": "9c680ae6596d02518fbfb611019e9ff7357d201c12a4732add15d0bcc993588f",
    "memory.project/1.0.0": "f60c7db76dfdea7fa139e53113bb6fd6ec2a77520210c009e3d1cc69a8637ac4",
    "memory.user.dynamic/1.0.0": "61de62aa73d7a826c40cda3d611eb228776f38f45b919fcdb8bdbe45966ac2bd",
    "memory.user.static/1.0.0": "152c4008fde1f34d55ab129c7945cbb317258a8022776741c7a5a267498b2b32",
    "support.customer/1.0.0": "d05750d12f99ead1300b73069c2a82445560c229da6ac9ce936039cb1d52c263",
    "support.entitlements/1.0.0": "cd355f2b62fb2ce96432203d5a6ee06ca2a528a9c09f3bcd2be24800a1297c82",
    "support.ticket/1.0.0": "7822d5d10be6021ac1ea89e03cad8fff69469b6ea16bc244e2cbccee51bb6cc2",
}
"""Written down twice, so that editing schemas/released.json along with a schema is noticed, too."""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(PROFILES, SCHEMAS, PROMPTS)


def test_the_shipped_starter_completes_the_specification_and_changes_nothing_of_it() -> None:
    shipped = json.loads((PROFILES / "project-copilot-v1.json").read_text(encoding="utf-8"))
    specified = json.loads(SPECIFIED)
    for binding in shipped["document_bindings"]:
        del binding["initial_content"]

    assert completes(shipped, specified)


def completes(shipped: Any, specified: Any) -> bool:
    """Whether all that is specified is there, as it is specified; lists of texts may have more."""
    if isinstance(specified, dict):
        return all(name in shipped and completes(shipped[name], value) for name, value in specified.items())
    if isinstance(specified, list) and all(isinstance(item, str) for item in specified):
        return set(specified) <= set(shipped)
    return bool(shipped == specified)


def test_every_shipped_version_is_released_unchanged(catalog: Catalog) -> None:
    digests = {"/".join(key): schema.digest for key, schema in catalog.schemas.items()}

    assert digests == read_released(SCHEMAS)
    assert {name: digests[name] for name in RELEASED} == RELEASED


def test_every_shipped_schema_has_examples_of_both_kinds(catalog: Catalog) -> None:
    for schema_id, version in catalog.schemas:
        examples = json.loads((SCHEMAS / schema_id / f"{version}.examples.json").read_text(encoding="utf-8"))
        assert examples["valid"]
        assert examples["invalid"]


def test_the_two_product_profiles_share_no_name(catalog: Catalog) -> None:
    def names(profile_id: str) -> set[str]:
        profile = catalog.profile(profile_id)
        sections = {name for b in profile.document_bindings for name in b.initial_content or {}}
        return {b.binding_id for b in profile.document_bindings} | sections

    assert not names("project-copilot-v1") & names("support-desk-v1")


@pytest.mark.parametrize("profile_id", ["project-copilot-v1", "support-desk-v1"])
def test_a_redirected_proposal_fits_each_pending_section(catalog: Catalog, profile_id: str) -> None:
    profile = catalog.profile(profile_id)
    item: dict[str, Any] = {
        "id": "6f2c2f0e-1111-4222-8333-444455556666-2",
        "text": "x",
        "profile_id": profile_id,
        "binding_id": "b",
        "on_behalf_of": None,
        "proposed_on": None,
        "base": {"a": 1},
        "confidence": None,
        "evidence": None,
        "proposed_at": "2026-02-14T20:00:00.123456Z",
        "proposed_by": "svc-a",
        "target": {"op": "move", "path": "/content/a", "from": "/content/b"},
    }
    assert item.keys() == set(PENDING_MEMBERS)

    for binding_id, section in profile.pending_sections.items():
        binding = profile.binding(binding_id)
        assert binding is not None
        for variant in (item, {**item, "confidence": 0.5, "evidence": {"message_ids": ["m1"], "span": {"start": 1}}}):
            content = {**(binding.initial_content or {}), section.removeprefix("/"): [variant]}
            assert not catalog.schema(binding.schema_id, binding.schema_version).violations(content)


def test_governance_refuses_a_principal_that_the_profile_excludes(tmp_path: Path) -> None:
    profile = json.loads((PROFILES / "support-desk-v1.json").read_text(encoding="utf-8"))
    (tmp_path / "support-desk-v1.json").write_bytes(canonical({**profile, "allowed_principals": ["svc-b"]}))
    catalog = load_catalog(tmp_path, SCHEMAS, PROMPTS)
    key = DocumentKey(SCOPE, "support", "customer.json")

    assert catalog.governance("support-desk-v1", "customer", Actor("svc-b", frozenset()), key)
    with pytest.raises(ProfileForbidden):
        catalog.governance("support-desk-v1", "customer", ACTOR, key)
