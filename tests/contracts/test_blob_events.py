"""What BlobEventStore makes of a container that holds other things, too."""

from memnet.adapters.azure.blob_container import BlobContainer
from memnet.adapters.azure.blob_events import BlobEventStore

from memnet.domain.document import UserScope
from memnet.domain.event import EventKey
from tests.contracts.conftest import Place

KEY = EventKey(UserScope("t1", "u1"), "e1")
FOREIGN = (
    "tenants/t1/users/u1/documents/events/e2.json",
    "tenants/t1/users/u1/events/e3",
    "tenants/t1/users/u1/events/deeper/e4.json",
    "tenants/t1/users/u1/events/.json",
    "tenants/t1/users/-/events/e5.json",
    "repairs/events/t1/u1/e6",
    "repairs/events/t1/u1/-/m",
)


async def test_only_events_and_marks_are_listed(container: BlobContainer, place: Place) -> None:
    events = BlobEventStore(container)
    await events.create(KEY, b"{}")
    await events.mark(KEY, "m")
    for name in FOREIGN:
        await place.client.upload_blob(name, b"{}")
    assert list((await events.list(None, limit=100, cursor=None)).items) == [KEY]
    assert [mark.key for mark in (await events.list_marked(limit=100, cursor=None)).items] == [KEY]


async def test_the_layout_is_the_specifications(container: BlobContainer, place: Place) -> None:
    events = BlobEventStore(container)
    await events.create(KEY, b"{}")
    await events.mark(KEY, "m")
    names = [name async for name in place.client.list_blob_names()]
    assert names == ["repairs/events/t1/u1/e1/m", "tenants/t1/users/u1/events/e1.json"]
