"""`memnet compact` and `memnet refresh` against Azurite."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import ContainerClient

from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.documents.commands import IfAbsent, ReplaceDocument
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import replace_document
from memnet.settings import Settings
from memnet.wiring import connect
from tests.cli.conftest import DYNAMIC, PROJECT, SCOPE, Memnet
from tests.services import service_of

USER = ("--tenant", "t1", "--user", "u1")
OLD = {
    "id": "f1",
    "text": "Works from Utrecht.",
    "confidence": 0.9,
    "evidence": {"conversation_id": "c1"},
    "last_verified_at": "2020-01-01T00:00:00Z",
}
CONTENT = {"preferences": ["Short answers.", "Tables.", "short answers!"], "durable_facts": [OLD]}


async def put(storage: Settings) -> None:
    schemas = {"user_dynamic": "memory.user.dynamic", "project_doc": "memory.project"}
    project = {"summary": "", "facets": {}, "recent_notes": ["a note"]}
    async with connect(storage) as services:
        for key, binding_id, content in (
            (DYNAMIC, "user_dynamic", {**CONTENT, "pending_confirmations": []}),
            (PROJECT, "project_doc", project),
        ):
            command = ReplaceDocument(
                key=key,
                actor=Actor("admin", frozenset()),
                precondition=IfAbsent(),
                idempotency_key="put",
                profile_id="project-copilot-v1",
                binding_id=binding_id,
                schema_id=schemas[binding_id],
                schema_version="1.0.0",
                content=content,
            )
            ports: dict[str, Any] = {"documents": services.documents, "audit": services.audit}
            own = {"clock": services.clock, "ids": services.ids, "background": services.background}
            await replace_document(command, service_of(catalog=services.catalog, **ports, **own))


def version(storage: Settings, key: DocumentKey = DYNAMIC) -> str:
    async def read() -> str:
        async with connect(storage) as services:
            view = await get_document(key, services)
            return view.etag

    return asyncio.run(read())


@pytest.fixture
def memory(storage: Settings) -> Settings:
    """A user's document that needs upkeep, and a project that does not."""
    asyncio.run(put(storage))
    return storage


def test_a_dry_run_shows_every_entry_and_changes_nothing(memnet: Memnet, memory: Settings) -> None:
    before = version(memory)
    result = memnet("compact", *USER, "--dry-run")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "user/user_dynamic.json (project-copilot-v1): 1 merged\n"
        "  merged\n"
        '  - /preferences "Short answers."\n'
        '  = /preferences "short answers!"\n'
        "2 documents with upkeep rules, 1 would change\n"
    )
    assert version(memory) == before


def test_compacting_changes_what_the_dry_run_showed_once(memnet: Memnet, memory: Settings) -> None:
    assert memnet("compact", *USER).stdout == (
        "user/user_dynamic.json (project-copilot-v1): 1 merged\n2 documents with upkeep rules, 1 changed\n"
    )
    assert version(memory).startswith('"2-')
    assert memnet("compact", *USER).stdout == "2 documents with upkeep rules, 0 changed\n"


def test_refreshing_puts_what_is_stale_up_for_confirmation(memnet: Memnet, memory: Settings) -> None:
    shown = memnet("refresh", *USER, "--dry-run").stdout.splitlines()
    assert shown[0] == "user/user_dynamic.json (project-copilot-v1): 1 stale"
    assert shown[2].startswith('  - /durable_facts {"confidence":0.9,')
    assert '"proposed_by":"memnet-worker"' in shown[3]
    assert memnet("refresh", *USER).exit_code == 0
    audited = memnet("audit", "verify", *USER)
    assert audited.exit_code == 0, audited.output


def test_a_refusal_is_told_and_fails(
    memnet: Memnet, memory: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = (memory.profiles_dir / "project-copilot-v1.json").read_text("utf-8")
    closed = shipped.replace('"max_ops": 50', '"max_ops": 50,\n  "allowed_principals": ["somebody"]')
    (tmp_path / "project-copilot-v1.json").write_text(closed, "utf-8")
    monkeypatch.setenv("MEMNET_PROFILES_DIR", str(tmp_path))
    result = memnet("compact", *USER)
    assert result.exit_code == 1
    assert "user/user_dynamic.json (project-copilot-v1): refused: PROFILE_FORBIDDEN\n" in result.stdout


@pytest.mark.parametrize("command", ["compact", "refresh"])
def test_a_user_without_memory_has_nothing_to_keep_up(memnet: Memnet, storage: Settings, command: str) -> None:
    result = memnet(command, "--tenant", SCOPE.tenant_id, "--user", "nobody")
    assert (result.exit_code, result.stdout) == (0, "0 documents with upkeep rules, 0 changed\n")


def test_a_user_that_cannot_be_is_a_usage_error(memnet: Memnet, storage: Settings) -> None:
    assert memnet("compact", "--tenant", "t1", "--user", "../u").exit_code == 2


def test_another_text_under_a_used_version_stops_every_command_that_writes(
    memnet: Memnet, memory: Settings, blobs: ContainerClient
) -> None:
    before = version(memory)
    name = "catalog/prompt/project-copilot/1.0.0.json"
    blobs.upload_blob(name, b'"Another prompt."', overwrite=True)
    result = memnet("compact", *USER)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "CATALOG_CONFLICT: Used before with a different text: prompt project-copilot 1.0.0. Raise" in result.stderr
    assert version(memory) == before
    checked = memnet("doctor")
    assert checked.exit_code == 1
    assert "wrong        catalog: versions used before: Used before with a different text: prompt" in checked.stdout
