"""`memnet erasure tenant`: a tenant of fifty users against Azurite and a local key vault, and its receipts offline."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from azure.storage.blob import ContainerClient

from local.stack.search_server import SearchEmulator
from local.stack.service_bus_server import ServiceBus
from memnet import settings
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.settings import Settings
from memnet.wiring import connect
from tests.cli.conftest import Memnet
from tests.operations.erasure_scenario import ErasureWorld

TENANT = ("--tenant", "t1")
END = ("erasure", "tenant", *TENANT, "--confirm", "t1", "--actor", "svc-privacy")
HELD = UserScope("t1", "u7")
LEGAL = Actor("svc-legal", frozenset())


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


async def fill(storage: Settings) -> None:
    """Fifty users with a document and an event, one of them under a hold, and one of another tenant."""
    async with connect(storage) as services:
        world = ErasureWorld(services)
        for scope in (*(UserScope("t1", f"u{number}") for number in range(50)), UserScope("t10", "u1")):
            await world.patch(scope, "first")
            await world.event(scope, "evt-1")
        await place_hold(HoldTarget(HELD.tenant_id, HELD.user_id), "litigation", services, actor=LEGAL)


async def release(storage: Settings) -> None:
    async with connect(storage) as services:
        await release_hold(HoldTarget(HELD.tenant_id, HELD.user_id), "settled", services, actor=LEGAL)


def finish(memnet: Memnet) -> dict[str, Any]:
    """What is told once it is over."""
    for _ in range(4):
        assert memnet("erasure", "run").exit_code == 0
        told: dict[str, Any] = json.loads(memnet("erasure", "tenant", *TENANT).stdout)
        if told["receipt"]:
            return told
    raise AssertionError(told)


def left(blobs: ContainerClient, tenant: str = "t1") -> set[str]:
    """The names of the tenant's blobs that are neither receipts nor its record, by a look of its own."""
    parts = ((name, name.replace(".json", "").split("/")) for name in blobs.list_blob_names())
    return {name for name, found in parts if tenant in found and found[0] not in ("erasures", "ended")}


def test_of_fifty_users_the_held_one_is_left_and_named_and_goes_after_the_release(
    memnet: Memnet, storage: Settings, blobs: ContainerClient, tmp_path: Path
) -> None:
    asyncio.run(fill(storage))
    others, before = left(blobs, "t10"), {name for name in left(blobs) if "u7" in name.split("/")}
    assert json.loads(memnet(*END).stdout)["status"] == "running"
    partial = finish(memnet)
    assert (partial["status"], partial["users"], len(partial["receipt"]["users_held"])) == ("partial", 49, 1)
    assert left(blobs) == before
    keys, file = tmp_path / "keys.pem", tmp_path / "receipt.json"
    keys.write_text(memnet("audit", "keys").stdout)

    def verify(receipt: dict[str, Any], *arguments: str) -> Any:
        file.write_bytes(canonical(receipt))
        return memnet("erasure", "verify", str(file), "--public-key", str(keys), *arguments)

    told = verify(partial["receipt"], *TENANT, "--user", "u7").stdout
    assert "of tenant t1, partial" in told
    assert "users: 49 erased, 1 left under a legal hold" in told
    assert "user u7: left under a legal hold" in told
    assert "user u8: not among those left" in verify(partial["receipt"], *TENANT, "--user", "u8").stdout
    assert verify(partial["receipt"], "--tenant", "t10", "--user", "u1").exit_code == 1
    for altered in ({"users": 50}, {"users_held": [], "status": "complete"}, {"tenant_id": "t10"}):
        assert verify({**partial["receipt"], **altered}).exit_code == 1

    asyncio.run(release(storage))
    assert json.loads(memnet(*END).stdout)["status"] == "running"
    done = finish(memnet)
    assert (done["status"], done["users"], done["receipt"]["users_held"]) == ("complete", 50, [])
    assert left(blobs) == set()
    assert left(blobs, "t10") == others
    assert json.loads(memnet(*END).stdout) == done


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 1, "ERASURE_NOT_FOUND"),
        (("--confirm", "t2", "--actor", "a"), 2, "repeats the tenant's id"),
        (("--confirm", "t1"), 2, "goes with --actor"),
    ],
)
def test_what_is_not_asked_for_deliberately_does_nothing(
    memnet: Memnet, storage: Settings, blobs: ContainerClient, arguments: tuple[str, ...], code: int, told: str
) -> None:
    result = memnet("erasure", "tenant", *TENANT, *arguments)
    assert (result.exit_code, told in result.stderr) == (code, True)
    assert list(blobs.list_blob_names()) == []
