"""What a history begins with, opened: with the key of then, in its own place, and for nobody without a vault."""

from dataclasses import replace

import pytest

from memnet.domain import baseline as baselines
from memnet.domain.baseline_values import BaselinePlace
from memnet.domain.data_keys import data_keys_key
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken, VaultUnavailable
from memnet.operations.open_baseline import open_baseline
from memnet.operations.rotate_keys import rotate_keys
from tests.operations.baseline_world import retain
from tests.operations.service import ALPHA, SCOPE, Service


async def stored(service: Service):
    """A baseline of the second of three changes, as it lies there."""
    await service.count_up(3)
    await retain(service, ALPHA, 2)
    name = (await service.head()).change_id(2)
    found = baselines.load(await service.audit.read_baseline(SCOPE, name))
    assert found.is_sealed
    return found, BaselinePlace(SCOPE, name)


async def test_what_was_sealed_comes_back_and_an_open_one_takes_no_key(service):
    found, place = await stored(service)
    opened = await open_baseline(found, place, vault=service.vault)
    assert (opened.is_sealed, opened.content["summary"]) == (False, "note 1")
    assert await open_baseline(opened, place, vault=None) is opened


async def test_an_older_key_opens_it(service):
    found, place = await stored(service)
    await rotate_keys("t1", "u1", vault=service.vault)
    service.vault.cache.forget(SCOPE)
    assert not (await open_baseline(found, place, vault=service.vault)).is_sealed


async def test_without_its_key_it_is_named(service):
    found, place = await stored(service)
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    with pytest.raises(HistoryBroken) as caught:
        await open_baseline(found, place, vault=service.vault)
    assert caught.value.details == {"change_id": place.change_id, "reason": "the values of the baseline do not open"}


async def test_in_anothers_place_or_altered_it_is_named(service):
    found, place = await stored(service)
    for baseline, where in (
        (found, replace(place, scope=UserScope("t1", "u2"))),
        (found, replace(place, change_id=(await service.head()).change_id(1))),
        (replace(found, actor="svc-mallory"), place),
    ):
        with pytest.raises(HistoryBroken):
            await open_baseline(baseline, where, vault=service.vault)


async def test_it_takes_a_vault(service):
    found, place = await stored(service)
    with pytest.raises(VaultUnavailable):
        await open_baseline(found, place, vault=None)


async def test_a_vault_that_is_down_is_told_as_for_records(service):
    found, place = await stored(service)
    service.vault.cache.forget(SCOPE)

    async def down(*_):
        raise VaultUnavailable()

    service.tenant_keys.version = down
    with pytest.raises(VaultUnavailable):
        await open_baseline(found, place, vault=service.vault)
