"""The stores on the emulator, where the behaviour of a real service matters."""

import pytest

from memnet.adapters.azure.blob_storage import AzureBlobStorage
from memnet.domain.core.errors import ErasureRunning
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.stores import Blobs
from tests.contracts.conftest import Place
from tests.stores.all_stores import DATA, Stores, fill, found_in, listed, now, stores_over, writes

ONE, NEIGHBOUR = UserScope("t1", "u1"), UserScope("t1", "u10")


@pytest.fixture
def stores(blobs: Blobs) -> Stores:
    return stores_over(blobs)


@pytest.mark.parametrize("limit", [1, 3, 1000])
async def test_everything_of_a_user_is_listed_and_removed_over_any_pages(stores: Stores, limit: int) -> None:
    for scope in (ONE, NEIGHBOUR):
        await fill(stores, scope, "a")
    names = await listed(stores.storage, NEIGHBOUR)
    found = await found_in(stores.storage, ONE, limit)
    assert len(found) == len(names)
    for one in found:
        await stores.storage.delete(ONE, one, known_at=now())
    assert await listed(stores.storage, ONE) == []
    assert await listed(stores.storage, NEIGHBOUR) == names


async def test_a_fence_keeps_every_creation_out(stores: Stores) -> None:
    tag: StorageETag = await stores.erasures.write(ONE, DATA, replaces=None)
    for write in writes(stores, ONE, "a").values():
        with pytest.raises(ErasureRunning):
            await write()
    assert await listed(stores.storage, ONE) == []
    await stores.erasures.lift(ONE, tag=tag)
    await fill(stores, ONE, "a")


async def test_a_blob_goes_with_the_snapshots_that_others_have_made_of_it(place: Place, stores: Stores) -> None:
    await fill(stores, ONE, "a")
    for name in await listed(stores.storage, ONE):
        await place.client.get_blob_client(name).create_snapshot()
    for found in await found_in(stores.storage, ONE):
        await stores.storage.delete(ONE, found, known_at=now())
    assert [blob.name async for blob in place.client.list_blobs(include=["snapshots"])] == []


@pytest.mark.parametrize("name", ["documents/a b", "audit/ü", "x%2Fy", "records/a?b", "a#b"])
async def test_whatever_is_below_the_prefix_is_removed_by_its_name(place: Place, stores: Stores, name: str) -> None:
    await place.client.upload_blob(f"{ONE.prefix}{name}", b"")
    (found,) = await found_in(stores.storage, ONE)
    await stores.storage.delete(ONE, found, known_at=now())
    assert await listed(stores.storage, ONE) == []


async def test_documents_are_listed_with_what_their_metadata_say(container: AzureBlobStorage, stores: Stores) -> None:
    await fill(stores, ONE, *"abc")
    first = await stores.documents.list(ONE, "", limit=2, cursor=None)
    second = await stores.documents.list(ONE, "", limit=2, cursor=first.next_cursor)
    assert [row.key.path for row in (*first.items, *second.items)] == ["a", "b", "c"]
    again = stores_over(Blobs(container, container._clock))
    for row in first.items:
        stored = await again.documents.get(row.key)
        assert stored is not None
        assert (stored.data, row.summary.size) == (DATA, 17)
