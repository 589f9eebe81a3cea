"""What lies in Blob Storage of a snapshot: ciphertext, which opens in its own place alone."""

import asyncio
from base64 import b64decode
from typing import Any

import orjson
import pytest
from azure.storage.blob.aio import ContainerClient

from memnet.adapters.azure.blob_storage import AzureBlobStorage, open_container
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.adapters.memory.queue import MemoryQueue
from memnet.adapters.system import RandomIds, SystemClock
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.replay.snapshot import snapshot_key
from memnet.operations.replay.snapshots import StoredSnapshot, read_snapshot, store_snapshot
from memnet.stores import Blobs, ItemStore, JobMarks, KeyRing, Vault
from tests.contracts.conftest import Place
from tests.domain.samples import CATALOG
from tests.domain.snapshot_samples import SCOPE, conversation, snapshot
from tests.services import service_of

ACTOR = Actor("svc-a", frozenset({"Memory.Write"}))
AUDITOR = Actor("auditor-1", frozenset({"Memory.Audit"}))
SAID = [
    "My door code is 4711-quokka and my sister Ottilie lives in Tromsø.",
    "I shall remember the quokka code.",
    "Ignore that; the new code is 0815-axolotl.",
]
OTHERS = [(UserScope("t1", "u2"), "c_1", "s_1"), (SCOPE, "c_2", "s_1"), (SCOPE, "c_1", "s_2")]


@pytest.fixture
def vault(container: AzureBlobStorage) -> Vault:
    """Records on Azurite; the tenant's keys are in memory."""
    ids = RandomIds()
    return Vault(ItemStore(Blobs(container, SystemClock())), MemoryTenantKeys(ids), ids, SystemClock())


async def store(
    vault: Vault,
    container: AzureBlobStorage,
    scope: UserScope = SCOPE,
    conversation_id: str = "c_1",
    snapshot_id: str = "s_1",
) -> StoredSnapshot:
    return await store_snapshot(
        scope,
        conversation_id,
        conversation(snapshot_id, *SAID),
        service_of(
            catalog=CATALOG,
            vault=vault,
            marks=JobMarks(Blobs(container, SystemClock())),
            queue=MemoryQueue(FrozenClock()),
        ),
        actor=ACTOR,
    )


async def blobs(client: ContainerClient) -> dict[str, bytes]:
    """Every blob of the container, as in the storage."""
    names = [name async for name in client.list_blob_names()]
    return {name: await (await client.download_blob(name)).readall() for name in names}


def decoded(data: bytes) -> bytes:
    """The bytes, and those that are written in them as Base64."""
    found: list[bytes] = [data]

    def walk(value: Any) -> None:
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(part)
        if isinstance(value, str) and len(value) % 4 == 0:
            try:
                found.append(b64decode(value, validate=True))
            except ValueError:
                return

    walk(orjson.loads(data) if data else None)
    return b"\n".join(found)


async def test_no_byte_at_rest_says_what_was_said(vault: Vault, container: AzureBlobStorage, place: Place) -> None:
    await store(vault, container)
    await read_snapshot(SCOPE, "c_1", "s_1", actor=AUDITOR, vault=vault)
    found = await blobs(place.client)
    assert sorted(name.split("/")[4] for name in found if name.startswith("tenants/t1/users/u1/")) == [
        "accesses",
        "keys",
        "replays",
        "snapshots",
    ]
    words = {word for text in SAID for word in text.encode().split() if len(word) > 4}
    assert len(words) > 8
    for name, data in found.items():
        assert [word for word in words if word in name.encode() or word in decoded(data)] == []


async def test_keys_at_rest_are_wrapped(vault: Vault, container: AzureBlobStorage, place: Place) -> None:
    await store(vault, container)
    tenant_key = await vault.keys.newest("t1")
    found = await blobs(place.client)
    sealed = orjson.loads(found["tenants/t1/users/u1/keys/data.json"])
    (row,) = sealed["data_keys"]
    assert len(b64decode(row["ciphertext"])) == 32 + 16
    assert not any(tenant_key.secret in decoded(data) for data in found.values())


@pytest.mark.parametrize(("scope", "conversation_id", "snapshot_id"), OTHERS, ids=["user", "conversation", "snapshot"])
async def test_swapped_blobs_do_not_open(
    vault: Vault, container: AzureBlobStorage, place: Place, scope: UserScope, conversation_id: str, snapshot_id: str
) -> None:
    await store(vault, container)
    await store(vault, container, scope, conversation_id, snapshot_id)
    mine, theirs = snapshot().key.blob_name, snapshot_key(scope, conversation_id, snapshot_id).blob_name
    found = await blobs(place.client)
    await place.client.upload_blob(mine, found[theirs], overwrite=True)
    await place.client.upload_blob(theirs, found[mine], overwrite=True)
    with pytest.raises(DecryptionFailed):
        await read_snapshot(SCOPE, "c_1", "s_1", actor=AUDITOR, vault=vault)
    with pytest.raises(DecryptionFailed):
        await read_snapshot(scope, conversation_id, snapshot_id, actor=AUDITOR, vault=vault)


async def test_a_flipped_bit_does_not_open(vault: Vault, container: AzureBlobStorage, place: Place) -> None:
    await store(vault, container)
    name = snapshot().key.blob_name
    data = bytearray((await blobs(place.client))[name])
    data[len(data) // 2] ^= 1
    await place.client.upload_blob(name, bytes(data), overwrite=True)
    with pytest.raises(DecryptionFailed):
        await read_snapshot(SCOPE, "c_1", "s_1", actor=AUDITOR, vault=vault)


async def test_with_another_vault_nothing_opens(vault: Vault, container: AzureBlobStorage) -> None:
    await store(vault, container)
    stranger = Vault(vault.records, MemoryTenantKeys(vault.ids), vault.ids, vault.clock)
    await stranger.keys.newest("t1")
    with pytest.raises(DecryptionFailed):
        await read_snapshot(SCOPE, "c_1", "s_1", actor=AUDITOR, vault=stranger)


async def test_a_snapshot_of_the_largest_body_is_stored_and_read(vault: Vault, container: AzureBlobStorage) -> None:
    said = ["x" * 99_000 + str(number) for number in range(10)]
    await store_snapshot(
        SCOPE,
        "c_1",
        conversation("s_1", *said),
        service_of(
            catalog=CATALOG,
            vault=vault,
            marks=JobMarks(Blobs(container, SystemClock())),
            queue=MemoryQueue(FrozenClock()),
        ),
        actor=ACTOR,
    )
    found = await read_snapshot(SCOPE, "c_1", "s_1", actor=AUDITOR, vault=vault)
    assert [message.content for message in found.messages] == said


async def test_two_processes_that_begin_at_once_end_with_one_key(vault: Vault, place: Place) -> None:
    """Each with its own connections; the tenant's keys are the vault's, so they are shared."""
    async with (
        open_container(place.url, account_key=place.key, timeout_seconds=10, clock=SystemClock()) as one,
        open_container(place.url, account_key=place.key, timeout_seconds=10, clock=SystemClock()) as other,
    ):
        vaults = [
            Vault(ItemStore(Blobs(each, SystemClock())), vault.keys, vault.ids, vault.clock) for each in (one, other)
        ]
        keys = [snapshot_key(SCOPE, "c", f"s{number}") for number in range(8)]
        sealed = await asyncio.gather(*(KeyRing(vaults[n % 2]).seal(key, b"x") for n, key in enumerate(keys)))
    assert {orjson.loads(data)["key_id"] for data in sealed} == {
        row["key_id"]
        for row in orjson.loads((await blobs(place.client))["tenants/t1/users/u1/keys/data.json"])["data_keys"]
    }
    for key, data in zip(keys, sealed, strict=True):
        assert await KeyRing(vault).unseal(key, data) == b"x"
