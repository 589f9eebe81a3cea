"""The stores on the emulator, where the behaviour of a real service matters."""

import pytest

from memnet.domain.core.scope import UserScope
from memnet.stores import Blobs
from tests.contracts.conftest import Place
from tests.stores.all_stores import Stores, fill, found_in, listed, now, stores_over

ONE = UserScope("t1", "u1")


@pytest.fixture
def stores(blobs: Blobs) -> Stores:
    return stores_over(blobs)


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
