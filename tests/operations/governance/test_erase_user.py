"""The erasure of a user: complete, counted, proven, and nobody else's."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core import signature
from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import ErasureRunning, Unavailable, VaultUnavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure_receipt import Receipt, Status, is_signed, read_receipt
from memnet.domain.history.checkpoint import checkpoint_key
from memnet.operations.governance.erase_user import Erased
from memnet.operations.history.list_audit import list_audit
from memnet.operations.history.verify_history import rebuild_documents
from tests.memory_blobs import unfenced
from tests.operations.erasure_scenario import OTHER, SETTLE, U1, U10, ErasureWorld, alpha
from tests.operations.retention_scenario import Between


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    for scope in (U1, U10, OTHER):
        await made.live(scope)
    return made


async def receipt_of(world: ErasureWorld, erasure_id: str) -> Receipt:
    data = await world.services.erasures.read_receipt(U1.tenant_id, erasure_id)
    assert data is not None
    return read_receipt(data)


async def test_everything_goes_and_is_counted_and_nobody_elses(world: Any) -> None:
    before = await world.expected()
    others = world.stored(U10), world.stored(OTHER)
    assert set(before) >= {
        "keys",
        "documents",
        "audit",
        "baselines",
        "events",
        "snapshots",
        "replays",
        "heads",
        "marks",
    }

    erasure_id = (await world.request()).erasure_id
    assert await world.run() is Erased.WAITING
    assert world.stored(U1) == {}
    assert await world.indexed(U1) == 0
    await world.finish()

    status = await world.status(erasure_id)
    assert status.status is Status.COMPLETE
    assert status.receipt is not None
    assert dict(status.removed) == before
    assert world.stored(U1) == {}
    assert await world.services.queue.purge(U1) == 0
    assert (world.stored(U10), world.stored(OTHER)) == others
    assert await world.indexed(U10) == 5
    assert await world.indexed(OTHER) == 5


async def test_the_receipt_is_signed_and_tells_no_more_than_it_must(world: Any) -> None:
    heads = await world.services.records.read(checkpoint_key(U1, 1))
    erasure_id = (await world.request()).erasure_id
    await world.run()
    await world.finish()

    receipt = await receipt_of(world, erasure_id)
    assert heads is not None
    (key,) = await world.services.signing.public_keys()
    assert is_signed(receipt, key)
    assert not signature.holds(key, "memnet-head-1", receipt.data, b"")
    assert receipt.is_of(U1)
    assert not receipt.is_of(U10)
    assert not receipt.is_of(OTHER)
    assert receipt.members["last_head_sha256"] == sha256_hex(heads.data)
    assert receipt.members["clean_scans"] == 2
    assert receipt.members["remaining"] == []
    assert b"u1" not in receipt.data.replace(receipt.members["salt"].encode(), b"")


async def test_nothing_is_claimed_before_what_was_begun_earlier_can_have_arrived(world: Any) -> None:
    erasure_id = (await world.request()).erasure_id
    world.advance(SETTLE - timedelta(seconds=1))
    assert await world.run() is Erased.WAITING
    assert (await world.status(erasure_id)).status is Status.RUNNING
    with pytest.raises(ErasureRunning):
        await world.patch(U1, "again")

    world.advance(timedelta(seconds=1))
    assert await world.run() is Erased.FINISHED
    assert (await world.patch(U1, "afresh")).sequence == 1


async def test_a_pass_that_was_begun_before_the_time_was_over_proves_nothing(world: Any) -> None:
    """What it had looked through already may have been written to until then."""
    erasure_id = (await world.request()).erasure_id
    await world.run()
    world.advance(SETTLE - timedelta(seconds=1))

    async def the_rest_of_it() -> None:
        world.advance(timedelta(seconds=1))

    assert await world.run(watch=Between("queue.purge", the_rest_of_it)) is Erased.WAITING
    stored = await world.services.erasures.read(U1)
    assert stored is not None
    assert erasures.load(U1, stored.data).clean_scans == 0
    assert await world.run() is Erased.FINISHED
    assert (await world.status(erasure_id)).status is Status.COMPLETE


async def test_what_arrives_late_is_removed_and_begins_the_proof_anew(world: Any) -> None:
    erasure_id = (await world.request()).erasure_id
    await world.run()
    late = ItemKey(U1, ItemKind.REPLAYS, "late")
    removed = dict((await world.status(erasure_id)).removed)

    async def arrive() -> None:
        records = unfenced(world.services.records)
        await records.write(late, b"{}", replaces=None)

    world.advance()
    # Between the first clean scan, which is written down, and the second.
    looks = Counter[str]()

    async def watch(name: str, call: Any) -> Any:
        looks[name] += 1
        if name == "erasures.write" and looks[name] == 1:
            found = await call()
            await arrive()
            return found
        return await call()

    assert await world.run(watch=watch) is Erased.FINISHED
    assert world.stored(U1) == {}
    assert dict((await world.status(erasure_id)).removed) == removed | {"replays": removed["replays"] + 1}


async def test_a_fresh_start_brings_nothing_back(world: Any) -> None:
    old = await world.services.documents.get(alpha(U1))
    erasure_id = (await world.request()).erasure_id
    await world.run()
    await world.finish()

    first = await world.patch(U1, "afresh")
    await world.services.background.drain()
    assert first.sequence == 1
    assert old is not None
    assert old.view is not None
    assert first.etag != old.view.etag
    page = await list_audit(U1, world.services, namespace=None, path=None, limit=100, cursor=None)
    assert len(page.items) == 1
    assert all(one.fault is None for one in await rebuild_documents(U1, world.services))

    # The old request once more: answered with the old receipt, and what is new stays.
    again = await world.request()
    assert again.erasure_id == erasure_id
    assert again.status is Status.COMPLETE
    assert await world.run() is Erased.NOTHING
    assert await world.services.documents.get(alpha(U1)) is not None


async def test_a_new_request_erases_what_is_new(world: Any) -> None:
    first = (await world.request()).erasure_id
    await world.run()
    await world.finish()
    await world.patch(U1, "afresh")
    second = (await world.request("forget-2")).erasure_id
    await world.run()
    await world.finish()
    assert first != second
    assert (await world.status(second)).removed["documents"] == 1
    assert (await world.status(first)).status is Status.COMPLETE


# Stores that fail.


@pytest.mark.parametrize(
    ("call", "error", "store"),
    [
        ("storage.list", Unavailable(dependency="blob_storage"), "blobs"),
        ("storage.delete", Unavailable(dependency="blob_storage"), "blobs"),
        ("documents.list", Unavailable(dependency="blob_storage"), "blobs"),
        ("index.list_of_user", Unavailable(dependency="search"), "index"),
        ("index.delete", Unavailable(dependency="search"), "index"),
        ("queue.purge", Unavailable(dependency="service_bus"), "queues"),
        ("signing.newest", VaultUnavailable(), "vault"),
    ],
)
async def test_a_store_that_fails_is_named_and_keeps_it_from_ending(
    world: Any, call: Any, error: Any, store: Any
) -> None:
    erasure_id = (await world.request()).erasure_id

    async def fails(name: str, inner: Any) -> Any:
        if name == call:
            raise error
        return await inner()

    world.advance()
    for _ in range(3):
        assert await world.run(watch=fails) is Erased.FAILING
        status = await world.status(erasure_id)
        assert status.status is Status.RUNNING
        assert status.failing[store] == error.code
    with pytest.raises(ErasureRunning):
        await world.patch(U1, "again")

    await world.finish()
    status = await world.status(erasure_id)
    assert status.status is Status.COMPLETE
    assert status.failing == {}


async def test_a_record_that_cannot_be_written_is_told(world: Any) -> None:
    await world.request()

    async def fails(name: str, inner: Any) -> Any:
        if name == "erasures.write":
            raise Unavailable(dependency="blob_storage")
        return await inner()

    with pytest.raises(Unavailable):
        await world.run(watch=fails)
    await world.finish()


async def test_what_nobody_thought_of_is_named_too_and_does_not_stop_the_others(world: Any) -> None:
    """As what a client library raises for a request that the service calls wrong."""
    erasure_id = (await world.request()).erasure_id

    async def fails(name: str, inner: Any) -> Any:
        if name.startswith("index."):
            raise ValueError("the very private reason")
        return await inner()

    assert await world.run(watch=fails) is Erased.FAILING
    assert (await world.status(erasure_id)).failing == {"index": "INTERNAL"}
    assert await world.services.queue.purge(U1) == 0
    assert world.stored(U1) == {}


async def test_a_document_that_cannot_be_read_is_removed_like_any_other(world: Any) -> None:
    stored = await world.services.documents.get(alpha(U1))
    rows = await world.services.documents.list(U1, "", limit=9, cursor=None)
    await world.services.documents.put(alpha(U1), b"{", rows.items[0].summary, replaces=stored.storage_etag)
    erasure_id = (await world.request()).erasure_id
    await world.run()
    await world.finish()
    assert (await world.status(erasure_id)).status is Status.COMPLETE
    assert world.stored(U1) == {}


async def test_a_store_that_fails_does_not_stop_the_others(world: Any) -> None:
    await world.request()

    async def fails(name: str, inner: Any) -> Any:
        if name.startswith("index."):
            raise Unavailable(dependency="search")
        return await inner()

    assert await world.run(watch=fails) is Erased.FAILING
    assert world.stored(U1) == {}
    assert await world.indexed(U1) == 5


async def test_of_a_user_without_a_fence_nothing_is_touched(world: Any) -> None:
    before = world.stored(U10)
    assert await world.run(U10) is Erased.NOTHING
    assert world.stored(U10) == before


async def test_a_user_of_whom_nothing_is_stored_gets_a_receipt_too(world: Any) -> None:
    nobody = UserScope("t1", "nobody")
    erasure_id = (await world.request(scope=nobody)).erasure_id
    world.advance()
    assert await world.run(nobody) is Erased.FINISHED
    told = await world.status(erasure_id, nobody)
    assert told.status is Status.COMPLETE
    assert told.removed == {}
