"""`memnet compact`, `refresh` and `outbox` on Azurite."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from azure.storage.blob import ContainerClient

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.documents.commands import IfAbsent, ReplaceDocument
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import replace_document
from memnet.service import Service
from memnet.settings import Settings
from tests.cli.conftest import DYNAMIC, OF_USER, PROJECT, SCOPE, Memnet, on

OLD = {
    "id": "f1",
    "text": "Works from Utrecht.",
    "confidence": 0.9,
    "evidence": {"conversation_id": "c1"},
    "last_verified_at": "2020-01-01T00:00:00Z",
}
CONTENT = {"preferences": ["Short answers.", "Tables.", "short answers!"], "durable_facts": [OLD]}


async def put(services: Service) -> None:
    project = {"summary": "", "facets": {}, "recent_notes": ["a note"]}
    for key, binding_id, schema_id, content in (
        (DYNAMIC, "user_dynamic", "memory.user.dynamic", {**CONTENT, "pending_confirmations": []}),
        (PROJECT, "project_doc", "memory.project", project),
    ):
        command = ReplaceDocument(
            key=key,
            actor=Actor("admin", frozenset()),
            precondition=IfAbsent(),
            idempotency_key="put",
            profile_id="project-copilot-v1",
            binding_id=binding_id,
            schema_id=schema_id,
            schema_version="1.0.0",
            content=content,
        )
        await replace_document(command, services)


def version(storage: Settings) -> str:
    async def read(services: Service) -> str:
        return (await get_document(DYNAMIC, services)).etag

    return on(storage, read)


@pytest.fixture
def memory(storage: Settings) -> Settings:
    """A user's document that needs upkeep, and a project that does not."""
    on(storage, put)
    return storage


def test_a_dry_run_shows_every_entry_and_changes_nothing(memnet: Memnet, memory: Settings) -> None:
    before = version(memory)
    result = memnet("compact", *OF_USER, "--dry-run")
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
    assert memnet("compact", *OF_USER).stdout == (
        "user/user_dynamic.json (project-copilot-v1): 1 merged\n2 documents with upkeep rules, 1 changed\n"
    )
    assert version(memory).startswith('"2-')
    assert memnet("compact", *OF_USER).stdout == "2 documents with upkeep rules, 0 changed\n"


PERSONAL = DocumentKey(SCOPE, "user", "personal.json")
SECTIONS = ("facts", "preferences", "opinions", "decisions", "procedures", "happenings", "to_confirm")
AT = "2026-01-01T12:00:00.000000Z"


def statement(entry_id: str, text: str, attribute: str, confidence: float) -> dict[str, Any]:
    return {
        "id": entry_id,
        "text": text,
        "subject": "user",
        "attribute": attribute,
        "value": "Lisbon",
        "confidence": confidence,
        "evidence": {"conversation_id": f"c-{entry_id}", "message_ids": ["m1"], "at": AT},
        "valid_from": AT,
        "last_verified_at": AT,
    }


SAID = [
    statement("s1", "The user lives in Lisbon.", "lives in", 0.9),
    statement("s2", "In Lisbon the user lives.", "home town", 0.8),
]


@pytest.fixture
def repeated(storage: Settings) -> Settings:
    """A user who said one thing in two ways."""

    async def write(services: Service) -> None:
        command = ReplaceDocument(
            key=PERSONAL,
            actor=Actor("admin", frozenset()),
            precondition=IfAbsent(),
            idempotency_key="put",
            profile_id="personal-memory-v1",
            binding_id="personal",
            schema_id="memory.personal",
            schema_version="1.0.0",
            content={**{name: [] for name in SECTIONS}, "facts": SAID},
        )
        await replace_document(command, services)

    on(storage, write)
    return storage


def personal(storage: Settings) -> tuple[str, list[dict[str, Any]]]:
    """The ETag of the personal document, and its facts."""

    async def read(services: Service) -> tuple[str, list[dict[str, Any]]]:
        found = await get_document(PERSONAL, services)
        return found.etag, orjson.loads(found.document)["content"]["facts"]

    return on(storage, read)


def test_a_dry_run_of_a_consolidation_shows_both_statements_and_changes_nothing(
    memnet: Memnet, repeated: Settings
) -> None:
    before = personal(repeated)
    kept = {**SAID[0], "evidence": {**SAID[0]["evidence"], "also": [SAID[1]["evidence"]]}}
    result = memnet("compact", *OF_USER, "--consolidate", "--dry-run")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "user/personal.json (personal-memory-v1): 1 consolidated\n"
        "  consolidated\n"
        f"  - /facts {canonical(SAID[1]).decode()}\n"
        f"  = /facts {canonical(kept).decode()}\n"
        "1 documents with upkeep rules, 1 would change\n"
    )
    assert personal(repeated) == before


def test_a_consolidation_closes_the_other_statement_once(memnet: Memnet, repeated: Settings) -> None:
    untouched = "1 documents with upkeep rules, 0 changed\n"
    assert memnet("compact", *OF_USER).stdout == untouched
    assert memnet("compact", *OF_USER, "--consolidate").stdout == (
        "user/personal.json (personal-memory-v1): 1 consolidated\n1 documents with upkeep rules, 1 changed\n"
    )
    etag, (kept, closed) = personal(repeated)
    assert etag.startswith('"2-')
    assert ("valid_until" in kept, closed["replaced_by"]) == (False, "s1")
    cited = [kept["evidence"], *kept["evidence"]["also"]]
    assert {item["conversation_id"] for item in cited} == {"c-s1", "c-s2"}
    assert memnet("compact", *OF_USER, "--consolidate").stdout == untouched


def test_refreshing_sends_stale_facts_back_for_confirmation(memnet: Memnet, memory: Settings) -> None:
    shown = memnet("refresh", *OF_USER, "--dry-run").stdout.splitlines()
    assert shown[0] == "user/user_dynamic.json (project-copilot-v1): 1 stale"
    assert shown[2].startswith('  - /durable_facts {"confidence":0.9,')
    assert '"proposed_by":"memnet-worker"' in shown[3]
    assert memnet("refresh", *OF_USER).exit_code == 0


def test_a_refused_change_fails(
    memnet: Memnet, memory: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = (memory.profiles_dir / "project-copilot-v1.json").read_text("utf-8")
    closed = shipped.replace('"max_ops": 50', '"max_ops": 50,\n  "allowed_principals": ["somebody"]')
    (tmp_path / "project-copilot-v1.json").write_text(closed, "utf-8")
    monkeypatch.setenv("MEMNET_PROFILES_DIR", str(tmp_path))
    result = memnet("compact", *OF_USER)
    assert result.exit_code == 1
    assert "user/user_dynamic.json (project-copilot-v1): refused: PROFILE_FORBIDDEN\n" in result.stdout


@pytest.mark.parametrize("command", ["compact", "refresh"])
def test_a_user_without_documents_needs_no_upkeep(memnet: Memnet, storage: Settings, command: str) -> None:
    result = memnet(command, "--tenant", SCOPE.tenant_id, "--user", "u9")
    assert (result.exit_code, result.stdout) == (0, "0 documents with upkeep rules, 0 changed\n")


def test_an_invalid_user_is_a_usage_error(memnet: Memnet, storage: Settings) -> None:
    assert memnet("compact", "--tenant", "t1", "--user", "../u").exit_code == 2


def test_a_flush_sweeps_one_user_or_all_and_finds_a_record_that_differs(
    memnet: Memnet, history: list[bytes], blobs: ContainerClient
) -> None:
    swept = "2 documents listed, 2 swept, 0 baselines stored, 0 postponed, 0 broken\n"
    assert memnet("outbox", "flush").stdout == swept
    assert memnet("outbox", "flush", *OF_USER).stdout == swept
    assert memnet("outbox", "flush", "--tenant", SCOPE.tenant_id, "--user", "u9").stdout.startswith("0 documents")
    with blobs:
        for name in blobs.list_blob_names(name_starts_with="tenants/t1/users/u1/audit/"):
            segment = blobs.download_blob(name).readall()
            if segment.count(b"\n") == len(history):
                blobs.upload_blob(name, segment.replace(b'"sequence":3', b'"sequence":4'), overwrite=True)
    result = memnet("outbox", "flush")
    assert result.exit_code == 1
    assert result.stdout == "2 documents listed, 1 swept, 0 baselines stored, 0 postponed, 1 broken\n"
