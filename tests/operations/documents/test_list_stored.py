"""Listing all that is stored of a user."""

from memnet.operations.documents import list_stored as module
from memnet.operations.documents.list_stored import list_stored
from tests.operations.erasure_scenario import U1, U10, ErasureWorld


async def test_all_pages_are_read(monkeypatch):
    world = ErasureWorld()
    for scope in (U1, U10):
        await world.live(scope)
    whole = await list_stored(U1, storage=world.services.user_storage)
    assert len(whole) == sum(world.stored(U1).values())
    monkeypatch.setattr(module, "PAGE", 3)
    assert await list_stored(U1, storage=world.services.user_storage) == whole
