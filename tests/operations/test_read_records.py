"""Records in the order they happened, from the document and from the audit."""

import asyncio

import pytest

from memnet.domain.errors import HistoryBroken, Unavailable
from memnet.operations.read_records import read_records
from memnet.operations.read_stored_records import PARALLEL
from tests.operations.service import SCOPE, CountingAudit, Service, note


async def records_of(service, first, last):
    return await read_records(SCOPE, await service.head(), first, last, audit=service.audit)


async def test_a_range_in_order(service):
    await service.count_up(20)
    for first, last in [(1, 20), (1, 1), (20, 20), (5, 9)]:
        sequences = [record["sequence"] for record in await records_of(service, first, last)]
        assert sequences == list(range(first, last + 1))
    assert await records_of(service, 5, 4) == []


async def test_what_the_document_still_carries_is_not_asked_for(service):
    await service.count_up(3)
    service.audit.calls.clear()
    assert len(await records_of(service, 1, 3)) == 3
    assert service.audit.calls == {"read": 2}


async def test_reads_go_side_by_side_but_not_all_at_once():
    class Watched(CountingAudit):
        now = most = 0

        async def read(self, scope, change_id):
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0)
            try:
                return await super().read(scope, change_id)
            finally:
                self.now -= 1

    service = Service(audit=Watched())
    await service.count_up(50)
    await records_of(service, 1, 50)
    assert service.audit.most == PARALLEL


@pytest.mark.parametrize("damage", [None, b"", b"{", b"\xff\xff", b"[]", b'{"a": 1}', b'{"b":1,"a":2}'])
async def test_what_is_missing_or_not_ours_is_named(service, damage):
    results = await service.count_up(4)
    service.audit.tamper(SCOPE, results[1].change_id, damage)
    with pytest.raises(HistoryBroken) as refusal:
        await records_of(service, 1, 4)
    assert refusal.value.details == {"change_id": results[1].change_id}
    assert len(await records_of(service, 3, 4)) == 2


async def test_beyond_the_end_there_is_nothing(service):
    [first] = await service.count_up(1)
    await service.patch(note("x"), over=first.etag)
    with pytest.raises(HistoryBroken):
        await records_of(service, 1, 3)


async def test_an_audit_that_does_not_answer_is_unavailable(service):
    await service.count_up(3)
    service.audit.down = True
    with pytest.raises(Unavailable):
        await records_of(service, 1, 3)
