"""`memnet audit sign`, `checkpoint`, `keys` and `verify` with signed heads, against Azurite and the local key vault."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import ContainerClient

from local.stack.key_vault_server import KeyVault
from memnet import settings
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor
from memnet.domain.documents.commands import IfMatch, PatchDocument
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import patch_document
from memnet.settings import Settings
from memnet.wiring import connect
from tests.cli.conftest import DYNAMIC, SCOPE, Memnet, write_history

OF_USER = ("--tenant", "t1", "--user", "u1")
VERIFY = ("audit", "verify", *OF_USER)
SIGN = ("audit", "sign", *OF_USER)
DOCUMENT = f"{SCOPE.prefix}documents/user/user_dynamic.json"
OFFICER = Actor("svc-privacy", frozenset({"Memory.Admin"}))
Blobs = dict[str, tuple[bytes, dict[str, str]]]


@pytest.fixture
def storage(storage: Settings, key_vault: KeyVault, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The storage's settings with the vault's, in the environment, too."""
    found = settings.load_storage()
    assert found is not None
    return found


@pytest.fixture
def signed(storage: Settings, memnet: Memnet) -> Settings:
    """A history with one head after its third change, and one after its fourth."""
    asyncio.run(write_history(storage))
    assert memnet(*SIGN).stdout == "signed\n"
    asyncio.run(change(storage, "fourth"))
    assert memnet(*SIGN).stdout == "signed\n"
    return storage


async def change(storage: Settings, value: str) -> None:
    """One more change of the document with preferences."""
    async with connect(storage) as services:
        stored = await get_document(DYNAMIC, services)
        command = PatchDocument(
            key=DYNAMIC,
            actor=Actor("svc-a", frozenset({"Memory.Write"})),
            precondition=IfMatch(stored.etag),
            idempotency_key=value,
            profile_id="project-copilot-v1",
            binding_id="user_dynamic",
            ops=[{"op": "add", "path": "/content/preferences/-", "value": value}],
            reason=Reason.LIVE_UPDATE,
            evidence=None,
            confidence=None,
            source_time=None,
            dry_run=False,
        )
        await patch_document(command, services)


def all_blobs(blobs: ContainerClient, prefix: str = SCOPE.prefix) -> Blobs:
    """Everything that is stored of the user."""
    found: Blobs = {}
    for name in list(blobs.list_blob_names(name_starts_with=prefix)):
        blob = blobs.get_blob_client(name)
        found[name] = (blob.download_blob().readall(), blob.get_blob_properties().metadata)
    return found


def put_back(blobs: ContainerClient, then: Blobs, prefix: str = SCOPE.prefix) -> None:
    """Make everything below `prefix` what it was."""
    for name in list(blobs.list_blob_names(name_starts_with=prefix)):
        blobs.delete_blob(name)
    for name, (data, metadata) in then.items():
        if name.startswith(prefix):
            blobs.upload_blob(name, data, metadata=metadata)


def lines(memnet: Memnet, *arguments: str, exit_code: int = 0) -> list[str]:
    result = memnet(*VERIFY, *arguments)
    assert result.exit_code == exit_code, result.output
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def test_what_was_signed_and_holds_is_ok(memnet: Memnet, signed: Settings) -> None:
    project, dynamic, heads, conclusion = lines(memnet)
    assert (project, dynamic) == ("projects/alpha.json 2 changes ok", "user/user_dynamic.json 4 changes ok")
    assert re.fullmatch(r"heads: 2, the newest of \d{4}-[\d:T.-]+Z, 0 changes since then unsigned, ok", heads)
    assert conclusion == "ok: 2 documents, 6 changes"
    assert memnet(*SIGN).stdout == "unchanged\n"
    asyncio.run(change(signed, "fifth"))
    assert "1 change since then unsigned" in lines(memnet)[2]


def test_nothing_signed_yet_is_told(memnet: Memnet, storage: Settings) -> None:
    asyncio.run(write_history(storage))
    assert lines(memnet)[2:] == ["heads: none; nothing was signed yet", "ok: 2 documents, 5 changes"]
    result = memnet("audit", "checkpoint", *OF_USER)
    assert (result.exit_code, "nothing was signed yet" in result.stderr) == (1, True)


def test_everybody_is_signed_for(memnet: Memnet, storage: Settings) -> None:
    asyncio.run(write_history(storage))
    assert memnet("audit", "sign").stdout == "1 users, 1 signed, 0 unchanged, 0 postponed, 0 broken\n"
    assert memnet("audit", "sign").stdout == "1 users, 0 signed, 1 unchanged, 0 postponed, 0 broken\n"
    assert memnet("audit", "sign", "--tenant", "t1").exit_code == 2


def test_the_end_cut_off_with_an_older_document_is_named(
    memnet: Memnet, storage: Settings, blobs: ContainerClient
) -> None:
    """The newest record is removed and the document put back as it was before: its chain alone still holds."""
    asyncio.run(write_history(storage))
    with blobs:
        then = all_blobs(blobs)
        asyncio.run(change(storage, "fourth"))
        memnet(*SIGN)
        removed = (all_blobs(blobs).keys() - then.keys()) - {f"{SCOPE.prefix}heads/000000000001.json"}
        [record] = removed
        blobs.delete_blob(record)
        put_back(blobs, then, DOCUMENT)
        change_id = record.rpartition("/")[2].removesuffix(".json")
        _, dynamic, heads, conclusion = lines(memnet, exit_code=1)
        assert dynamic.startswith(f"user/user_dynamic.json 3 changes {change_id}: the record is missing: head 1 has")
        assert heads.endswith("ok")
        assert conclusion == "broken: 1 of 2 documents"
        refused = memnet(*SIGN)
        assert (refused.exit_code, change_id in refused.stderr) == (1, True)
        assert memnet("audit", "sign").exit_code == 1
        assert memnet("audit", "sign", "--accept-current-state").exit_code == 2
        assert memnet(*SIGN, "--accept-current-state").stdout == "signed\n"
        assert memnet("audit", "sign").stdout == "1 users, 0 signed, 1 unchanged, 0 postponed, 0 broken\n"
        assert lines(memnet, exit_code=1)[-1] == "broken: 1 of 2 documents"
        for number in (1, 2):
            blobs.delete_blob(f"{SCOPE.prefix}heads/{number:012d}.json")
        assert lines(memnet)[-1] == "ok: 2 documents, 5 changes"


def test_the_whole_user_put_back_is_named(memnet: Memnet, storage: Settings, blobs: ContainerClient) -> None:
    asyncio.run(write_history(storage))
    with blobs:
        memnet(*SIGN)
        then = all_blobs(blobs)
        asyncio.run(change(storage, "fourth"))
        memnet(*SIGN)
        for part in ("documents/", "audit/"):
            put_back(blobs, then, f"{SCOPE.prefix}{part}")
    _, dynamic, _, conclusion = lines(memnet, exit_code=1)
    assert "the record is missing: head 2 has" in dynamic
    assert conclusion == "broken: 1 of 2 documents"


def test_the_whole_user_put_back_with_the_heads_shows_against_a_kept_head_alone(
    memnet: Memnet, storage: Settings, blobs: ContainerClient, tmp_path: Path
) -> None:
    asyncio.run(write_history(storage))
    kept = tmp_path / "head.json"
    with blobs:
        memnet(*SIGN)
        then = all_blobs(blobs)
        asyncio.run(change(storage, "fourth"))
        memnet(*SIGN)
        told = memnet("audit", "checkpoint", *OF_USER, "--out", str(kept))
        assert re.fullmatch(rf"head 2 of \S+ in {re.escape(str(kept))}\n", told.stdout)
        assert lines(memnet, "--expect-checkpoint", str(kept))[-1] == "ok: 2 documents, 6 changes"
        assert memnet("audit", "checkpoint", *OF_USER).stdout.encode() == kept.read_bytes()
        put_back(blobs, then)
        assert lines(memnet)[-1] == "ok: 2 documents, 5 changes"
        _, dynamic, heads, _ = lines(memnet, "--expect-checkpoint", str(kept), exit_code=1)
        assert heads == "heads: heads/000000000002: the head is missing, and was kept elsewhere"
        assert "the record is missing: head 2 has" in dynamic
        put_back(blobs, {})
        assert lines(memnet) == ["nothing is stored for user u1 of tenant t1"]
        assert lines(memnet, "--expect-checkpoint", str(kept), exit_code=1)[-1] == "broken: 2 of 2 documents"


def test_another_key_verifies_nothing(memnet: Memnet, signed: Settings, tmp_path: Path) -> None:
    """The newest key alone, which has signed nothing yet."""
    newest = memnet("audit", "keys", "--rotate").stdout.rpartition("-----BEGIN")
    other = tmp_path / "other.pem"
    other.write_text(newest[1] + newest[2], "utf-8")
    *_, heads, conclusion = lines(memnet, "--public-key", str(other), exit_code=1)
    assert "heads/000000000001: signed with the key" in heads
    assert conclusion == "broken: the heads"
    assert lines(memnet)[-1] == "ok: 2 documents, 6 changes"
    other.write_text("nothing", "utf-8")
    refused = memnet(*VERIFY, "--public-key", str(other))
    assert (refused.exit_code, "there is no public key in it" in refused.stderr) == (2, True)


def test_each_key_stands_below_its_id(memnet: Memnet, signed: Settings) -> None:
    found = memnet("audit", "keys").stdout
    assert re.fullmatch(
        r"(# [0-9a-f]{64}\n-----BEGIN PUBLIC KEY-----\n[\w+/=]+\n-----END PUBLIC KEY-----\n)+", found
    ), found
    head = json.loads(memnet("audit", "checkpoint", *OF_USER).stdout)
    assert f"# {head['key_id']}\n" in found


def altered(data: bytes, **members: Any) -> bytes:
    return json.dumps({**json.loads(data), **members}, separators=(",", ":"), sort_keys=True).encode()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda data: altered(data, signed_at="2020-01-01T00:00:00.000000Z"), "000000000001: the signature does not"),
        (lambda data: data + b" ", "000000000001: the bytes are not those of a head"),
        (None, "000000000001: the head is missing"),
    ],
    ids=["altered", "another byte", "removed"],
)
def test_a_tampered_head_is_named(
    memnet: Memnet, signed: Settings, blobs: ContainerClient, change: Any, fault: str
) -> None:
    name = f"{SCOPE.prefix}heads/000000000001.json"
    with blobs:
        data = blobs.download_blob(name).readall()
        blobs.delete_blob(name)
        if change is not None:
            blobs.upload_blob(name, change(data))
    *_, heads, conclusion = lines(memnet, exit_code=1)
    assert heads.startswith(f"heads: heads/{fault}")
    assert conclusion == "broken: the heads"


def test_a_vault_that_does_not_answer_is_named(
    memnet: Memnet, signed: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMNET_VAULT_URL", "https://127.0.0.1:9")
    result = memnet(*VERIFY)
    assert (result.exit_code, "VAULT_UNAVAILABLE" in result.stderr) == (1, True)


def test_an_id_that_is_none_is_refused(memnet: Memnet, storage: Settings) -> None:
    for command in ("sign", "head"):
        assert memnet("audit", command, "--tenant", "..", "--user", "u1").exit_code == 2
