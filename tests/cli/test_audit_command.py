"""`memnet audit` on Azurite: intact and tampered histories, and every version from storage alone."""

import json
import os
from pathlib import Path

import pytest
from azure.storage.blob import ContainerClient
from click.testing import Result

from memnet.settings import Settings
from tests.cli.conftest import OF_USER, Memnet


def break_third_record(blobs: ContainerClient) -> None:
    """Replace the line of the third record of the document with three versions."""
    for name in list(blobs.list_blob_names(name_starts_with="tenants/t1/users/u1/audit/")):
        blob = blobs.get_blob_client(name)
        first, *others = blob.download_blob().readall().splitlines(keepends=True)
        if len(others) == 2:
            metadata = blob.get_blob_properties().metadata
            blob.upload_blob(first + others[0] + b"{}\n", overwrite=True, metadata=metadata)


def lines(result: Result) -> list[list[str]]:
    return [line.split() for line in result.stdout.splitlines()]


def test_rebuild_writes_every_version_byte_for_byte(memnet: Memnet, history: list[bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = memnet("audit", "rebuild", *OF_USER, "--out", str(out))
    assert result.exit_code == 0, result.output
    files = sorted(str(file.relative_to(out)) for file in out.rglob("*.json") if file.is_file())
    assert files == [
        "projects/alpha.json/1.json",
        "user/user_dynamic.json/1.json",
        "user/user_dynamic.json/2.json",
        "user/user_dynamic.json/3.json",
    ]
    assert [(out / "user" / "user_dynamic.json" / f"{n}.json").read_bytes() for n in (1, 2, 3)] == history


def test_rebuild_without_a_directory_lists_the_versions(memnet: Memnet, history: list[bytes]) -> None:
    result = memnet("audit", "rebuild", *OF_USER)
    assert result.exit_code == 0, result.output
    rows = lines(result)
    assert [(row[0], row[1]) for row in rows[:-1]] == [
        ("projects/alpha.json", "1"),
        ("projects/alpha.json", "2"),
        ("user/user_dynamic.json", "1"),
        ("user/user_dynamic.json", "2"),
        ("user/user_dynamic.json", "3"),
    ]
    assert rows[1][-1] == "deleted"
    assert rows[-2][-2:] == [str(len(history[2])), "characters"]


def test_rebuild_of_a_broken_history_writes_the_versions_before(
    memnet: Memnet, history: list[bytes], blobs: ContainerClient, tmp_path: Path
) -> None:
    with blobs:
        break_third_record(blobs)
    result = memnet("audit", "rebuild", *OF_USER, "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "user/user_dynamic.json: " in result.stderr
    assert (tmp_path / "user" / "user_dynamic.json" / "1.json").read_bytes() == history[0]


def test_rebuild_refuses_a_directory_with_files(memnet: Memnet, history: list[bytes], tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = memnet("audit", "rebuild", *OF_USER, "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "is not empty" in result.stderr


def test_a_user_without_documents_is_reported(memnet: Memnet, storage: Settings) -> None:
    result = memnet("audit", "verify", *OF_USER)
    assert (result.exit_code, result.stdout) == (0, "nothing is stored for user u1 of tenant t1\n")


def test_an_invalid_id_is_refused(memnet: Memnet, storage: Settings) -> None:
    assert memnet("audit", "verify", "--tenant", "..", "--user", "u1").exit_code == 2


def test_without_settings_it_uses_the_local_stack(
    memnet: Memnet, history: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {name: value for name, value in os.environ.items() if name.startswith("MEMNET_")}
    for name in environment:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    result = memnet("audit", "verify", *OF_USER)
    assert (result.exit_code, "make dev" in result.stderr) == (1, True)
    (tmp_path / ".local").mkdir()
    description = {"audience": "a", "token_url": "http://nowhere.test", "environment": environment}
    (tmp_path / ".local" / "stack.json").write_text(json.dumps(description), "utf-8")
    assert memnet("audit", "verify", *OF_USER).stdout.endswith("ok: 2 documents, 5 changes\n")


def test_a_storage_that_does_not_answer_is_named(
    memnet: Memnet, storage: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMNET_STORAGE_URL", "http://127.0.0.1:9/devstoreaccount1/gone")
    result = memnet("audit", "verify", *OF_USER)
    assert result.exit_code == 1
    assert "the storage at http://127.0.0.1:9/devstoreaccount1/gone does not answer" in result.stderr
