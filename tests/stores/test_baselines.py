"""Baselines: derived from the records before a segment, stored next to it, and what a history is read from."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.documents import audit_segments
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline import Baseline
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.sealing import rotate_keys
from memnet.ports import StoreConflict
from memnet.stores import read_baseline, read_history, read_records, store_baseline, unseal_baseline
from memnet.stores.audit_log import baseline_name, segment_name
from memnet.stores.baselines import derive_baseline
from tests.domain.rebuilding import baseline_after
from tests.memory_blobs import storage_of
from tests.operations.service_scenario import ALPHA, DYNAMIC, SCOPE, Service, note

SMALL = 4


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", SMALL)


async def folded(service: Service, sequence: int) -> Baseline:
    """The baseline of a change, from all records."""
    head = await service.head()
    records = await read_records(SCOPE, head, 1, sequence, audit=service.audit)
    return baseline_after(records, sequence, records[-1]["profile_id"], key=ALPHA)


async def derived(service: Service, first: int) -> Baseline:
    head = await service.head()
    history = await service.audit.history(SCOPE, head.doc_id)
    return await derive_baseline(ALPHA, head, first, history=history, audit=service.audit)


async def delete_baselines(service: Service) -> None:
    storage = storage_of(service.audit)
    for name in storage.names(f"{SCOPE.prefix}audit/"):
        if name.endswith(".json"):
            storage.drop(name)


# Deriving.


async def test_every_segment_but_the_first_has_the_baseline_that_its_records_give(service: Any) -> None:
    await service.count_up(2 * SMALL)
    service.clock.advance(timedelta(days=60))
    await service.patch(note("a later month"), over=(await service.head()).commit.etag)
    await service.background.drain()
    doc_id = (await service.head()).doc_id
    history = await service.audit.history(SCOPE, doc_id)
    assert list(history.segments) == [1, 5, 9]
    assert history.baselines == {5, 9}
    for first in (5, 9):
        assert await read_baseline(SCOPE, doc_id, first, audit=service.audit) == await folded(service, first - 1)


async def test_one_is_derived_from_the_one_before_or_from_the_beginning(service: Any) -> None:
    await service.count_up(3 * SMALL)
    expected = await folded(service, 8)
    assert await derived(service, 9) == expected
    service.audit.calls.clear()
    await derived(service, 9)
    assert service.audit.calls["read"] == 2  # the segment before it, and the record that confirms it
    await delete_baselines(service)
    assert await derived(service, 9) == expected


async def test_the_newest_changes_own_is_derived_and_confirmed_by_the_document(service: Any) -> None:
    await service.count_up(SMALL + 1)
    expected = await folded(service, 5)
    assert await derived(service, 6) == expected
    await store_baseline(expected, audit=service.audit)
    for first in (1, 5):
        await service.audit.delete(SCOPE, expected.doc_id, 1)
        await service.audit.delete(SCOPE, expected.doc_id, first, baseline=True)
    assert await derived(service, 6) == expected
    head = await service.head()
    history = await service.audit.history(SCOPE, head.doc_id)
    other = replace(head, content={**head.content, "summary": "forged"})
    with pytest.raises(HistoryCorrupt) as caught:
        await derive_baseline(ALPHA, other, 6, history=history, audit=service.audit)
    assert caught.value.details["reason"] == "the document's content is not what its records give"
    with pytest.raises(HistoryCorrupt):
        await derived(service, 5)


async def test_a_baseline_of_another_document_is_refused(service: Any) -> None:
    await service.count_up(2 * SMALL + 1)
    doc_id = (await service.head()).doc_id
    other = replace(await folded(service, 4), key=DYNAMIC)
    await service.audit.delete(SCOPE, doc_id, 5, baseline=True)
    await store_baseline(other, audit=service.audit)
    with pytest.raises(HistoryCorrupt) as caught:
        await derived(service, 9)
    assert "another document" in caught.value.details["reason"]


async def test_a_wrong_baseline_is_not_confirmed_by_the_record_after_it(service: Any) -> None:
    await service.count_up(2 * SMALL + 1)
    doc_id = (await service.head()).doc_id
    forged = replace(await folded(service, 4), content={"summary": "forged", "facets": {}, "recent_notes": []})
    await service.audit.delete(SCOPE, doc_id, 5, baseline=True)
    await store_baseline(forged, audit=service.audit)
    with pytest.raises(HistoryCorrupt):
        await derived(service, 9)


@pytest.mark.parametrize("member", ["timestamp", "sealed"])
async def test_a_record_without_a_member_is_reported(service: Any, member: str) -> None:
    results = await service.count_up(SMALL + 1)
    name = segment_name(SCOPE, (await service.head()).doc_id, 1)
    record = orjson.loads(storage_of(service.audit).data(name).splitlines()[1])
    del record[member]
    service.audit.tamper(SCOPE, results[1].change_id, canonical(record))
    with pytest.raises(HistoryCorrupt):
        await derived(service, 5)


async def test_an_altered_record_that_the_next_segment_begins_with_is_reported(service: Any) -> None:
    results = await service.count_up(SMALL + 2)
    expected = await folded(service, 4)
    name = segment_name(SCOPE, expected.doc_id, 5)
    record = orjson.loads(storage_of(service.audit).data(name).splitlines()[0])
    forged = canonical(record | {"previous_record_hash": "0" * 64})
    service.audit.tamper(SCOPE, results[4].change_id, forged)
    with pytest.raises(HistoryCorrupt):
        await derived(service, 5)


# Reading.


async def test_none_or_the_one_next_to_the_segment(service: Any) -> None:
    await service.count_up(SMALL + 1)
    doc_id = (await service.head()).doc_id
    assert await read_baseline(SCOPE, doc_id, 1, audit=service.audit) is None
    found = await read_baseline(SCOPE, doc_id, 5, audit=service.audit)
    assert found is not None
    assert (found.sequence, found.key, found.content["summary"]) == (4, ALPHA, "note 3")


@pytest.mark.parametrize("data", [b"", b"{}", b"{"])
async def test_a_blob_that_is_not_a_baseline_is_reported(service: Any, data: bytes) -> None:
    await service.audit.create_baseline(SCOPE, "d", 5, data)
    with pytest.raises(HistoryCorrupt) as caught:
        await read_baseline(SCOPE, "d", 5, audit=service.audit)
    assert caught.value.details["change_id"] == "d-000000000004"


async def test_a_baseline_in_anothers_place_is_reported(service: Any) -> None:
    await service.count_up(SMALL + 1)
    doc_id = (await service.head()).doc_id
    data = await service.audit.read_baseline(SCOPE, doc_id, 5)
    for other, first in ((doc_id, 6), ("other", 5)):
        await service.audit.create_baseline(SCOPE, other, first, data)
        with pytest.raises(HistoryCorrupt):
            await read_baseline(SCOPE, other, first, audit=service.audit)


# Unsealing a baseline: with the key that sealed it, and only at its own location.


async def stored(service: Any) -> tuple[Baseline, BaselineLocation]:
    """The stored, sealed baseline of the fourth change."""
    await service.count_up(SMALL + 1)
    head = await service.head()
    found = baselines.load(await service.audit.read_baseline(SCOPE, head.doc_id, 5))
    assert found is not None
    assert found.is_sealed
    return found, BaselineLocation(SCOPE, head.change_id(4))


async def test_what_was_sealed_comes_back_and_an_unsealed_one_is_refused(service: Any) -> None:
    found, place = await stored(service)
    opened = await unseal_baseline(found, place, vault=service.vault)
    assert (opened.is_sealed, opened.content["summary"]) == (False, "note 3")
    with pytest.raises(HistoryCorrupt):
        await unseal_baseline(opened, place, vault=service.vault)


async def test_without_its_key_it_is_named(service: Any) -> None:
    found, place = await stored(service)
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    with pytest.raises(HistoryCorrupt) as caught:
        await unseal_baseline(found, place, vault=service.vault)
    assert caught.value.details == {"change_id": place.change_id, "reason": "the values of the baseline do not open"}


# A baseline is created once, sealed; the same is what says the same.


async def made(service: Any) -> Baseline:
    """The baseline of the fourth change, deleted from the store."""
    await service.count_up(SMALL + 1)
    found = await read_baseline(SCOPE, (await service.head()).doc_id, 5, audit=service.audit)
    assert found is not None
    await service.audit.delete(SCOPE, found.doc_id, 5, baseline=True)
    return found


def lying(service: Any, baseline: Baseline) -> bytes:
    return storage_of(service.audit).data(baseline_name(SCOPE, baseline.doc_id, baseline.sequence + 1))


async def test_a_baseline_is_stored_sealed_and_read_unchanged(service: Any) -> None:
    baseline = await made(service)
    await store_baseline(baseline, audit=service.audit)
    assert b"note 3" not in lying(service, baseline)
    assert await read_baseline(SCOPE, baseline.doc_id, 5, audit=service.audit) == baseline


async def test_again_and_at_once_it_is_the_same_whatever_the_ciphertext_and_the_key(service: Any) -> None:
    baseline = await made(service)
    await asyncio.gather(*(store_baseline(baseline, audit=service.audit) for _ in range(5)))
    first = lying(service, baseline)
    await rotate_keys("t1", "u1", vault=service.vault)
    await store_baseline(baseline, audit=service.audit)
    assert lying(service, baseline) == first


@pytest.mark.parametrize("other", [{"content": {"recent_notes": [True]}}, {"actor": "svc-mallory"}, {"deleted": True}])
async def test_what_says_anything_else_breaks_the_history_and_stays(service: Any, other: Any) -> None:
    baseline = replace(await made(service), content={"recent_notes": [1]})
    await store_baseline(replace(baseline, **other), audit=service.audit)
    there = lying(service, baseline)
    with pytest.raises(HistoryCorrupt):
        await store_baseline(baseline, audit=service.audit)
    assert lying(service, baseline) == there


async def test_what_is_no_baseline_breaks_the_history_and_stays(service: Any) -> None:
    baseline = await made(service)
    await service.audit.create_baseline(SCOPE, baseline.doc_id, 5, b"{}")
    with pytest.raises(HistoryCorrupt):
        await store_baseline(baseline, audit=service.audit)
    assert lying(service, baseline) == b"{}"


async def test_one_that_was_removed_meanwhile_is_a_matter_of_the_next_run(service: Any) -> None:
    baseline = await made(service)

    async def removed_since(*arguments: Any) -> None:
        raise StoreConflict

    service.audit.create_baseline = removed_since
    with pytest.raises(Unavailable):
        await store_baseline(baseline, audit=service.audit)


# A history is read from the newest baseline before a change.


async def numbers(service: Any, sequence: int) -> tuple[int | None, list[int]]:
    head = await service.head()
    history = await service.audit.history(SCOPE, head.doc_id)
    baseline, records = await read_history(SCOPE, head, sequence, history=history, audit=service.audit)
    return None if baseline is None else baseline.sequence, [record["sequence"] async for record in records]


async def test_from_the_first_record_or_from_the_baseline(service: Any) -> None:
    await service.count_up(2 * SMALL + 2)
    for sequence, begins in [(1, None), (4, None), (5, 4), (8, 4), (9, 8), (10, 8)]:
        assert await numbers(service, sequence) == (begins, list(range((begins or 0) + 1, 11)))


async def test_without_its_baseline_a_segment_is_read_from_the_one_before(service: Any) -> None:
    await service.count_up(2 * SMALL + 2)
    doc_id = (await service.head()).doc_id
    await service.audit.delete(SCOPE, doc_id, 9, baseline=True)
    assert (await numbers(service, 10))[0] == 4
    await service.audit.delete(SCOPE, doc_id, 5, baseline=True)
    assert (await numbers(service, 10))[0] is None


async def test_a_segment_that_nothing_replaces_is_missing(service: Any) -> None:
    await service.count_up(2 * SMALL + 2)
    doc_id = (await service.head()).doc_id
    await service.audit.delete(SCOPE, doc_id, 1)
    await service.audit.delete(SCOPE, doc_id, 5, baseline=True)
    with pytest.raises(HistoryCorrupt):
        await numbers(service, 6)
    assert (await numbers(service, 9))[0] == 8
