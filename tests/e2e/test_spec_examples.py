"""The specification's own examples, as written: the profile of 8.2, the patches of 9.3 and 10.2, the call of 10.4."""

import json
from pathlib import Path
from typing import Any

import pytest

from memnet.settings import ROOT
from tests.e2e.client import DYNAMIC, STATIC, User, add, prefer, write
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROFILES = Path(__file__).parent / "specification" / "profiles"

PATCH_10_2: dict[str, Any] = {
    "profile_id": "project-copilot-v1",
    "binding_id": "user_dynamic",
    "ops": [{"op": "replace", "path": "/content/preferences/0", "value": "Use concise, direct answers."}],
    "reason": "live_update",
    "evidence": {"conversation_id": "c_123", "message_ids": ["m1"]},
}
REPLAY_9_3: dict[str, Any] = {
    "replay_id": "rpl_01",
    "target_binding_id": "user_dynamic",
    "target_path": "user_dynamic.json",
    "ops": [{"op": "add", "path": "/content/preferences/-", "value": "Prefer concise architecture diagrams."}],
    "confidence": 0.82,
    "evidence": {"snapshot_uri": "blob://snapshots/c_123/s_1.json", "message_ids": ["m18"]},
    "idempotency_key": "replay-rpl_01-user_dynamic",
}
EMPTY: dict[str, list[Any]] = {"preferences": [], "durable_facts": [], "pending_confirmations": []}


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """The specification's profile, in place of the shipped one of the same name."""
    return {"MEMNET_PROFILES_DIR": str(PROFILES), "MEMNET_SCHEMAS_DIR": str(ROOT / "schemas")}


async def replay(user: User, record: dict[str, Any], etag: str) -> Any:
    """Send a replay patch record as a worker does."""
    body = {
        "profile_id": "project-copilot-v1",
        "binding_id": record["target_binding_id"],
        "ops": record["ops"],
        "reason": "replay_update",
        "confidence": record["confidence"],
        "evidence": record["evidence"],
    }
    url = f"/documents/user/{record['target_path']}"
    return await user.send("PATCH", url, json=body, headers=write(etag, record["idempotency_key"]))


async def test_the_profile_is_loaded_as_written_and_governs(service: Service) -> None:
    assert json.loads((PROFILES / "project-copilot-v1.json").read_text("utf-8"))["document_bindings"]
    user = service.user()
    created = await user.put(
        DYNAMIC, {**EMPTY, "preferences": ["Answer at length."]}, "memory.user.dynamic", etag=None, key="1"
    )
    assert created.status == 201, created.text
    patched = await user.send("PATCH", DYNAMIC.url, json=PATCH_10_2, headers=write(created.etag, "2"))
    assert patched.status == 200, patched.text
    assert set(patched.body) == {"etag", "change_id", "sequence"}
    replayed = await replay(user, REPLAY_9_3, patched.etag)
    assert replayed.status == 200, replayed.text
    expected = ["Use concise, direct answers.", "Prefer concise architecture diagrams."]
    assert (await user.content(DYNAMIC))["preferences"] == expected

    low = await replay(user, {**REPLAY_9_3, "confidence": 0.5, "idempotency_key": "low"}, replayed.etag)
    assert (low.status, low.code) == (422, "CONFIDENCE_TOO_LOW")
    other_section = await user.patch(STATIC, add("/content/profile/role", "x"), etag=None, key="3")
    assert (other_section.status, other_section.code) == (422, "PATH_NOT_WRITABLE")
    many = await user.patch(DYNAMIC, *(prefer(f"p{n}") for n in range(11)), etag=replayed.etag, key="4")
    assert (many.status, many.code) == (422, "LIMIT_EXCEEDED")
    assert many.body["error"]["details"]["limit"] == "max_preferences"

    records = await service.flushed_history(user, DYNAMIC)
    assert [(r["reason"], r["confidence"]) for r in records] == [
        ("admin_migration", None),
        ("live_update", None),
        ("replay_update", 0.82),
    ]
    assert records[1]["evidence"] == PATCH_10_2["evidence"]
    assert records[2]["evidence"] == REPLAY_9_3["evidence"]
    assert records[2]["idempotency_key"] == REPLAY_9_3["idempotency_key"]
