"""Marks and shards over Azurite: changed, tended, due, looked at, erased, and a full pass."""

from datetime import timedelta
from typing import Any

from memnet.adapters.azure.blob_storage import AzureBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.events.event import EventKey
from memnet.domain.governance.erasure import Found
from memnet.domain.upkeep.marks import Work, changed_mark, due_mark, shard_of
from memnet.domain.upkeep.shard_run import new_run
from memnet.operations.service import run_shard as module
from memnet.operations.service.run_shard import run_shard, send_shards
from memnet.stores import Blobs, DocumentStore
from tests.services import service_of
from tests.stores.all_stores import DATA, SUMMARY, found_in, stores_over

SCOPES = [UserScope("t1", f"u{number}") for number in range(6)]


async def fill(blobs: Blobs, *scopes: UserScope) -> None:
    for scope in scopes:
        await stores_over(blobs).events.create(EventKey(scope, "e1"), DATA)


async def test_changed_users_are_tended_and_due_users_looked_at(container: AzureBlobStorage) -> None:
    clock = FrozenClock()
    blobs = Blobs(container, clock)
    service = service_of(documents=DocumentStore(blobs), clock=clock)
    await fill(blobs, *SCOPES)
    marks = [changed_mark(scope, clock.now()).blob_name for scope in SCOPES]
    assert sorted([blob.name async for blob in blobs.each("changed/")]) == sorted(marks)
    clock.advance(timedelta(hours=2))
    shards = {shard_of(scope) for scope in SCOPES}
    assert await send_shards(Work.CHANGED, service) == len(shards)
    for shard in shards:
        assert (await run_shard(Work.CHANGED, shard, service)).finished
    assert [blob.name async for blob in blobs.each("changed/")] == []
    days = await service.upkeep.list_due_days()
    assert days == [due_mark(SCOPES[0], clock.now() + timedelta(days=1)).day]
    assert set(await service.upkeep.list_due_shards(days[0])) == shards
    clock.advance(timedelta(days=1))
    for shard in shards:
        report = await run_shard(Work.DUE, shard, service)
        assert (report.finished, report.users > 0) == (True, True)
    assert days[0] not in await service.upkeep.list_due_days()


async def test_a_full_pass_is_resumed_and_remembered(container: AzureBlobStorage, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    clock = FrozenClock()
    blobs = Blobs(container, clock)
    service = service_of(documents=DocumentStore(blobs), clock=clock)
    await fill(blobs, *SCOPES)
    shard = shard_of(SCOPES[0])
    run = new_run(Work.ALL, shard, "other rules", clock.now())
    await service.upkeep.write_run(run, replaces=None)
    assert await service.upkeep.list_runs(Work.ALL) == [run]
    assert (await run_shard(Work.ALL, shard, service)).finished
    assert due_mark(SCOPES[0], clock.now()).blob_name in [blob.name async for blob in blobs.each("due/")]
    [finished] = await service.upkeep.list_runs()
    assert (finished.finished, finished.rules != run.rules) == (True, True)
    assert await send_shards(Work.ALL, service) == 63


async def test_an_erasure_finds_the_marks(blobs: Blobs) -> None:
    stores, scope = stores_over(blobs), SCOPES[0]
    await fill(blobs, *SCOPES)
    await stores.documents.put(DocumentKey(scope, "n", "d"), DATA, SUMMARY, replaces=None)
    service = service_of(documents=stores.documents, clock=blobs.clock)
    for days in (1, 400):
        for user in SCOPES:
            await service.upkeep.add_due(due_mark(user, blobs.clock.now() + timedelta(days=days)))
    found: list[Found] = await found_in(stores.storage, scope)
    assert len([one for one in found if one.name.startswith(("changed/", "due/"))]) == 3
    for one in found:
        await stores.storage.delete(scope, one, known_at=blobs.clock.now())
    assert await found_in(stores.storage, scope) == []
    assert len(await found_in(stores.storage, SCOPES[1])) == 4
