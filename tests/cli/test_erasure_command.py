"""`memnet erasure`: against Azurite and the local key vault, and a receipt's check with nothing at all."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from azure.storage.blob import ContainerClient

from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from memnet import settings
from memnet.domain.core import signature
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.signature import SigningKey, to_pem
from memnet.domain.governance.erasure import fence_name
from memnet.domain.governance.erasure_receipt import PURPOSE, receipt_name
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.sealing.sealing import to_base64
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.legal_holds import place_hold
from memnet.settings import Settings
from memnet.wiring import connect
from tests.cli.conftest import SCOPE, Memnet, write_history

PRIVACY = Actor("svc-privacy", frozenset())
TENANT = ("--tenant", "t1")
OF_USER = (*TENANT, "--user", "u1")
TIME = r"\d{4}-\d\d-\d\dT[\d:.]+Z"
Verify = Callable[..., Any]


@pytest.fixture
def storage(
    storage: Settings, search_emulator: SearchEmulator, service_bus: ServiceBus, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """Settings with every store that an erasure empties, also in the environment; no write is under way."""
    for name, value in {**search_emulator.environment, **service_bus.environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MEMNET_SEARCH_INDEX", f"t{uuid4().hex}")
    monkeypatch.setenv("MEMNET_ERASURE_QUIESCENCE_SECONDS", "0")
    found = settings.load_storage()
    assert found is not None
    return found


def ask(storage: Settings, scope: UserScope = SCOPE, key: str = "forget-1") -> str:
    """The id of an erasure that is accepted."""

    async def request() -> str:
        async with connect(storage) as services:
            asked = await request_erasure(scope, services, idempotency_key=key, actor=PRIVACY)
            return asked.erasure_id

    return asyncio.run(request())


def hold(storage: Settings) -> None:
    async def place() -> None:
        async with connect(storage) as services:
            await place_hold(HoldTarget(SCOPE.tenant_id, SCOPE.user_id), "litigation", services, actor=PRIVACY)

    asyncio.run(place())


class TestList:
    def test_of_nobody_there_is_none(self, memnet: Memnet, storage: Settings) -> None:
        assert memnet("erasure", "list", *TENANT).stdout == "0 running, 0 over in tenant t1\n"

    def test_those_that_run_and_those_that_are_over(self, memnet: Memnet, storage: Settings) -> None:
        asyncio.run(write_history(storage))
        first = ask(storage)
        listed = memnet("erasure", "list", *TENANT).stdout
        assert re.fullmatch(rf"{first}  running  since {TIME}  0 removed\n1 running, 0 over in tenant t1\n", listed), (
            listed
        )
        assert memnet("erasure", "run").exit_code == 0
        other = ask(storage, UserScope("t1", "u2"))
        assert memnet("erasure", "list", "--tenant", "t2").stdout == "0 running, 0 over in tenant t2\n"
        listed = memnet("erasure", "list", *TENANT).stdout
        assert re.fullmatch(
            rf"{other}  running  since {TIME}  0 removed\n"
            rf"{first}  complete  at {TIME}  [1-9]\d* removed\n"
            r"1 running, 1 over in tenant t1\n",
            listed,
        ), listed
        assert "u1" not in listed

    def test_what_remains_is_counted(self, memnet: Memnet, storage: Settings) -> None:
        asyncio.run(write_history(storage))
        hold(storage)
        erasure_id = ask(storage)
        assert memnet("erasure", "run", *TENANT).stdout == "0 erasures\n"
        assert re.search(
            rf"^{erasure_id}  partial  at {TIME}  0 removed  [1-9]\d* remain$",
            memnet("erasure", "list", *TENANT).stdout,
            re.MULTILINE,
        )

    def test_the_longer_of_two_times_to_wait_counts(self, memnet: Memnet, storage: Settings, monkeypatch: Any) -> None:
        monkeypatch.setenv("MEMNET_ERASURE_QUIESCENCE_SECONDS", "960")
        waiting = settings.load_storage()
        assert waiting is not None
        ask(waiting)
        # A process that would not wait itself waits for as long as whoever accepted it wants.
        monkeypatch.setenv("MEMNET_ERASURE_QUIESCENCE_SECONDS", "0")
        assert memnet("erasure", "run", *TENANT).stdout == "1 waiting\n1 erasure\n"

    def test_one_that_cannot_be_read_is_told(self, memnet: Memnet, storage: Settings, blobs: ContainerClient) -> None:
        with blobs:
            blobs.upload_blob(receipt_name("t1", "e1"), b"{}")
        result = memnet("erasure", "list", *TENANT)
        assert (result.exit_code, "HISTORY_CORRUPT" in result.stderr) == (1, True)


class TestRun:
    def test_there_may_be_nothing_to_do(self, memnet: Memnet, storage: Settings) -> None:
        result = memnet("erasure", "run")
        assert (result.exit_code, result.stdout) == (0, "0 erasures\n")

    def test_all_are_gone_on_with_or_those_of_one_tenant(
        self, memnet: Memnet, storage: Settings, blobs: ContainerClient
    ) -> None:
        asyncio.run(write_history(storage))
        ask(storage)
        ask(storage, UserScope("t1", "u2"))
        ask(storage, UserScope("t10", "u1"))
        assert memnet("erasure", "run", *TENANT).stdout == "2 finished\n2 erasures\n"
        with blobs:
            left = list(blobs.list_blob_names())
        assert [name for name in left if not name.startswith(("erasures/t1/", "catalog/"))] == [
            fence_name(UserScope("t10", "u1"))
        ]
        assert memnet("erasure", "run").stdout == "1 finished\n1 erasure\n"

    def test_one_waits_for_what_may_still_arrive(
        self, memnet: Memnet, storage: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asyncio.run(write_history(storage))
        erasure_id = ask(storage)
        monkeypatch.setenv("MEMNET_ERASURE_QUIESCENCE_SECONDS", "960")
        result = memnet("erasure", "run")
        assert (result.exit_code, result.stdout) == (0, "1 waiting\n1 erasure\n")
        listed = memnet("erasure", "list", *TENANT).stdout
        assert re.search(rf"^{erasure_id}  running  since {TIME}  [1-9]\d* removed$", listed, re.MULTILINE), listed

    def test_a_store_that_does_not_do_its_part_is_told_and_named(
        self, memnet: Memnet, storage: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asyncio.run(write_history(storage))
        erasure_id = ask(storage)
        monkeypatch.setenv("MEMNET_QUEUE_URL", "sb://127.0.0.1:1")
        result = memnet("erasure", "run")
        assert (result.exit_code, result.stdout) == (1, "1 failing\n1 erasure\n")
        listed = memnet("erasure", "list", *TENANT).stdout
        assert re.search(rf"^{erasure_id}  running  .* removed  queues: UNAVAILABLE$", listed, re.MULTILINE), listed

    def test_a_fence_that_cannot_be_read_is_told(
        self, memnet: Memnet, storage: Settings, blobs: ContainerClient
    ) -> None:
        with blobs:
            blobs.upload_blob(fence_name(SCOPE), b"{}")
            result = memnet("erasure", "run")
            assert (result.exit_code, result.stdout) == (1, "1 failing\n1 erasure\n")
            # A fence that cannot be read is still one.
            assert list(blobs.list_blob_names()) == [fence_name(SCOPE)]

    @pytest.mark.parametrize("command", ["list", "run"])
    def test_a_tenant_is_one_identifier(self, memnet: Memnet, storage: Settings, command: str) -> None:
        assert memnet("erasure", command, "--tenant", "../t1").exit_code == 2


class Kept:
    """A receipt and the keys, as somebody keeps them; `verify` has nothing else."""

    def __init__(self, memnet: Memnet, directory: Path, receipt: bytes, keys: str) -> None:
        self.memnet, self.receipt = memnet, receipt
        self.file, self.keys = directory / "receipt.json", directory / "keys.pem"
        self.keys.write_text(keys, "utf-8")

    def verify(self, *arguments: str, data: bytes | None = None) -> Any:
        self.file.write_bytes(self.receipt if data is None else data)
        return self.memnet("erasure", "verify", str(self.file), "--public-key", str(self.keys), *arguments)


def keep(memnet: Memnet, storage: Settings, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """End the user's erasure, keep its receipt, and take everything else away."""
    erasure_id = ask(storage)

    async def end() -> bytes | None:
        async with connect(storage) as services:
            # Under a hold it is over already.
            assert await erase_user(SCOPE, services) in (Erased.FINISHED, Erased.NOTHING)
            return await services.erasures.read_receipt("t1", erasure_id)

    receipt = asyncio.run(end())
    assert receipt is not None
    keys = memnet("audit", "keys").stdout
    for name in ("STORAGE_URL", "STORAGE_KEY", "VAULT_URL", "VAULT_TOKEN", "VAULT_CA"):
        monkeypatch.delenv(f"MEMNET_{name}")
    return Kept(memnet, directory, receipt, keys)


@pytest.fixture
def kept(memnet: Memnet, storage: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """The receipt of a complete erasure."""
    asyncio.run(write_history(storage))
    return keep(memnet, storage, tmp_path, monkeypatch)


class TestVerify:
    def test_a_genuine_one_is_told_in_words(self, kept: Kept) -> None:
        result = kept.verify()
        assert result.exit_code == 0, result.stderr
        told = json.loads(kept.receipt)
        lines = result.stdout.splitlines()
        assert lines[0] == f"genuine: erasure {told['erasure_id']}, complete"
        assert re.fullmatch(rf"requested {TIME} by svc-privacy, over {TIME}", lines[1])
        assert lines[2] == "looked through: blobs, index, queues; clean scans in a row: 2"
        assert lines[3:] == [f"removed: {count} {kind}" for kind, count in sorted(told["removed"].items())]
        assert "removed: 2 documents" in lines

    def test_whose_it_is_can_be_checked(self, kept: Kept) -> None:
        result = kept.verify(*OF_USER)
        assert (result.exit_code, " of user u1 of tenant t1, complete\n" in result.stdout) == (0, True)
        for tenant, user in (("t1", "u10"), ("t10", "u1"), ("u1", "t1")):
            result = kept.verify("--tenant", tenant, "--user", user)
            assert (result.exit_code, result.stdout) == (1, "")
            assert f"genuine, and not of user {user} of tenant {tenant}" in result.stderr

    def test_it_is_read_however_it_is_set(self, kept: Kept) -> None:
        members = json.loads(kept.receipt)
        for data in (kept.receipt + b"\n", json.dumps(members, indent=2).encode(), json.dumps(members).encode()):
            assert kept.verify(*OF_USER, data=data).exit_code == 0

    @pytest.mark.parametrize(
        "change",
        [
            {
                "status": "partial",
                "remaining": [{"kind": "x", "count": 1, "reason": "r", "covers": "c", "until": None}],
            },
            {"finished_at": "2020-01-01T00:00:00.000000Z"},
            {"removed": {}},
            {"clean_scans": 3},
            {"requested_by": "svc-other"},
            {"user_hash": "0" * 64},
            {"tenant_id": "t2"},
            {"recoverable_until": "2030-01-01T00:00:00.000000Z"},
            {"signature": to_base64(bytes(64))},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_an_altered_one_is_not(self, kept: Kept, change: dict[str, Any]) -> None:
        result = kept.verify(data=canonical({**json.loads(kept.receipt), **change}))
        assert (result.exit_code, result.stdout) == (1, "")
        assert "not signed by any of these keys" in result.stderr

    @pytest.mark.parametrize(
        "change",
        [lambda data: data[:-1], lambda data: b"", lambda data: b"[]", lambda data: b"{}", lambda data: b"\xff"],
    )
    def test_other_bytes_are_none(self, kept: Kept, change: Callable[[bytes], bytes]) -> None:
        result = kept.verify(data=change(kept.receipt))
        assert (result.exit_code, result.stdout) == (1, "")
        assert "not a receipt as the service wrote it" in result.stderr

    def test_a_member_twice_is_none(self, kept: Kept) -> None:
        result = kept.verify(data=kept.receipt[:-1] + b',"status":"complete"}')
        assert (result.exit_code, "not a receipt" in result.stderr) == (1, True)

    def test_another_key_verifies_nothing(self, kept: Kept) -> None:
        stranger = SigningKey("v1", b"s" * 32)
        kept.keys.write_text(to_pem(stranger.public), "utf-8")
        assert "not signed by any of these keys" in kept.verify().stderr
        # Nor one that names the service's key and is signed by another, nor for another purpose.
        members = json.loads(kept.receipt)
        for key_id, purpose in ((members["key_id"], PURPOSE), (stranger.public.key_id, "memnet-head-1")):
            unsigned = {name: value for name, value in members.items() if name != "signature"} | {"key_id": key_id}
            signed = to_base64(signature.sign(stranger, purpose, canonical(unsigned)))
            result = kept.verify(data=canonical(unsigned | {"signature": signed}))
            assert (result.exit_code, result.stdout) == (1, "")
            assert "not signed by any of these keys" in result.stderr

    def test_what_is_asked_wrongly_is_refused(self, kept: Kept) -> None:
        for arguments in (("--tenant", "t1"), ("--user", "u1"), ("--tenant", "..", "--user", "u1")):
            assert kept.verify(*arguments).exit_code == 2
        kept.keys.write_text("nothing", "utf-8")
        result = kept.verify()
        assert (result.exit_code, "there is no public key in it" in result.stderr) == (2, True)

    def test_a_partial_one_is_as_genuine_and_says_what_remains(
        self, memnet: Memnet, storage: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asyncio.run(write_history(storage))
        hold(storage)
        kept = keep(memnet, storage, tmp_path, monkeypatch)
        result = kept.verify(*OF_USER)
        assert result.exit_code == 0, result.stderr
        lines = result.stdout.splitlines()
        assert lines[0].endswith(" of user u1 of tenant t1, partial")
        assert "remaining: 2 documents, legal_hold on the user" in lines
        assert "remaining: 1 holds, legal_hold on the user" in lines
        assert not any(line.startswith("removed:") for line in lines)
        assert lines[-1] == "partial: not everything is erased"
