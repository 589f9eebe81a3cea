"""Append blobs, by the BlobStorage contract for both adapters; and the Azure adapter's appends in trouble."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from local.emulators.fault_proxy import Fault, FaultProxy
from memnet.adapters.azure.blob_storage import open_container
from memnet.adapters.system import SystemClock
from memnet.domain.core.errors import Unavailable
from memnet.ports import BlobStorage, StoreConflict, StoredBlob
from tests.contracts.conftest import Place
from tests.contracts.scripted_server import CLOSE, answer
from tests.contracts.test_azure_blob_storage import against

MIB = 1 << 20


async def stored_in(storage: BlobStorage, name: str = "log") -> StoredBlob:
    stored = await storage.get(name)
    assert stored is not None
    return stored


async def test_an_append_is_applied_at_its_offset_alone(storage: BlobStorage) -> None:
    await storage.create_log("log", metadata={"started": "now"})
    assert await storage.append("log", b"one", offset=0)
    for offset in (0, 2, 4):
        with pytest.raises(StoreConflict):
            await storage.append("log", b"two", offset=offset)
    assert await storage.append("log", b"two", offset=3)
    stored = await storage.get("log")
    assert stored is not None
    assert stored.data == b"onetwo"
    page = await storage.list("log", limit=10, cursor=None, metadata=True)
    assert [(row.etag, row.metadata) for row in page.items] == [(stored.storage_etag, {"started": "now"})]


async def test_a_log_is_created_once_and_an_append_creates_none(storage: BlobStorage) -> None:
    assert not await storage.append("log", b"one", offset=0)
    assert await storage.get("log") is None
    await storage.create_log("log")
    assert await storage.append("log", b"one", offset=0)
    with pytest.raises(StoreConflict):
        await storage.create_log("log")
    stored = await storage.get("log")
    assert stored is not None
    assert stored.data == b"one"
    await storage.delete("log", tag=stored.storage_etag)
    assert not await storage.append("log", b"two", offset=3)
    assert await storage.get("log") is None


async def test_a_blob_and_a_log_do_not_replace_each_other_by_creation(storage: BlobStorage) -> None:
    await storage.create_log("log")
    await storage.put("blob", b"1", replaces=None)
    with pytest.raises(StoreConflict):
        await storage.put("log", b"1", replaces=None)
    with pytest.raises(StoreConflict):
        await storage.create_log("blob")
    assert ((await stored_in(storage)).data, (await stored_in(storage, "blob")).data) == (b"", b"1")


async def test_of_racing_creations_and_of_racing_appends_one_wins(storage: BlobStorage) -> None:
    made = await asyncio.gather(*(storage.create_log("log") for _ in range(5)), return_exceptions=True)
    assert [type(one) for one in made if one is not None] == [StoreConflict] * 4
    expected = b""
    for _ in range(3):
        data = [str(number).encode() * (number + 1) for number in range(9)]
        offset = len(expected)
        outcomes = await asyncio.gather(
            *(storage.append("log", one, offset=offset) for one in data), return_exceptions=True
        )
        (winner,) = [number for number, outcome in enumerate(outcomes) if outcome is True]
        assert {type(outcome) for number, outcome in enumerate(outcomes) if number != winner} == {StoreConflict}
        expected += data[winner]
        assert (await stored_in(storage)).data == expected


async def test_every_append_moves_the_tag_and_a_refused_one_does_not(storage: BlobStorage) -> None:
    await storage.create_log("log")
    seen = [await stored_in(storage)]
    for number in range(3):
        assert await storage.append("log", b"x", offset=number)
        changed = await storage.get("log", seen[-1])
        assert changed is not None
        assert changed.data == b"x" * (number + 1)
        seen.append(changed)
    assert len({one.storage_etag for one in seen}) == 4
    with pytest.raises(StoreConflict):
        await storage.append("log", b"x", offset=0)
    assert await storage.get("log", seen[-1]) is seen[-1]


async def test_a_deletion_by_tag_does_not_remove_what_was_appended_since(storage: BlobStorage) -> None:
    await storage.create_log("log")
    before = await stored_in(storage)
    assert await storage.append("log", b"one", offset=0)
    with pytest.raises(StoreConflict):
        await storage.delete("log", tag=before.storage_etag)
    after = await stored_in(storage)
    assert after.data == b"one"
    deletion, append = await asyncio.gather(
        storage.delete("log", tag=after.storage_etag), storage.append("log", b"two", offset=3), return_exceptions=True
    )
    assert (type(deletion), append) in ((type(None), False), (StoreConflict, True))
    left = await storage.get("log")
    assert (left and left.data) == (b"onetwo" if append else None)


async def test_an_append_for_a_deleted_log_is_not_applied_to_its_successor(storage: BlobStorage) -> None:
    await storage.create_log("log")
    assert await storage.append("log", b"one", offset=0)
    await storage.delete("log")
    assert not await storage.append("log", b"two", offset=3)
    await storage.create_log("log")
    with pytest.raises(StoreConflict):
        await storage.append("log", b"two", offset=3)
    assert (await stored_in(storage)).data == b""


async def test_the_largest_append_and_many_small_ones_are_kept_in_order(storage: BlobStorage) -> None:
    await storage.create_log("log")
    expected = b"x" * (4 * MIB)
    assert await storage.append("log", expected, offset=0)
    for number in range(50):
        line = f"{number}\n".encode()
        assert await storage.append("log", line, offset=len(expected))
        expected += line
    assert (await stored_in(storage)).data == expected


@pytest.mark.parametrize("fault", [Fault.ANSWER_503_AFTER_APPLY, Fault.DROP_ANSWER])
@pytest.mark.parametrize("is_created", [False, True])
async def test_a_call_that_was_applied_and_not_answered_ends_as_a_conflict(
    azurite: Any, place: Place, fault: Fault, is_created: bool
) -> None:
    async with FaultProxy(azurite.service_url) as proxy:
        url = proxy.through(place.url)
        async with open_container(
            url, account_key=place.key, timeout_seconds=10, clock=SystemClock(), backoff_seconds=0.01
        ) as storage:
            if is_created:
                await storage.create_log("log")
            injection = proxy.inject(fault, method="PUT")
            with pytest.raises(StoreConflict):
                await (storage.append("log", b"one", offset=0) if is_created else storage.create_log("log"))
            assert injection.finished.is_set()
            assert (await stored_in(storage)).data == (b"one" if is_created else b"")
            assert await storage.append("log", b"two", offset=3 if is_created else 0)


async def test_an_append_that_never_arrives_is_unavailable_and_one_that_arrives_late_is_applied() -> None:
    async with against(CLOSE) as (container, _):
        with pytest.raises(Unavailable):
            await container.append("log", b"one", offset=0)
    async with against(CLOSE, answer(503), answer(201)) as (container, server):
        assert await container.append("log", b"one", offset=7)
        line, headers, body = server.asked[0]
        assert (line, headers["x-ms-blob-condition-appendpos"], body) == (
            "PUT /account/container/log?comp=appendblock",
            "7",
            b"one",
        )
        assert [asked[2] for asked in server.asked] == [b"one"] * 3


@pytest.mark.parametrize("is_created", [False, True])
async def test_a_call_has_the_date_at_which_it_was_known_to_be_right(is_created: bool) -> None:
    """Azure Storage answers 403 after 15 minutes ("Authorize with Shared Key"); the emulator has no such rule."""
    known_at = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(minutes=16)
    async with against(answer(403, "AuthenticationFailed")) as (container, server):
        with pytest.raises(Unavailable):
            await (
                container.append("log", b"one", offset=0, known_at=known_at)
                if is_created
                else container.create_log("log", known_at=known_at)
            )
        (asked,) = server.asked
        assert parsedate_to_datetime(asked[1]["x-ms-date"]) == known_at


@pytest.mark.parametrize("code", ["BlobNotFound", "ContainerNotFound"])
async def test_only_a_missing_blob_is_reported_as_missing(code: Any) -> None:
    async with against(answer(404, code)) as (container, _):
        if code == "BlobNotFound":
            assert not await container.append("log", b"one", offset=0)
        else:
            with pytest.raises(Unavailable):
                await container.append("log", b"one", offset=0)
