"""Stored records, opened: all of a user's with one look at the keys, and none that was moved or altered."""

import pytest

from memnet.domain.data_keys import data_keys_key
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken, VaultUnavailable
from memnet.operations.open_audit_records import open_audit_records
from memnet.operations.read_stored_records import read_stored_records
from memnet.operations.rotate_keys import rotate_keys
from tests.memory_blobs import storage_of
from tests.operations.service import SCOPE, Service, note


async def stored(service: Service, number: int = 4):
    await service.count_up(number)
    return await read_stored_records(SCOPE, await service.head(), 1, number, audit=service.audit)


async def test_what_was_written_comes_back_in_order(service):
    records = await stored(service)
    opened = await open_audit_records(SCOPE, records, vault=service.vault)
    assert [record["ops"][-1]["value"] for record in opened] == [f"note {number}" for number in range(4)]
    assert [record["change_id"] for record in opened] == list(records)


async def test_the_keys_are_read_once_for_all_and_older_ones_open(service):
    await service.count_up(2)
    await rotate_keys("t1", "u1", vault=service.vault)
    last = await service.head()
    await service.patch(note("after"), over=last.commit.etag)
    await service.background.drain()
    records = await read_stored_records(SCOPE, await service.head(), 1, 3, audit=service.audit)
    assert len({record["sealed"]["key_id"] for record in records.values()}) == 2
    service.vault.cache.forget(SCOPE)
    reads, read = [], service.key_records.read

    async def counted(key):
        reads.append(key.name)
        return await read(key)

    service.key_records.read = counted
    assert len(await open_audit_records(SCOPE, records, vault=service.vault)) == 3
    assert reads == ["data"]


async def test_a_record_in_anothers_place_is_named(service):
    records = await stored(service)
    first, second, *_ = records
    with pytest.raises(HistoryBroken) as caught:
        await open_audit_records(SCOPE, {first: records[first], second: records[first]}, vault=service.vault)
    assert caught.value.details["change_id"] == second
    with pytest.raises(HistoryBroken):
        await open_audit_records(UserScope("t1", "u2"), records, vault=service.vault)


async def test_without_its_key_a_record_is_named(service):
    records = await stored(service)
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    with pytest.raises(HistoryBroken) as caught:
        await open_audit_records(SCOPE, records, vault=service.vault)
    assert caught.value.details["change_id"] == next(iter(records))


async def test_a_record_that_lies_open_where_it_should_be_sealed_is_named(service):
    records = await stored(service)
    name = next(iter(records))
    (opened, *_) = await open_audit_records(SCOPE, records, vault=service.vault)
    with pytest.raises(HistoryBroken):
        await open_audit_records(SCOPE, {name: opened}, vault=service.vault)


async def test_sealed_records_take_a_vault_and_others_do_not(service):
    records = await stored(service)
    with pytest.raises(VaultUnavailable):
        await open_audit_records(SCOPE, records, vault=None)
    clear = Service()
    clear.audit.vault = None
    open_ones = await stored(clear)
    assert await open_audit_records(SCOPE, open_ones, vault=None) == list(open_ones.values())
    assert await open_audit_records(SCOPE, open_ones, vault=clear.vault) == list(open_ones.values())
    assert storage_of(clear.key_records).names(f"{SCOPE.prefix}keys/") == []
