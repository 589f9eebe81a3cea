"""Listing what waits in all of a user's documents."""

from memnet.domain.core.scope import UserScope
from memnet.operations.documents.list_pending import list_pending
from tests.domain.samples import CATALOG
from tests.operations.documents.test_confirm_pending import proposed
from tests.operations.service_scenario import DYNAMIC, SCOPE, Service
from tests.services import service_of


async def found(service: Service, scope: UserScope = SCOPE, limit: int = 1) -> list[tuple[str, str, str]]:
    rows, cursor = [], None
    while True:
        page = await list_pending(
            scope, service_of(documents=service.documents, catalog=CATALOG), limit=limit, cursor=cursor
        )
        rows += [(listed.key.path, listed.waiting.pointer, listed.waiting.item["id"]) for listed in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return rows


async def test_page_by_page_it_finds_every_item_and_nothing_of_another_user():
    service = Service()
    pending_id = (await proposed(service)).pending_id
    await service.patch({"op": "add", "path": "/content/recent_notes/-", "value": "x"})
    expected = [("user_dynamic.json", "/content/pending_confirmations/0", pending_id)]
    assert await found(service) == await found(service, limit=1000) == expected
    assert await found(service, UserScope("t1", "u2")) == []
    await service.delete((await service.head(DYNAMIC)).commit.etag, key=DYNAMIC)
    assert await found(service) == []
    await service.background.drain()
