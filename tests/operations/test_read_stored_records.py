"""Records as they are stored: enough to follow the chain, with no key at all."""

import pytest

from memnet.domain.audit import record_hash
from memnet.domain.audit_values import CLEAR
from memnet.domain.data_keys import data_keys_key
from memnet.domain.errors import HistoryBroken
from memnet.operations.read_stored_records import read_stored_records
from tests.operations.service import SCOPE, note


async def test_flushed_or_not_they_are_sealed_and_linked_without_a_key(service):
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
async def test_a_missing_or_spoilt_record_is_named(service, data):
    results = await service.count_up(3)
    service.audit.tamper(SCOPE, results[0].change_id, data)
    with pytest.raises(HistoryBroken) as caught:
        await read_stored_records(SCOPE, await service.head(), 1, 3, audit=service.audit)
    assert caught.value.details["change_id"] == results[0].change_id
