"""A baseline is put in its place once, sealed where there is a vault; the same is what says the same."""

import asyncio
from dataclasses import replace

import pytest

from memnet.domain import baseline as baselines
from memnet.domain.data_keys import data_keys_key
from memnet.domain.errors import HistoryBroken, SealBroken, Unavailable
from memnet.operations.read_baseline import read_baseline
from memnet.operations.rotate_keys import rotate_keys
from memnet.operations.store_baseline import store_baseline
from tests.operations.baseline_world import retain
from tests.operations.service import ALPHA, SCOPE, Service


async def made(service: Service):
    """The baseline of the second of three changes, which does not stand any more."""
    await service.count_up(3)
    await retain(service, ALPHA, 2)
    head = await service.head()
    found = await read_baseline(SCOPE, head.doc_id, audit=service.audit)
    await service.audit.delete_baseline(SCOPE, found.change_id)
    return found


async def lying(service: Service, baseline) -> bytes:
    return await service.audit.read_baseline(SCOPE, baseline.change_id)


async def test_it_stands_sealed_and_reads_as_it_was(service):
    baseline = await made(service)
    await store_baseline(baseline, audit=service.audit)
    assert b"note 1" not in await lying(service, baseline)
    assert await read_baseline(SCOPE, baseline.doc_id, audit=service.audit) == baseline


async def test_without_a_vault_it_stands_open_and_a_vault_that_comes_later_reads_it(service):
    baseline = await made(service)
    vault, service.audit.vault = service.audit.vault, None
    await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) == baselines.dump(baseline)
    service.audit.vault = vault
    assert await read_baseline(SCOPE, baseline.doc_id, audit=service.audit) == baseline
    await store_baseline(baseline, audit=service.audit)


async def test_again_and_at_once_it_is_the_same_whatever_the_ciphertext_and_the_key(service):
    baseline = await made(service)
    await asyncio.gather(*(store_baseline(baseline, audit=service.audit) for _ in range(5)))
    first = await lying(service, baseline)
    await rotate_keys("t1", "u1", vault=service.vault)
    await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) == first


@pytest.mark.parametrize("other", [{"content": {"recent_notes": [True]}}, {"actor": "svc-mallory"}, {"deleted": True}])
async def test_what_says_anything_else_breaks_the_history_and_stays(service, other):
    baseline = replace(await made(service), content={"recent_notes": [1]})
    await store_baseline(replace(baseline, **other), audit=service.audit)
    there = await lying(service, baseline)
    with pytest.raises(HistoryBroken):
        await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) == there


async def test_what_is_no_baseline_breaks_the_history_and_stays(service):
    baseline = await made(service)
    await service.audit.append_baseline(SCOPE, baseline.change_id, b"{}")
    with pytest.raises(HistoryBroken):
        await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) == b"{}"


async def test_one_that_has_given_way_meanwhile_is_a_matter_of_the_next_run(service):
    baseline = await made(service)
    await store_baseline(baseline, audit=service.audit)
    append = service.audit.append_baseline

    async def then_removed(scope, change, data):
        try:
            await append(scope, change, data)
        finally:
            await service.audit.delete_baseline(scope, change)

    service.audit.append_baseline = then_removed
    with pytest.raises(Unavailable):
        await store_baseline(baseline, audit=service.audit)


async def test_keys_that_do_not_open_seal_nothing(service):
    baseline = await made(service)
    service.vault.cache.forget(SCOPE)
    stored = await service.key_records.read(data_keys_key(SCOPE))
    await service.key_records.write(data_keys_key(SCOPE), b"{}", replaces=stored.storage_etag)
    with pytest.raises(SealBroken):
        await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) is None
