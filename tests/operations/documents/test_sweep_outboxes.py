"""The sweeper: what crashed processes left is flushed and trimmed, beside any number of writers."""

import asyncio
from datetime import timedelta

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.operations.documents.sweep_outboxes import SweepReport, sweep_outboxes
from memnet.operations.history.rebuild_documents import rebuild_documents
from tests.operations.service_scenario import ALPHA, SCOPE, CountingDocuments, Service, note
from tests.services import arguments, service_of

BETA = DocumentKey(UserScope("t2", "u9"), "projects", "beta.json")


async def left_behind(service: Service, count: int, key: DocumentKey = ALPHA):
    """So many changes of a process that never came to flush them."""
    service.audit.down = True
    result = await service.patch(note("note 0"), key=key)
    for number in range(1, count):
        result = await service.patch(note(f"note {number}"), over=result.etag, key=key)
    await service.background.drain()
    service.audit.down = False
    return result


async def sweep(service: Service, **members) -> SweepReport:
    return await sweep_outboxes(
        **arguments(documents=service.documents, audit=service.audit, clock=service.clock, **members)
    )


async def test_everybody_s_records_are_flushed_and_trimmed(service):
    results = [await left_behind(service, 3), await left_behind(service, 2, BETA)]
    service.clock.advance(timedelta(minutes=5))
    assert await sweep(service) == SweepReport(listed=2, trimmed=2)
    for key, result in zip([ALPHA, BETA], results, strict=True):
        head = await service.head(key)
        assert (head.commit.outbox, head.commit.etag, head.commit.sequence) == ((), result.etag, result.sequence)
        [history] = await rebuild_documents(key.scope, service_of(documents=service.documents, audit=service.audit))
        assert (history.fault, history.changes) == (None, result.sequence)


async def test_a_swept_document_is_not_swept_again(service):
    await left_behind(service, 3)
    service.clock.advance(timedelta(minutes=5))
    await sweep(service)
    service.documents.calls.clear()
    assert await sweep(service) == SweepReport(listed=1)
    assert service.documents.calls == {}


async def test_no_client_notices(service):
    result = await left_behind(service, 3)
    before = await service.read()
    remembered = service.documents.recall(ALPHA)
    service.clock.advance(timedelta(minutes=5))
    await sweep(service)
    assert await service.read() == before
    # A process that still remembers the version before the trimming writes over it all the same.
    service.documents._cache.remember(ALPHA, remembered)
    after = await service.patch(note("since"), over=result.etag)
    assert (after.sequence, after.replayed) == (4, False)
    again = await service.patch(note("note 0"), idempotency_key="key-1")
    assert (again.replayed, again.sequence) == (True, 1)
    await service.background.drain()
    [history] = await rebuild_documents(SCOPE, service_of(documents=service.documents, audit=service.audit))
    assert (history.fault, history.changes) == (None, 4)


@pytest.mark.parametrize(("age", "trimmed"), [(0, 0), (59, 0), (60, 1), (61, 1)])
async def test_what_was_just_written_is_left_to_its_writer(service, age, trimmed):
    await left_behind(service, 1)
    service.clock.advance(timedelta(seconds=age))
    assert (await sweep(service)).trimmed == trimmed
    assert (await sweep(service, quiet=timedelta(0))).trimmed == 1 - trimmed


async def test_deleted_documents_are_swept_too(service):
    result = await left_behind(service, 2)
    service.audit.down = True
    await service.delete(result.etag)
    await service.background.drain()
    service.audit.down = False
    service.clock.advance(timedelta(minutes=5))
    assert (await sweep(service)).trimmed == 1
    assert (await service.head()).deleted


async def test_while_the_audit_is_down_nothing_is_trimmed(service):
    await left_behind(service, 3)
    service.clock.advance(timedelta(minutes=5))
    service.audit.down = True
    assert await sweep(service) == SweepReport(listed=1, postponed=1)
    assert len((await service.head()).commit.outbox) == 3
    service.audit.down = False
    assert (await sweep(service)).trimmed == 1


async def test_a_writer_who_is_faster_wins(service):
    result = await left_behind(service, 3)
    service.clock.advance(timedelta(minutes=5))
    outcomes = await asyncio.gather(
        sweep(service), *(service.patch(note(f"rival {n}"), over=result.etag) for n in range(3)), return_exceptions=True
    )
    assert outcomes[0].trimmed + outcomes[0].postponed == 1
    assert sum(not isinstance(outcome, Exception) for outcome in outcomes[1:]) == 1
    await service.background.drain()
    [history] = await rebuild_documents(SCOPE, service_of(documents=service.documents, audit=service.audit))
    assert (history.fault, history.changes) == (None, 4)


async def test_sweepers_beside_each_other_and_writers_lose_nothing(service):
    etag = None
    for number in range(20):
        sweeps = [sweep(service, quiet=timedelta(0)) for _ in range(3)]
        result, *reports = await asyncio.gather(service.patch(note(f"note {number}"), over=etag), *sweeps)
        etag = result.etag
        assert all(report.broken == 0 for report in reports)
    await service.background.drain()
    [history] = await rebuild_documents(SCOPE, service_of(documents=service.documents, audit=service.audit))
    assert (history.fault, history.changes) == (None, 20)


async def test_a_record_that_stands_with_other_bytes_is_told_and_left(service, caplog):
    result = await left_behind(service, 2)
    await left_behind(service, 2, BETA)
    service.audit.tamper(SCOPE, result.change_id, b"{}")
    service.audit.stands = lambda scope, change_id: False
    service.clock.advance(timedelta(minutes=5))
    assert await sweep(service) == SweepReport(listed=2, trimmed=1, broken=1)
    assert len((await service.head()).commit.outbox) == 2
    assert "not what was written" in caplog.text
    assert "note 1" not in caplog.text


async def test_one_damaged_document_does_not_keep_the_others_from_being_swept(service):
    await left_behind(service, 2)
    await left_behind(service, 2, BETA)
    stored = await service.documents.get(ALPHA)
    summary = envelope.summarise(await service.head())
    await service.documents.put(ALPHA, b"damaged", summary, replaces=stored.storage_etag)
    service.clock.advance(timedelta(minutes=5))
    assert await sweep(service) == SweepReport(listed=2, trimmed=1, broken=1)


async def test_a_listing_that_fails_is_unavailable():
    class Down(CountingDocuments):
        async def list_all(self, *, limit, cursor):
            raise Unavailable(dependency="documents")

    with pytest.raises(Unavailable):
        await sweep(Service(documents=Down()))


async def test_many_documents_over_several_pages(service, monkeypatch):
    for number in range(7):
        await left_behind(service, 1, DocumentKey(SCOPE, "projects", f"p{number}.json"))
    service.clock.advance(timedelta(minutes=5))
    monkeypatch.setitem(sweep_outboxes.__globals__, "PAGE", 2)
    assert await sweep(service) == SweepReport(listed=7, trimmed=7)
