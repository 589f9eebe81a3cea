"""The audit records of a document, read segment after segment, sealed as stored and unsealed."""

from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import UserScope
from memnet.domain.documents import audit_segments
from memnet.domain.documents.audit_record import record_bytes, record_hash
from memnet.domain.documents.audit_values import CLEAR
from memnet.domain.documents.envelope import Position
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.sealing import rotate_keys
from memnet.stores import read_records
from memnet.stores.audit_records import SLICE, Unsealing, stream_stored_records
from tests.operations.service_scenario import SCOPE, Service, note
from tests.turns import counted_turns


async def stored_records(service: Any, first: int, last: int) -> Any:
    head = await service.head()
    return [record async for record in stream_stored_records(SCOPE, head, first, last, audit=service.audit)]


async def records_of(service: Any, first: int, last: int) -> Any:
    return await read_records(SCOPE, await service.head(), first, last, audit=service.audit)


# Records as they are stored: enough to follow the chain, with no key at all.


async def test_flushed_or_not_they_are_sealed_and_linked_without_a_key(service: Any) -> None:
    results = await service.count_up(3)
    service.audit.down = True
    await service.patch(note("in the document"), over=results[-1].etag)
    await service.background.drain()
    service.audit.down = False
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    found = await stored_records(service, 1, 4)
    head = await service.head()
    assert [record["change_id"] for record in found] == [head.change_id(number) for number in range(1, 5)]
    assert all(record.keys() == CLEAR | {"sealed"} for record in found)
    hashes = [record_hash(record) for record in found]
    assert [record["previous_record_hash"] for record in found][1:] == hashes[:-1]
    assert head.commit.record_hash == hashes[-1]


@pytest.mark.parametrize("data", [None, b"", b"{", b'{ "a":1}', b"[]"])
async def test_a_missing_or_damaged_record_is_named(service: Any, data: Any) -> None:
    results = await service.count_up(3)
    service.audit.tamper(SCOPE, results[0].change_id, data)
    with pytest.raises(HistoryCorrupt) as caught:
        await stored_records(service, 1, 3)
    assert caught.value.details["change_id"] == results[0].change_id
    assert len(await stored_records(service, 2, 3)) == 2


async def test_a_missing_segment_is_reported_with_its_first_change(service: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 3)
    results = await service.count_up(7)
    doc_id = (await service.head()).doc_id
    await service.audit.delete(SCOPE, doc_id, 4)
    with pytest.raises(HistoryCorrupt) as caught:
        await stored_records(service, 1, 7)
    assert caught.value.details["change_id"] == results[3].change_id
    await service.audit.delete(SCOPE, doc_id, 1)
    with pytest.raises(HistoryCorrupt) as caught:
        await stored_records(service, 2, 7)
    assert caught.value.details["change_id"] == results[1].change_id


# Records in the order they happened, from the segments and from the document.


async def test_a_range_in_order_over_segments_and_months(service: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    results = await service.count_up(6)
    for number in range(14):
        service.clock.advance(timedelta(days=9))
        results.append(await service.patch(note(f"later {number}"), over=results[-1].etag))
        await service.background.drain()
    history = await service.audit.history(SCOPE, (await service.head()).doc_id)
    assert len(history.segments) > 6
    for first, last in [(1, 20), (1, 1), (20, 20), (5, 9), (4, 17)]:
        sequences = [record["sequence"] for record in await records_of(service, first, last)]
        assert sequences == list(range(first, last + 1))
    assert await records_of(service, 5, 4) == []


async def test_a_segment_is_read_once_and_the_outbox_not_at_all(service: Any) -> None:
    await service.count_up(30)
    service.audit.calls.clear()
    assert len(await records_of(service, 1, 30)) == 30
    assert service.audit.calls == {"read": 1}
    service.audit.calls.clear()
    assert len(await records_of(service, 30, 30)) == 1
    assert service.audit.calls == {}


async def test_the_later_of_two_segments_with_a_record_is_read(service: Any) -> None:
    """Retention moves the newest record to a segment of its own, and may end before it deletes the old one."""
    await service.count_up(4)
    head = await service.head()
    newest = record_bytes(head.commit.outbox[-1]) + b"\n"
    position = Position(4, 0)
    await service.audit.append(SCOPE, head.doc_id, audit_segments.Batch(position, head.updated_at, 4, newest))
    await service.patch(note("after"), over=head.commit.etag)
    await service.background.drain()
    service.audit.tamper(SCOPE, head.change_id(4), newest[:-1])
    assert [record["sequence"] for record in await records_of(service, 1, 5)] == [1, 2, 3, 4, 5]


async def test_other_tasks_run_between_the_records(service: Any) -> None:
    await service.count_up(3 * SLICE)
    head, seen = await service.head(), []
    async with counted_turns() as turns:
        async for _ in stream_stored_records(SCOPE, head, 1, 3 * SLICE, audit=service.audit):
            seen.append(turns.count)
    assert turns.count > seen[0] + 1


async def test_records_of_the_newest_segment_need_no_listing(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await service.count_up(3)

    async def listed(*_: Any) -> Any:
        raise AssertionError("audit/ was listed")

    # The outbox holds the newest record alone, so that the others are read from the segment.
    await service.background.drain()
    await service.patch(note("last"), over=(await service.head()).commit.etag)
    monkeypatch.setattr(service.audit, "histories", listed)
    assert [record["sequence"] for record in await records_of(service, 1, 3)] == [1, 2, 3]


# Unsealing: each key once, and no record that was moved or altered.


async def unsealed(service: Any, records: Any, scope: UserScope = SCOPE) -> Any:
    unsealing = Unsealing(scope, service.vault)
    return [await unsealing.unseal(record) for record in records]


async def stored(service: Service, number: int = 4) -> Any:
    await service.count_up(number)
    return await stored_records(service, 1, number)


async def test_what_was_written_comes_back_in_order(service: Any) -> None:
    records = await stored(service)
    opened = await unsealed(service, records)
    assert [record["ops"][-1]["value"] for record in opened] == [f"note {number}" for number in range(4)]
    assert [record["change_id"] for record in opened] == [record["change_id"] for record in records]


async def test_the_keys_are_read_once_for_all_and_older_ones_open(service: Any) -> None:
    await service.count_up(2)
    await rotate_keys("t1", "u1", vault=service.vault)
    last = await service.head()
    await service.patch(note("after"), over=last.commit.etag)
    await service.background.drain()
    records = await stored_records(service, 1, 3)
    assert len({record["sealed"]["key_id"] for record in records}) == 2
    service.vault.cache.forget(SCOPE)
    reads, read = [], service.key_records.read

    async def counted(key: Any) -> Any:
        reads.append(key.name)
        return await read(key)

    service.key_records.read = counted
    assert len(await unsealed(service, records[:2])) == 2
    assert reads == ["data"]


async def test_a_record_in_anothers_place_is_named(service: Any) -> None:
    first, second, *_ = await stored(service)
    moved = first | {"change_id": second["change_id"]}
    with pytest.raises(HistoryCorrupt) as caught:
        await unsealed(service, [first, moved])
    assert caught.value.details["change_id"] == second["change_id"]
    with pytest.raises(HistoryCorrupt):
        await unsealed(service, [first], UserScope("t1", "u2"))


async def test_without_its_key_a_record_is_named(service: Any) -> None:
    records = await stored(service)
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    with pytest.raises(HistoryCorrupt) as caught:
        await unsealed(service, records)
    assert caught.value.details["change_id"] == records[0]["change_id"]


async def test_a_record_that_lies_unsealed_where_it_should_be_sealed_is_named(service: Any) -> None:
    (opened,) = await unsealed(service, (await stored(service))[:1])
    with pytest.raises(HistoryCorrupt):
        await unsealed(service, [opened])
