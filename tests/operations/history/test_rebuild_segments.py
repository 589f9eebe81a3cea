"""Rebuilding from segments: how often the storage is read, and what contradicts itself between segments."""

from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.documents.audit_segments import MAX_RECORDS
from memnet.operations.history.verify_history import rebuild_documents
from memnet.stores.audit_log import STARTED, segment_name
from tests.memory_blobs import storage_of
from tests.operations.baseline_scenario import lay_segment, place, retain, split, stored_records
from tests.operations.rebuilt import rebuilt_histories
from tests.operations.service_scenario import ALPHA, SCOPE, Service
from tests.operations.storage_calls import StorageCalls
from tests.services import service_of
from tests.turns import counted_turns


async def fault(service: Service) -> str | None:
    [found] = await rebuilt_histories(SCOPE, documents=service.documents, audit=service.audit)
    fault: str | None = found.fault
    return fault


@pytest.fixture
async def filled(service: Service) -> Any:
    """Nine changes in three segments."""
    await service.count_up(9)
    for first in (4, 7):
        await split(service, ALPHA, first)  # type: ignore[arg-type]
    assert await fault(service) is None
    return service


async def name(service: Service, sequence: int) -> str:
    return (await service.head()).change_id(sequence)


async def test_5_000_changes_take_at_most_55_reads(service: Service) -> None:
    results = await service.count_up(2)
    for _ in range(24):
        service.clock.advance(timedelta(days=31))
        for _ in range(2):
            results.append(
                await service.patch(
                    {"op": "test", "path": "/content/facets", "value": {}},
                    {"op": "replace", "path": "/content/summary", "value": f"{len(results)}"},
                    over=results[-1].etag,
                )
            )
            await service.background.drain()
    calls = StorageCalls(service)
    found = await rebuild_documents(SCOPE, service_of(documents=service.documents, audit=service.audit))
    assert [(one.fault, one.changes) for one in found] == [(None, 50)]
    # 25 segments hold up to 25 * MAX_RECORDS changes.
    assert 25 * MAX_RECORDS > 5_000
    assert calls.count("list", "audit/") == 1
    assert calls.count("get", ".jsonl") == 25
    assert calls.total() <= 55


async def test_other_tasks_run_while_a_history_is_rebuilt(service: Service) -> None:
    await service.count_up(100)
    most, before, last = 0, 0, 0

    def begin(doc_id: Any, key: Any) -> Any:
        def visit(version: Any) -> None:
            nonlocal most, before, last
            before, most = (0, most) if turns.count != last else (before + 1, max(most, before + 1))
            last = turns.count

        return visit

    async with counted_turns() as turns:
        await rebuild_documents(SCOPE, service_of(documents=service.documents, audit=service.audit), begin=begin)
    assert 0 < most <= 8


async def test_each_baseline_is_read_once(filled: Service) -> None:
    calls = StorageCalls(filled)
    assert await fault(filled) is None
    assert calls.count("get", "/000000000004.json") == calls.count("get", "/000000000007.json") == 1
    await retain(filled, ALPHA, 3)  # type: ignore[arg-type]
    calls.clear()
    assert await fault(filled) is None
    assert calls.count("get", "/000000000004.json") == calls.count("get", "/000000000007.json") == 1


@pytest.mark.parametrize("first", [1, 4, 7])
async def test_a_segment_that_names_another_time_is_named(filled: Service, first: int) -> None:
    storage, blob = storage_of(filled.audit), segment_name(SCOPE, (await filled.head()).doc_id, first)
    for started in ("2020-01-01T00:00:00.000000Z", "", "9999"):
        storage.overwrite(blob, storage.data(blob), metadata={STARTED: started})
        assert await fault(filled) == f"{await name(filled, first)}: its segment names another time than the record"


@pytest.mark.parametrize(("first", "number"), [(1, 1), (1, 2), (1, 3), (4, 5), (4, 6), (7, 8)])
async def test_a_line_that_was_taken_away_is_missing(filled: Service, first: int, number: int) -> None:
    """Also the last of a segment, before the next one begins."""
    current = await filled.head()
    records = await stored_records(filled.audit, ALPHA, current)
    kept = [records[one] for one in range(first, first + 3) if one != number]
    lay_segment(filled.audit, ALPHA, current.doc_id, first, kept)
    found = await fault(filled)
    assert found is not None
    assert found.startswith(f"{await name(filled, number)}: ")


@pytest.mark.parametrize("first", [1, 4, 7])
async def test_a_missing_segment_is_named(filled: Service, first: int) -> None:
    await filled.audit.delete(SCOPE, (await filled.head()).doc_id, first)
    found = await fault(filled)
    if first == 1:
        # Nothing in the storage shows that retention did not remove it: checkpoints do.
        assert found is None
    else:
        assert found == f"{await name(filled, first)}: the record is missing, another's or out of order"


@pytest.mark.parametrize("line", [b"", b"{}", b"nonsense", b"[]"])
async def test_a_line_that_the_service_did_not_write_is_named(filled: Service, line: bytes) -> None:
    filled.audit.tamper(SCOPE, await name(filled, 5), line)
    found = await fault(filled)
    assert found is not None
    assert found.startswith(f"{await name(filled, 5)}: ")


async def test_a_record_may_be_in_two_segments_if_both_are_equal(filled: Service) -> None:
    """As after a retention run that was interrupted."""
    current = await filled.head()
    records = await stored_records(filled.audit, ALPHA, current)
    lay_segment(filled.audit, ALPHA, current.doc_id, 4, [records[number] for number in range(4, 10)])
    assert await fault(filled) is None
    altered = {**records[8], "actor": "svc-mallory"}
    lay_segment(filled.audit, ALPHA, current.doc_id, 4, [records[4], records[5], records[6], records[7], altered])
    found = await fault(filled)
    assert found == f"{await name(filled, 8)}: the record in audit/ differs from the one in the segment before it"


async def test_a_segment_of_its_own_that_an_interrupted_run_left_is_no_fault(filled: Service) -> None:
    """The newest record has a segment, and the document still appends to the one before."""
    current = await filled.head()
    records = await stored_records(filled.audit, ALPHA, current)
    lay_segment(filled.audit, ALPHA, current.doc_id, 9, [records[9]])
    filled.clock.advance(timedelta(days=31))
    await filled.patch({"op": "replace", "path": "/content/summary", "value": "ten"}, over=current.commit.etag)
    await filled.background.drain()
    assert await fault(filled) is None


async def test_a_document_that_names_another_place_for_its_outbox_is_named(filled: Service) -> None:
    current = await filled.head()
    records = await stored_records(filled.audit, ALPHA, current)
    for firsts in ([1, 4, 8], [1, 4], [1, 4, 9]):
        await place(filled, ALPHA, current, firsts, {**records, 8: {}})  # type: ignore[arg-type]
        found = await fault(filled)
        if firsts == [1, 4, 9]:
            assert found is None  # The next append creates that segment.
        else:
            assert found == f"{await name(filled, 9)}: the document names another place in audit/ for it"
