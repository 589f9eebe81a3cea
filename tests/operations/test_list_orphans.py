"""The records that no document has: all of them, once, in one order, opened as far as they open."""

import pytest

from memnet.domain.audit_values import CLEAR
from memnet.domain.data_keys import data_keys_key
from memnet.domain.document import DocumentKey
from memnet.domain.errors import HistoryBroken, VaultUnavailable
from memnet.operations.list_orphans import list_orphans
from memnet.stores import ErasureStore
from tests.memory_blobs import storage_of
from tests.operations.service import ALPHA, SCOPE, Service

BETA = DocumentKey(SCOPE, "projects", "beta.json")


@pytest.fixture
async def left(service) -> Service:
    """Alpha with four changes and beta with three, whose documents are gone; gamma with one, which is there."""
    await service.count_up(4)
    await service.count_up(3, BETA)
    await service.count_up(1, DocumentKey(SCOPE, "projects", "gamma.json"))
    for key in (ALPHA, BETA):
        storage_of(service.documents).drop(key.blob_name)
    return service


async def page_of(service: Service, after: str = "", limit: int = 100):
    return await list_orphans(SCOPE, after=after, limit=limit, documents=service.documents, audit=service.audit)


async def told(service: Service, limit: int = 100) -> list[tuple[str, int]]:
    rows, after = [], ""
    while True:
        page = await page_of(service, after, limit)
        assert len(page.items) <= limit
        rows += [(record["path"], record["sequence"]) for record in page.items]
        if page.next_cursor is None:
            return rows
        after = page.next_cursor


ALL = [("alpha.json", n) for n in range(1, 5)] + [("beta.json", n) for n in range(1, 4)]


@pytest.mark.parametrize("limit", [*range(1, 9), 100])
async def test_pages_lose_and_repeat_nothing(left, limit):
    assert await told(left, limit) == ALL


async def test_somebody_else_s_blob_is_no_record(left):
    storage_of(left.audit).overwrite(f"{SCOPE.prefix}audit/old/x-000000000001.json", b"{}")
    assert await told(left) == ALL


async def test_nothing_is_left_of_whole_histories(service):
    await service.count_up(2)
    assert await told(service) == []


async def test_values_are_opened(left):
    (record, *_) = (await page_of(left)).items
    assert record["ops"][-1]["value"] == "note 0"


async def test_of_what_does_not_open_there_is_what_stands_in_clear(left):
    left.vault.cache.forget(SCOPE)
    await left.key_records.delete(data_keys_key(SCOPE))
    assert await told(left) == ALL
    assert all(record.keys() == CLEAR for record in (await page_of(left)).items)


async def test_without_the_vault_nothing_is_told(left):
    left.audit.vault = None
    with pytest.raises(VaultUnavailable):
        await page_of(left)


async def test_another_record_than_was_written_is_told(left):
    changes = (await left.audit.list(SCOPE, "", limit=9, cursor=None)).items
    left.audit.tamper(SCOPE, changes[1], b"[]")
    with pytest.raises(HistoryBroken) as refusal:
        await page_of(left)
    assert refusal.value.details == {"change_id": changes[1]}


async def test_what_is_removed_meanwhile_is_left_out_and_the_pages_go_on(left):
    changes = (await left.audit.list(SCOPE, "", limit=9, cursor=None)).items
    read = left.audit.read

    async def meanwhile(scope, change):
        if change == changes[1]:
            await left.audit.delete(scope, change)
        return await read(scope, change)

    left.audit.read = meanwhile
    assert await told(left, 2) == [ALL[0], *ALL[2:]]


async def test_there_are_none_of_a_user_who_is_being_erased(left):
    fences = ErasureStore(left.documents._blobs)
    assert await told(left) == ALL
    read = left.audit.read

    async def erase(scope, change):
        left.audit.read = read
        await fences.write(SCOPE, b"{}", replaces=None)
        return await read(scope, change)

    left.audit.read = erase
    assert await told(left) == []
