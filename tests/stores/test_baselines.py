"""Baselines: listed, stored, opened, worked out, and what a history is read from."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.documents import envelope
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.sealing import rotate_keys
from memnet.paging import rows
from memnet.stores import baselines as module
from memnet.stores import (
    list_baselines,
    next_baseline,
    read_baseline,
    read_history,
    store_baseline,
    unseal_baseline,
)
from tests.memory_blobs import storage_of
from tests.operations.baseline_scenario import retain
from tests.operations.retention_scenario import DAY, RetentionWorld, put
from tests.operations.service_scenario import ALPHA, SCOPE

# Which documents begin with a baseline.


async def test_by_document_the_newest_last_over_pages(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "rows", partial(rows, size=2))
    for change in ("d-000000000002", "d-000000000010", "d-1-000000000001", "e-000000000001"):
        await service.audit.append_baseline(SCOPE, change, b"x")
    assert await list_baselines(SCOPE, audit=service.audit) == {
        "d": ["d-000000000002", "d-000000000010"],
        "d-1": ["d-1-000000000001"],
        "e": ["e-000000000001"],
    }
    # Another document's id may begin alike.
    assert await list_baselines(SCOPE, "d", audit=service.audit) == {"d": ["d-000000000002", "d-000000000010"]}
    assert await list_baselines(SCOPE, "x", audit=service.audit) == {}


# What a history begins with.


async def aged(changes: int) -> RetentionWorld:
    """A change a day; the second and later ones write their number."""
    world = RetentionWorld()
    await world.create_project()
    for number in range(2, changes + 1):
        world.clock.advance(DAY)
        await world.change(ALPHA, put("/summary", str(number)))
    await world.sweep()
    return world


async def current(world: RetentionWorld) -> envelope.Envelope:
    stored = await world.documents.get(ALPHA)
    assert stored is not None
    return envelope.load(stored.data)


async def test_none_then_the_newest() -> None:
    world = await aged(4)
    doc_id = (await current(world)).doc_id
    assert await read_baseline(SCOPE, doc_id, audit=world.audit) is None
    await retain(world, ALPHA, 2)
    found = await read_baseline(SCOPE, doc_id, audit=world.audit)
    assert found is not None
    assert (found.sequence, found.key, found.content["summary"]) == (2, ALPHA, "2")


async def test_a_baseline_that_is_replaced_during_the_read_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await aged(4)
    doc_id = (await current(world)).doc_id
    twin = world.twin()
    await retain(twin, ALPHA, 3)
    await retain(world, ALPHA, 2)
    read, change = world.audit.read_baseline, f"{doc_id}-000000000003"
    newer = await twin.audit.read_baseline(SCOPE, change)
    assert newer is not None

    async def replaced(scope: UserScope, name: str) -> bytes | None:
        monkeypatch.undo()
        await world.audit.append_baseline(scope, change, newer)
        await world.audit.delete_baseline(scope, name)
        return await read(scope, name)

    monkeypatch.setattr(world.audit, "read_baseline", replaced)
    found = await read_baseline(SCOPE, doc_id, audit=world.audit)
    assert found is not None
    assert found.sequence == 3


async def test_a_blob_that_is_not_a_baseline_is_reported() -> None:
    world = await aged(4)
    doc_id = (await current(world)).doc_id
    await world.audit.append_baseline(SCOPE, f"{doc_id}-000000000001", b"{}")
    with pytest.raises(HistoryCorrupt):
        await read_baseline(SCOPE, doc_id, audit=world.audit)


# Unsealing a baseline: with the key that sealed it, and only at its own location.


async def stored(service: Any) -> tuple[baselines.Baseline, BaselineLocation]:
    """The stored, sealed baseline of the second of three changes."""
    await service.count_up(3)
    await retain(service, ALPHA, 2)
    name = (await service.head()).change_id(2)
    found = baselines.load(await service.audit.read_baseline(SCOPE, name))
    assert found is not None
    assert found.is_sealed
    return found, BaselineLocation(SCOPE, name)


async def test_what_was_sealed_comes_back_and_an_open_one_is_refused(service: Any) -> None:
    found, place = await stored(service)
    opened = await unseal_baseline(found, place, vault=service.vault)
    assert (opened.is_sealed, opened.content["summary"]) == (False, "note 1")
    with pytest.raises(HistoryCorrupt):
        await unseal_baseline(opened, place, vault=service.vault)


async def test_without_its_key_it_is_named(service: Any) -> None:
    found, place = await stored(service)
    service.vault.cache.forget(SCOPE)
    await service.key_records.delete(data_keys_key(SCOPE))
    with pytest.raises(HistoryCorrupt) as caught:
        await unseal_baseline(found, place, vault=service.vault)
    assert caught.value.details == {"change_id": place.change_id, "reason": "the values of the baseline do not open"}


# A baseline is put in its place once, sealed where there is a vault; the same is what says the same.


async def made(service: Any) -> baselines.Baseline:
    """The baseline of the second of three changes, deleted from the store."""
    await service.count_up(3)
    await retain(service, ALPHA, 2)
    head = await service.head()
    found = await read_baseline(SCOPE, head.doc_id, audit=service.audit)
    assert found is not None
    await service.audit.delete_baseline(SCOPE, found.change_id)
    return found


async def lying(service: Any, baseline: baselines.Baseline) -> bytes:
    data: bytes | None = await service.audit.read_baseline(SCOPE, baseline.change_id)
    return data or b""


async def test_a_baseline_is_stored_sealed_and_read_unchanged(service: Any) -> None:
    baseline = await made(service)
    await store_baseline(baseline, audit=service.audit)
    assert b"note 1" not in await lying(service, baseline)
    assert await read_baseline(SCOPE, baseline.doc_id, audit=service.audit) == baseline


async def test_again_and_at_once_it_is_the_same_whatever_the_ciphertext_and_the_key(service: Any) -> None:
    baseline = await made(service)
    await asyncio.gather(*(store_baseline(baseline, audit=service.audit) for _ in range(5)))
    first = await lying(service, baseline)
    await rotate_keys("t1", "u1", vault=service.vault)
    await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) == first


@pytest.mark.parametrize("other", [{"content": {"recent_notes": [True]}}, {"actor": "svc-mallory"}, {"deleted": True}])
async def test_what_says_anything_else_breaks_the_history_and_stays(service: Any, other: Any) -> None:
    baseline = replace(await made(service), content={"recent_notes": [1]})
    await store_baseline(replace(baseline, **other), audit=service.audit)
    there = await lying(service, baseline)
    with pytest.raises(HistoryCorrupt):
        await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) == there


async def test_what_is_no_baseline_breaks_the_history_and_stays(service: Any) -> None:
    baseline = await made(service)
    await service.audit.append_baseline(SCOPE, baseline.change_id, b"{}")
    with pytest.raises(HistoryCorrupt):
        await store_baseline(baseline, audit=service.audit)
    assert await lying(service, baseline) == b"{}"


async def test_one_that_has_given_way_meanwhile_is_a_matter_of_the_next_run(service: Any) -> None:
    baseline = await made(service)
    await store_baseline(baseline, audit=service.audit)
    append = service.audit.append_baseline

    async def then_removed(scope: Any, change: Any, data: Any) -> None:
        try:
            await append(scope, change, data)
        finally:
            await service.audit.delete_baseline(scope, change)

    service.audit.append_baseline = then_removed
    with pytest.raises(Unavailable):
        await store_baseline(baseline, audit=service.audit)


# A history is read whole, also while its beginning is removed.


async def test_from_the_first_record_or_from_the_baseline() -> None:
    world = await aged(6)
    head = await current(world)
    baseline, records = await read_history(SCOPE, head, 6, audit=world.audit)
    assert (baseline, [record["sequence"] for record in records]) == (None, [1, 2, 3, 4, 5, 6])
    await retain(world, ALPHA, 4)
    baseline, records = await read_history(SCOPE, head, 5, audit=world.audit)
    assert baseline is not None
    assert (baseline.sequence, [record["sequence"] for record in records]) == (4, [5])
    baseline, records = await read_history(SCOPE, head, 2, audit=world.audit)
    assert baseline is not None
    assert (baseline.sequence, list(records)) == (4, [])


@pytest.mark.parametrize("number", [1, 3, 6])
async def test_records_deleted_between_two_reads(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await aged(6)
    head = await current(world)
    read, calls = world.audit.read, 0

    async def meanwhile(scope: UserScope, change: str) -> bytes | None:
        nonlocal calls
        calls += 1
        if calls == number:
            monkeypatch.undo()
            await retain(world, ALPHA, 4)
        return await read(scope, change)

    monkeypatch.setattr(world.audit, "read", meanwhile)
    baseline, records = await read_history(SCOPE, head, 6, audit=world.audit)
    begin = 0 if baseline is None else baseline.sequence
    assert [record["sequence"] for record in records] == list(range(begin + 1, 7))


async def test_a_record_that_nothing_stands_for_is_missing() -> None:
    world = await aged(6)
    head = await current(world)
    await world.audit.delete(SCOPE, head.change_id(3))
    with pytest.raises(HistoryCorrupt):
        await read_history(SCOPE, head, 6, audit=world.audit)
    await retain(world, ALPHA, 2)
    with pytest.raises(HistoryCorrupt):
        await read_history(SCOPE, head, 6, audit=world.audit)


# Where a history has to begin: found from its records alone, in as few reads as it takes.


async def found(world: RetentionWorld, before: baselines.Baseline | None = None) -> baselines.Baseline | None:
    policy, now = world.catalog.retention("t1"), world.clock.now()
    return await next_baseline(ALPHA, await current(world), before, policy=policy, as_of=now, audit=world.audit)


@pytest.mark.parametrize("gone", [0, 1, 5, 9])
async def test_the_last_change_that_has_expired(gone: int) -> None:
    world = await aged(9)
    world.clock.advance((365 - 8 + gone - 1) * DAY)
    baseline = await found(world)
    assert (baseline.sequence if baseline else 0) == gone
    again = await found(world, baseline)
    assert again == baseline
    world.clock.advance(DAY)
    assert (await found(world, baseline)) == (await found(world))


async def test_a_baseline_follows_from_the_records_alone() -> None:
    world = await aged(9)
    world.clock.advance(360 * DAY)
    first = await found(world)
    world.clock.advance(timedelta(hours=3))
    again = await found(world)
    assert first is not None
    assert again is not None
    assert baselines.dump(again) == baselines.dump(first)


async def test_usually_one_record_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await aged(9)
    read, calls = world.audit.read, list[str]()

    async def counted(scope: UserScope, change: str) -> bytes | None:
        calls.append(change)
        return await read(scope, change)

    monkeypatch.setattr(world.audit, "read", counted)
    assert await found(world) is None
    assert len(calls) == 1


@pytest.mark.parametrize("member", ["timestamp", "sealed"])
async def test_a_record_without_a_member_breaks_it(member: Any) -> None:
    world = await aged(9)
    head = await current(world)
    name = f"{SCOPE.prefix}audit/{head.change_id(1)}.json"
    record = orjson.loads(storage_of(world.audit).data(name))
    del record[member]
    storage_of(world.audit).overwrite(name, canonical(record))
    world.clock.advance(400 * DAY)
    with pytest.raises(HistoryCorrupt):
        await found(world)
