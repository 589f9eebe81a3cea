"""The worked profile on the page about years: it loads, and a small conversation ends as the page says."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.catalog import load_catalog
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.replay.snapshot import Conversation
from memnet.operations.replay.snapshots import store_snapshot
from memnet.settings import ROOT
from tests.domain.extraction_samples import answer_text
from tests.operations.replay_scenario import SCOPE, World

PERSON = DocumentKey(SCOPE, "user", "person.json")
(WORKED,) = re.findall(r"^```json\n(.*?)^```$", (ROOT / "docs/memory-over-years.md").read_text("utf-8"), re.M | re.S)
MEMBERS = {"/diet": ("subject", "value"), "/hobbies": ("subject", "hobby", "detail")}
FILLED = {
    "id": "$id",
    "text": "$text",
    "confidence": "$confidence",
    "evidence": "$evidence",
    "last_verified_at": "$time",
    "valid_from": "$time",
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """The profile of the page, with a schema that has room for it: what the shipped one has for a person's facts."""
    schemas = shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    shipped = json.loads((schemas / "memory.personal" / "1.0.0.json").read_text("utf-8"))
    parts: dict[str, Any] = shipped["$defs"]
    room = parts["fact"]["properties"]
    sections = {}
    for section, said in MEMBERS.items():
        kept = {name: part for name, part in room.items() if name not in ("attribute", "aspect", "value")}
        parts[section[1:]] = {
            **parts["fact"],
            "required": ["id", "text", *said, "confidence", "evidence"],
            "properties": kept | dict.fromkeys(said, room["value"]),
        }
        sections[section[1:]] = {"type": "array", "items": {"$ref": f"#/$defs/{section[1:]}"}}
    sections["to_confirm"] = {"type": "array", "items": {"$ref": "#/$defs/proposal"}}
    schema = shipped | {"$id": "memnet:person:1.0.0", "required": list(sections), "properties": sections}
    (schemas / "person").mkdir()
    (schemas / "person" / "1.0.0.json").write_text(json.dumps(schema), "utf-8")
    binding: dict[str, Any] = {
        "binding_id": "person",
        "namespace": "user",
        "path": "person.json",
        "schema_id": "person",
    }
    binding |= {"schema_version": "1.0.0", "initial_content": {name: [] for name in sections}}
    profile = {
        "profile_id": "person-v1",
        "document_bindings": [{**binding, "max_chars": 20_000, "read_priority": 1}],
        "writable_path_rules": {"person": [f"/{name}" for name in sections]},
        "pending_sections": {"person": "/to_confirm"},
        "extraction": {
            "prompt_id": "personal-memory",
            "prompt_version": "1.0.0",
            "max_confidence": 0.95,
            "items": {"person": {section: FILLED | dict.fromkeys(said, "$said") for section, said in MEMBERS.items()}},
        },
        **json.loads(WORKED),
    }
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    (profiles / "person-v1.json").write_text(json.dumps(profile), "utf-8")
    return load_catalog(profiles, schemas, ROOT / "prompts")


def said(section: str, text: str, sure: float, **members: str) -> dict[str, Any]:
    return {
        "target_binding_id": "person",
        "target_path": "person.json",
        "add_to": f"/content{section}",
        "entry": {"text": text, "subject": "user", **members},
        "confidence": sure,
        "message_ids": ["m0"],
    }


async def hear(world: World, number: int, *patches: dict[str, Any]) -> Any:
    """Replay one conversation, from which the model proposes `patches`; return the document."""
    words = " ".join(patch["entry"]["text"] for patch in patches)
    message = {"message_id": "m0", "role": "user", "content": words, "timestamp": f"2026-05-0{number}T12:00:00Z"}
    body = Conversation.model_validate({"snapshot_id": "s1", "profile_id": "person-v1", "messages": [message]})
    stored = await store_snapshot(SCOPE, f"c{number}", body, world.service, actor=Actor("svc-chat", frozenset()))
    models = ScriptedModels([answer_text(*patches)])
    await world.replay(Job(JobKind.REPLAY, SCOPE.tenant_id, SCOPE.user_id, stored.replay_id), models=models)
    return await world.content(PERSON)


async def test_a_diet_asks_a_hobby_supersedes_and_a_guess_waits(catalog: Catalog) -> None:
    world = World(catalog=catalog)
    await hear(
        world,
        1,
        said("/diet", "I eat no meat.", 0.9, value="no meat"),
        said("/hobbies", "I climb at the old gym.", 0.9, hobby="climbing", detail="at the old gym"),
    )
    found = await hear(
        world,
        2,
        said("/diet", "I eat meat.", 0.9, value="meat"),
        said("/hobbies", "I climb at the new gym.", 0.9, hobby="climbing", detail="at the new gym"),
    )

    assert [one["value"] for one in found["diet"] if one.get("valid_until") is None] == ["no meat"]
    (waiting,) = found["to_confirm"]
    assert waiting["question"] == "Earlier: I eat no meat. Now: I eat meat. Which is right?"
    assert waiting["decides"] == "user"
    closed, now = found["hobbies"]
    assert (closed["detail"], closed["replaced_by"], now["detail"]) == ("at the old gym", now["id"], "at the new gym")

    guess = said("/hobbies", "Perhaps I climb outdoors.", 0.5, hobby="climbing", detail="outdoors")
    found = await hear(world, 3, guess)
    assert [one["detail"] for one in found["hobbies"] if one.get("valid_until") is None] == ["at the new gym"]
    assert len(found["to_confirm"]) == 2
    rules = catalog.profile("person-v1")
    assert rules.retracted_by == "another_principal"
