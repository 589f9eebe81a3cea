"""Committed records find their place in the audit, however often and by whomever."""

import asyncio

import pytest

from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.documents.audit_record import record_bytes
from memnet.operations.documents.flush_outbox import flush_outbox
from tests.operations.service_scenario import SCOPE, CountingAudit, note


async def unflushed(service, count):
    service.audit.down = True
    etag = None
    for number in range(count):
        etag = (await service.patch(note(f"note {number}"), over=etag)).etag
        await service.background.drain()
    service.audit.down = False
    service.audit.calls.clear()
    return (await service.head()).commit.outbox


async def test_every_record_stands_with_its_canonical_bytes(service):
    records = await unflushed(service, 3)
    await flush_outbox(SCOPE, records, audit=service.audit)
    for record in records:
        assert await service.audit.read(SCOPE, record["change_id"]) == record_bytes(record)


async def test_again_and_at_once_is_the_same(service):
    records = await unflushed(service, 3)
    await asyncio.gather(*(flush_outbox(SCOPE, records, audit=service.audit) for _ in range(8)))
    service.audit.calls.clear()
    await flush_outbox(SCOPE, records, audit=service.audit)
    assert service.audit.calls == {}
    page = await service.audit.list(SCOPE, "", limit=10, cursor=None)
    assert len(page.items) == 3


async def test_what_was_flushed_before_a_failure_stays(service):
    records = await unflushed(service, 3)
    await flush_outbox(SCOPE, records[:1], audit=service.audit)
    service.audit.down = True
    with pytest.raises(Unavailable):
        await flush_outbox(SCOPE, records, audit=service.audit)
    assert service.audit.calls["append"] == 2
    service.audit.down = False
    await flush_outbox(SCOPE, records, audit=service.audit)


async def test_another_process_that_does_not_know_finds_the_same_bytes(service):
    records = await unflushed(service, 2)

    class Forgetful(CountingAudit):
        def stands(self, scope, change_id):
            return False

    audit = Forgetful()
    for _ in range(2):
        await flush_outbox(SCOPE, records, audit=audit)
    assert audit.calls == {"append": 4}


async def test_other_bytes_in_its_place_are_told(service):
    records = await unflushed(service, 2)
    audit = CountingAudit()
    audit.stands = lambda scope, change_id: False
    audit.tamper(SCOPE, records[1]["change_id"], b"{}")
    with pytest.raises(HistoryCorrupt) as refusal:
        await flush_outbox(SCOPE, records, audit=audit)
    assert refusal.value.details == {"change_id": records[1]["change_id"]}
    assert await audit.read(SCOPE, records[1]["change_id"]) == b"{}"


async def test_nothing_to_flush(service):
    await flush_outbox(SCOPE, (), audit=service.audit)
    assert service.audit.calls == {}
