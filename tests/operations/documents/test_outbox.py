"""Flush committed records, and sweep the outboxes that crashed processes left."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.operations.documents.outbox import SweepReport, flush_outbox, sweep_outboxes
from memnet.operations.history.verify_history import rebuild_documents
from tests.operations.service_scenario import ALPHA, SCOPE, Service, note
from tests.services import arguments, service_of

BETA = DocumentKey(UserScope("t2", "u9"), "projects", "beta.json")


async def left_behind(service: Service, count: int, key: DocumentKey = ALPHA) -> Any:
    """Write `count` changes whose records are not flushed."""
    service.audit.down = True
    result = await service.patch(note("note 0"), key=key)
    for number in range(1, count):
        result = await service.patch(note(f"note {number}"), over=result.etag, key=key)
    await service.background.drain()
    service.audit.down = False
    return result


async def test_a_flush_is_idempotent(service: Any) -> None:
    await left_behind(service, 3)
    records = (await service.head()).commit.outbox
    await asyncio.gather(*(flush_outbox(SCOPE, records, audit=service.audit) for _ in range(8)))
    service.audit.calls.clear()
    await flush_outbox(SCOPE, records, audit=service.audit)
    assert service.audit.calls == {}
    page = await service.audit.list(SCOPE, "", limit=10, cursor=None)
    assert len(page.items) == 3


async def sweep(service: Service, **members: Any) -> SweepReport:
    return await sweep_outboxes(
        **arguments(documents=service.documents, audit=service.audit, clock=service.clock, **members)
    )


async def test_the_records_of_all_users_are_flushed_and_trimmed(service: Any) -> None:
    results = [await left_behind(service, 3), await left_behind(service, 2, BETA)]
    service.clock.advance(timedelta(minutes=5))
    assert await sweep(service) == SweepReport(listed=2, trimmed=2)
    for key, result in zip([ALPHA, BETA], results, strict=True):
        head = await service.head(key)
        assert (head.commit.outbox, head.commit.etag, head.commit.sequence) == ((), result.etag, result.sequence)
        [history] = await rebuild_documents(key.scope, service_of(documents=service.documents, audit=service.audit))
        assert (history.fault, history.changes) == (None, result.sequence)


async def test_a_sweep_changes_nothing_that_clients_see(service: Any) -> None:
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
async def test_a_recent_document_is_left_to_its_writer(service: Any, age: Any, trimmed: Any) -> None:
    await left_behind(service, 1)
    service.clock.advance(timedelta(seconds=age))
    assert (await sweep(service)).trimmed == trimmed
    assert (await sweep(service, quiet=timedelta(0))).trimmed == 1 - trimmed


async def test_while_the_audit_is_down_nothing_is_trimmed(service: Any) -> None:
    await left_behind(service, 3)
    service.clock.advance(timedelta(minutes=5))
    service.audit.down = True
    assert await sweep(service) == SweepReport(listed=1, postponed=1)
    assert len((await service.head()).commit.outbox) == 3
    service.audit.down = False
    assert (await sweep(service)).trimmed == 1


async def test_a_record_stored_with_other_bytes_is_reported_by_a_sweep(
    service: Any, caplog: pytest.LogCaptureFixture
) -> None:
    result = await left_behind(service, 2)
    await left_behind(service, 2, BETA)
    service.audit.tamper(SCOPE, result.change_id, b"{}")
    service.audit.is_flushed = lambda scope, change_id: False
    service.clock.advance(timedelta(minutes=5))
    assert await sweep(service) == SweepReport(listed=2, trimmed=1, broken=1)
    assert len((await service.head()).commit.outbox) == 2
    assert "not what was written" in caplog.text
    assert "note 1" not in caplog.text


async def test_a_damaged_document_does_not_stop_the_sweep(service: Any) -> None:
    await left_behind(service, 2)
    await left_behind(service, 2, BETA)
    stored = await service.documents.get(ALPHA)
    summary = envelope.summarise(await service.head())
    await service.documents.put(ALPHA, b"damaged", summary, replaces=stored.storage_etag)
    service.clock.advance(timedelta(minutes=5))
    assert await sweep(service) == SweepReport(listed=2, trimmed=1, broken=1)
