"""The audit records of a document, as they are stored and opened."""

from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import UserScope
from memnet.domain.documents.audit_record import record_hash
from memnet.domain.documents.audit_values import CLEAR
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.sealing import rotate_keys
from memnet.stores import read_records, read_stored_records, unseal_records
from tests.operations.service_scenario import SCOPE, Service, note

# Records as they are stored: enough to follow the chain, with no key at all.


async def test_flushed_or_not_they_are_sealed_and_linked_without_a_key(service: Any) -> None:
    results = await service.count_up(3)
    service.audit.down = True
    await service.patch(note("in the document"), over=results[-1].etag)
    await service.background.drain()
    service.audit.down = False
    head = await service.head()
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    found = await read_stored_records(SCOPE, head, 1, 4, audit=service.audit)
    assert list(found) == [head.change_id(number) for number in range(1, 5)]
    assert all(record.keys() == CLEAR | {"sealed"} for record in found.values())
    hashes = [record_hash(record) for record in found.values()]
    assert [record["previous_record_hash"] for record in found.values()][1:] == hashes[:-1]
    assert head.commit.record_hash == hashes[-1]


@pytest.mark.parametrize("data", [None, b"", b"{", b'{ "a":1}'])
async def test_a_missing_or_spoilt_record_is_named(service: Any, data: Any) -> None:
    results = await service.count_up(3)
    service.audit.tamper(SCOPE, results[0].change_id, data)
    with pytest.raises(HistoryCorrupt) as caught:
        await read_stored_records(SCOPE, await service.head(), 1, 3, audit=service.audit)
    assert caught.value.details["change_id"] == results[0].change_id


# Records in the order they happened, from the document and from the audit.


async def records_of(service: Any, first: Any, last: Any) -> Any:
    return await read_records(SCOPE, await service.head(), first, last, audit=service.audit)


async def test_a_range_in_order(service: Any) -> None:
    await service.count_up(20)
    for first, last in [(1, 20), (1, 1), (20, 20), (5, 9)]:
        sequences = [record["sequence"] for record in await records_of(service, first, last)]
        assert sequences == list(range(first, last + 1))
    assert await records_of(service, 5, 4) == []


async def test_what_the_document_still_carries_is_not_asked_for(service: Any) -> None:
    await service.count_up(3)
    service.audit.calls.clear()
    assert len(await records_of(service, 1, 3)) == 3
    assert service.audit.calls == {"read": 2}


# Stored records, opened: all of a user's with one look at the keys, and none that was moved or altered.


async def stored(service: Service, number: int = 4) -> Any:
    await service.count_up(number)
    return await read_stored_records(SCOPE, await service.head(), 1, number, audit=service.audit)


async def test_what_was_written_comes_back_in_order(service: Any) -> None:
    records = await stored(service)
    opened = await unseal_records(SCOPE, records, vault=service.vault)
    assert [record["ops"][-1]["value"] for record in opened] == [f"note {number}" for number in range(4)]
    assert [record["change_id"] for record in opened] == list(records)


async def test_the_keys_are_read_once_for_all_and_older_ones_open(service: Any) -> None:
    await service.count_up(2)
    await rotate_keys("t1", "u1", vault=service.vault)
    last = await service.head()
    await service.patch(note("after"), over=last.commit.etag)
    await service.background.drain()
    records = await read_stored_records(SCOPE, await service.head(), 1, 3, audit=service.audit)
    assert len({record["sealed"]["key_id"] for record in records.values()}) == 2
    service.vault.cache.forget(SCOPE)
    reads, read = [], service.key_records.read

    async def counted(key: Any) -> Any:
        reads.append(key.name)
        return await read(key)

    service.key_records.read = counted
    assert len(await unseal_records(SCOPE, records, vault=service.vault)) == 3
    assert reads == ["data"]


async def test_a_record_in_anothers_place_is_named(service: Any) -> None:
    records = await stored(service)
    first, second, *_ = records
    with pytest.raises(HistoryCorrupt) as caught:
        await unseal_records(SCOPE, {first: records[first], second: records[first]}, vault=service.vault)
    assert caught.value.details["change_id"] == second
    with pytest.raises(HistoryCorrupt):
        await unseal_records(UserScope("t1", "u2"), records, vault=service.vault)


async def test_without_its_key_a_record_is_named(service: Any) -> None:
    records = await stored(service)
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    with pytest.raises(HistoryCorrupt) as caught:
        await unseal_records(SCOPE, records, vault=service.vault)
    assert caught.value.details["change_id"] == next(iter(records))


async def test_a_record_that_lies_open_where_it_should_be_sealed_is_named(service: Any) -> None:
    records = await stored(service)
    name = next(iter(records))
    (opened, *_) = await unseal_records(SCOPE, records, vault=service.vault)
    with pytest.raises(HistoryCorrupt):
        await unseal_records(SCOPE, {name: opened}, vault=service.vault)
