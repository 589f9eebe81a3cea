"""Flush committed records, and sweep what crashed processes left: records, segments and baselines."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents import audit_segments, envelope
from memnet.operations.documents.outbox import SweepReport, flush_outbox, sweep_user
from memnet.stores import Blobs, ErasureStore, read_records
from memnet.stores.audit_log import baseline_name, segment_name
from tests.domain.rebuilding import rebuild
from tests.memory_blobs import storage_of
from tests.operations.service_scenario import ALPHA, SCOPE, CountingAudit, CountingDocuments, Service, note
from tests.services import service_of

BETA = DocumentKey(SCOPE, "projects", "beta.json")


async def left_behind(service: Service, count: int, key: DocumentKey = ALPHA) -> Any:
    """Write `count` changes whose records are not flushed."""
    service.audit.down = True
    result = await service.patch(note("note 0"), key=key)
    for number in range(1, count):
        result = await service.patch(note(f"note {number}"), over=result.etag, key=key)
    await service.background.drain()
    service.audit.down = False
    return result


async def sweep(service: Service) -> SweepReport:
    return await sweep_user(SCOPE, service_of(**service.ports()))


async def check_history(service: Service, changes: int, key: DocumentKey = ALPHA) -> None:
    """Check the chain of the records that are stored, each once and in order."""
    head = await service.head(key)
    assert head.commit.sequence == changes
    lines = b"".join(
        storage_of(service.audit).data(name) for name in names_of(service, ".jsonl") if head.doc_id in name
    )
    assert lines.count(b"\n") == changes
    records = await read_records(SCOPE, head, 1, changes, audit=service.audit)
    assert rebuild(head.doc_id, key, records, head).fault is None


def names_of(service: Service, ending: str) -> list[str]:
    return [name for name in storage_of(service.audit).names(f"{SCOPE.prefix}audit/") if name.endswith(ending)]


@pytest.fixture
async def steady() -> AsyncIterator[Service]:
    """A service that, as in production, relies on its last check of the tenant for a while."""
    clock = FrozenClock()
    made = Service(documents=CountingDocuments(Blobs(MemoryBlobStorage(clock), clock)))
    yield made
    await made.background.drain()


def count_calls(service: Service, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls to the storage from now on."""
    storage, calls = storage_of(service.audit), Counter[str]()

    def counted(name: str, call: Any) -> Any:
        async def counting(*arguments: Any, **members: Any) -> Any:
            calls[name] += 1
            return await call(*arguments, **members)

        return counting

    for name in ("get", "put", "create_log", "append", "delete", "list"):
        monkeypatch.setattr(storage, name, counted(name, getattr(storage, name)))
    return calls


# The storage calls of a change.


async def test_a_change_is_two_calls(steady: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = await steady.count_up(3)
    calls = count_calls(steady, monkeypatch)
    await steady.patch(note("after a pause"), over=results[-1].etag)
    await steady.background.drain()
    assert calls == {"put": 1, "append": 1}


async def test_a_loop_of_changes_needs_two_calls_each(steady: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, etag = count_calls(steady, monkeypatch), None
    for number in range(200):
        etag = (await steady.patch(note(f"note {number}"), over=etag)).etag
    await steady.background.drain()
    assert calls.total() <= 2.2 * 200, calls
    assert calls["append"] <= 200
    assert steady.audit.flushed(SCOPE, await steady.head()) == 200


async def test_a_loop_waits_for_a_slow_log_and_appends_together(steady: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    storage, etag, sizes = storage_of(steady.audit), None, []
    append = storage.append

    async def slow(name: str, data: bytes, **members: Any) -> bool:
        for _ in range(60):
            await asyncio.sleep(0)
        sizes.append(data.count(b"\n"))
        return await append(name, data, **members)

    monkeypatch.setattr(storage, "append", slow)
    calls = count_calls(steady, monkeypatch)
    for number in range(100):
        etag = (await steady.patch(note(f"note {number}"), over=etag)).etag
    await steady.background.drain()
    assert (sum(sizes), calls["create_log"]) == (100, 1)
    assert calls["append"] == len(sizes) < 50
    assert calls.total() <= 2.2 * 100
    await check_history(steady, 100)


async def test_two_processes_that_take_turns_need_two_calls_and_a_read(
    steady: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Service(documents=CountingDocuments(steady.documents._blobs))
    other.vault = other.audit.vault = steady.vault
    results = await steady.count_up(4)
    etag = results[-1].etag
    calls = count_calls(steady, monkeypatch)
    for number in range(6):
        writer = (other, steady)[number % 2]
        calls.clear()
        etag = (await writer.patch(note(f"turn {number}"), over=etag, idempotency_key=f"turn-{number}")).etag
        await writer.background.drain()
        assert calls == {"get": 1, "put": 1, "append": 1}
    await check_history(steady, 10)


# A sweep.


async def test_a_flush_is_idempotent(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await left_behind(service, 3)
    head, ports = await service.head(), service_of(**service.ports())
    await asyncio.gather(*(flush_outbox(ALPHA, head, ports) for _ in range(8)))
    calls = count_calls(service, monkeypatch)
    await flush_outbox(ALPHA, head, ports)
    assert not calls
    assert len(storage_of(service.audit).data(segment_name(SCOPE, head.doc_id, 1)).splitlines()) == 3


async def test_the_records_of_a_user_are_flushed(service: Any) -> None:
    await left_behind(service, 3)
    await left_behind(service, 2, BETA)
    before = {name: storage_of(service.documents).data(name) for name in storage_of(service.documents).names()}
    assert await sweep(service) == SweepReport(listed=2, swept=2)
    assert len(names_of(service, ".jsonl")) == 2
    assert {name: storage_of(service.documents).data(name) for name in before} == before
    await check_history(service, 3)
    await check_history(service, 2, BETA)


async def test_a_sweep_writes_nothing_if_all_is_stored(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await service.count_up(3)
    service.audit._flushed.clear()
    calls = count_calls(service, monkeypatch)
    assert await sweep(service) == SweepReport(listed=1, swept=1)
    assert calls == {"get": 2, "list": 2}


async def test_a_sweep_and_writers_may_run_at_the_same_time(service: Any) -> None:
    result = await left_behind(service, 3)
    another = service_of(documents=service.documents, audit=CountingAudit(service.documents._blobs))
    patches, sweeps = service.patch(note("since"), over=result.etag), [sweep_user(SCOPE, another) for _ in range(3)]
    await asyncio.gather(patches, sweep(service), *sweeps)
    await service.background.drain()
    await check_history(service, 4)
    again = await service.patch(note("note 0"), idempotency_key="key-1")
    assert (again.replayed, again.sequence) == (True, 1)


async def test_a_sweep_stores_the_baselines_that_crashed_writers_left(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    await left_behind(service, 11)
    assert names_of(service, ".json") == []
    assert await sweep(service) == SweepReport(listed=1, swept=1, baselines=2)
    first, second = names_of(service, ".json")
    assert await sweep(service) == SweepReport(listed=1, swept=1)
    storage_of(service.audit).drop(second)
    assert (await sweep(service)).baselines == 1
    storage_of(service.audit).drop(first)
    assert (await sweep(service)).baselines == 1
    assert names_of(service, ".json") == [first, second]


async def test_a_sweep_stores_the_baseline_of_a_segment_that_it_creates(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    results = await service.count_up(3)
    service.audit.down = True
    for number in range(3):
        results.append(await service.patch(note(f"left {number}"), over=results[-1].etag))
    await service.background.drain()
    service.audit.down = False
    assert await sweep(service) == SweepReport(listed=1, swept=1, baselines=1)


async def test_a_flush_that_begins_a_segment_stores_its_baseline(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    await service.count_up(4)
    assert names_of(service, ".json") == []
    await service.patch(note("fifth"), over=(await service.head()).commit.etag)
    await service.background.drain()
    assert [name[-17:] for name in names_of(service, ".json")] == ["000000000005.json"]


async def test_the_baselines_of_later_segments_are_left_to_those_who_begin_them(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    await service.count_up(5)
    head = await service.head()
    await service.patch(note("sixth"), over=head.commit.etag, idempotency_key="sixth")
    for number in range(7, 10):
        over = (await service.head()).commit.etag
        await service.patch(note(f"{number}"), over=over, idempotency_key=f"{number}")
    await service.background.drain()
    storage_of(service.audit).drop(baseline_name(SCOPE, head.doc_id, 9))
    await flush_outbox(ALPHA, head, service_of(**service.ports()))
    assert len(names_of(service, ".json")) == 1


async def test_while_the_log_is_down_nothing_is_swept(service: Any) -> None:
    await left_behind(service, 3)
    service.audit.down = True
    assert await sweep(service) == SweepReport(listed=1, postponed=1)
    assert len((await service.head()).commit.outbox) == 3
    service.audit.down = False
    assert (await sweep(service)).swept == 1


async def test_a_document_that_is_being_erased_is_postponed(service: Any) -> None:
    await left_behind(service, 3)
    await ErasureStore(service.documents._blobs).write(SCOPE, b"{}", replaces=None)
    assert await sweep(service) == SweepReport(listed=1, postponed=1)
    assert names_of(service, ".jsonl") == []
    stored, head = await service.documents.get(ALPHA), await service.head()
    tombstone = envelope.tombstone(head)
    summary = envelope.summarise(tombstone)
    await service.documents.put(
        ALPHA, envelope.dump(tombstone), summary, replaces=stored.storage_etag, known_at=service.clock.now()
    )
    assert await sweep(service) == SweepReport(listed=1)


async def test_a_record_stored_with_other_bytes_is_reported_by_a_sweep(
    service: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await service.count_up(2)
    await left_behind(service, 2, BETA)
    service.audit.tamper(SCOPE, (await service.head()).change_id(2), b"{}")
    assert await sweep(service) == SweepReport(listed=2, swept=1, broken=1)
    assert "history_verification_failed" in caplog.text
    assert "note 1" not in caplog.text


async def test_records_that_retention_removed_meanwhile_postpone_the_document(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version that the sweep read is no longer current, so its segment may be missing."""
    await service.count_up(2)
    service.audit._flushed.clear()
    flush = CountingAudit.flush

    async def overtaken(audit: Any, scope: Any, current: Any, *, read_first: bool = False) -> None:
        monkeypatch.undo()
        await service.patch(note("since"), over=current.commit.etag)
        await service.background.drain()
        storage_of(service.audit).drop(segment_name(SCOPE, current.doc_id, 1))
        await flush(audit, scope, current, read_first=read_first)

    monkeypatch.setattr(CountingAudit, "flush", overtaken)
    service.audit._flushed.clear()
    assert await sweep(service) == SweepReport(listed=1, postponed=1)


async def test_a_damaged_document_does_not_stop_the_sweep(service: Any) -> None:
    await left_behind(service, 2)
    await left_behind(service, 2, BETA)
    stored = await service.documents.get(ALPHA)
    summary = envelope.summarise(await service.head())
    await service.documents.put(ALPHA, b"damaged", summary, replaces=stored.storage_etag, known_at=service.clock.now())
    assert await sweep(service) == SweepReport(listed=2, swept=1, broken=1)
