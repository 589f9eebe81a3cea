"""An erasure that is interrupted, superseded or run twice ends and counts everything once."""

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from memnet.domain.core.errors import ErasureRunning, MemnetError
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfMatch
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance.erasure import INDEXED, MESSAGES, Found, Status, kind_of
from memnet.operations.governance.erase_user import Erased
from memnet.operations.history.verify_history import rebuild_documents
from memnet.paging import rows
from memnet.stores import AuditLog, DocumentStore
from tests.domain.erasure_samples import erasure
from tests.memory_blobs import storage_of
from tests.operations.erasure_scenario import OTHER, U1, U10, ErasureWorld, alpha
from tests.operations.retention_scenario import AtEach, Between, FallsAt, StopsAt, storage_watched


@pytest.fixture
async def world() -> ErasureWorld:
    made = ErasureWorld()
    for scope in (U1, U10, OTHER):
        await made.live(scope)
    return made


async def _steps() -> int:
    world = ErasureWorld()
    await world.live(U1)
    await world.request()
    counter = FallsAt(0, applied=False)
    await _both_runs(world, counter)
    return len(counter.calls)


async def _both_runs(world: ErasureWorld, watch: FallsAt) -> None:
    await world.run(watch=watch)
    world.advance()
    await world.run(watch=watch)


@pytest.mark.parametrize("applied", [False, True])
async def test_killed_at_any_call_it_ends_and_counts_everything_once(applied: Any) -> None:
    steps = await _steps()
    assert steps > 40
    for number in range(1, steps + 1):
        world = ErasureWorld()
        await world.live(U1)
        before = await world.expected()
        erasure_id = (await world.request()).erasure_id
        watch = FallsAt(number, applied=applied)
        with pytest.raises(StopsAt):
            await _both_runs(world, watch)
        await world.finish()
        status = await world.status(erasure_id)
        assert status.status is Status.COMPLETE, watch.calls[-1]
        assert world.stored(U1) == {}, watch.calls[-1]
        # What the index and the queues have lost is not written down beforehand: a kill in between may miss it.
        removed = {kind: n for kind, n in status.removed.items() if kind not in (INDEXED, MESSAGES)}
        assert removed == {k: n for k, n in before.items() if k not in (INDEXED, MESSAGES)}, watch.calls[-1]
        assert status.removed.get(INDEXED, 0) <= before[INDEXED]


async def months() -> ErasureWorld:
    """A document with a segment of each of two months, and a baseline."""
    world = ErasureWorld()
    first = await world.patch(U1, "in January")
    second = await world.patch(U1, "also in January", IfMatch(first.etag))
    await world.drain()
    world.advance(timedelta(days=32))
    await world.patch(U1, "in February", IfMatch(second.etag))
    await world.drain()
    assert world.stored(U1)["audit"] == 3
    return world


async def write_and_flush(world: ErasureWorld, process: AuditLog) -> None:
    """A writer changes the document, and another process appends what it finds in it, as far as they may."""
    stored = await DocumentStore(world.services.audit._blobs).get(alpha(U1))
    if stored is not None:
        current = envelope.load(stored.data)
        with suppress(MemnetError):
            await world.patch(U1, "meanwhile", IfMatch(current.commit.etag))
        if not current.erased:
            with suppress(MemnetError):
                await process.flush(U1, current, read_first=not current.commit.sequence % 2)
    with suppress(MemnetError):
        await world.patch(U1, "created again")
    await world.drain()


async def test_writers_and_flushers_at_any_call_leave_no_segment() -> None:
    async def erase(world: ErasureWorld, watch: Any) -> None:
        with storage_watched(world.services.audit._blobs, watch):
            await world.request()
            await world.run()
            world.advance()
            await world.run()

    undisturbed = FallsAt(0, applied=False)
    await erase(await months(), undisturbed)
    assert len(undisturbed.calls) > 40
    for number in range(1, len(undisturbed.calls) + 1):
        world = await months()
        process = AuditLog(world.services.audit._blobs, world.services.vault)
        watch = AtEach(partial(write_and_flush, world, process), number)
        await erase(world, watch)
        if await world.services.erasures.read(U1) is not None:
            await world.finish()
            assert world.stored(U1) == {}, watch.calls[number - 1]
        # Otherwise it had ended before, and the writer has begun a new history.
        histories = await world.services.audit.histories(U1)
        assert all(history.begins == 1 for history in histories.values()), watch.calls[number - 1]
        assert all(one.fault is None for one in await rebuild_documents(U1, world.services))


async def test_a_late_append_creates_no_segment_while_or_after_the_erasure() -> None:
    world = await months()
    stored = await world.services.documents.get(alpha(U1))
    assert stored is not None
    current = envelope.load(stored.data)
    storage = storage_of(world.services.audit)
    names = [name for name in storage.names(f"{U1.prefix}audit/") if name.endswith(".jsonl")]
    lengths = [len(storage.data(name)) for name in names]
    await world.request()
    await world.run()
    process = AuditLog(world.services.audit._blobs, world.services.vault)
    for name, length in zip(names, lengths, strict=True):
        assert not await storage.append(name, b"late", offset=length)
    with pytest.raises(ErasureRunning):
        await process.flush(U1, current)
    assert world.stored(U1) == {}
    await world.finish()
    assert world.stored(U1) == {}


async def test_two_concurrent_processes_count_everything_once(world: Any) -> None:
    before = await world.expected()
    erasure_id = (await world.request()).erasure_id
    second: list[Erased] = []

    async def other() -> None:
        second.append(await world.run())

    assert await world.run(watch=Between("storage.delete", other, number=3)) is Erased.TAKEN_OVER
    assert second == [Erased.WAITING]
    await world.finish()
    assert dict((await world.status(erasure_id)).removed) == before


async def test_two_processes_that_end_it_create_one_receipt(world: Any) -> None:
    erasure_id = (await world.request()).erasure_id
    await world.run()
    world.advance()
    found: list[bytes | None] = []

    async def other() -> None:
        assert await world.run() is Erased.FINISHED
        found.append(await world.services.erasures.read_receipt(U1.tenant_id, erasure_id))

    await world.run(watch=Between("erasures.create_receipt", other))
    assert found == [await world.services.erasures.read_receipt(U1.tenant_id, erasure_id)]


async def test_a_late_process_does_not_end_a_newer_erasure(world: Any) -> None:
    await world.request()
    await world.run()
    world.advance()

    async def other() -> None:
        await world.run()
        await world.patch(U1, "afresh")
        await world.request("forget-2")

    assert await world.run(watch=Between("erasures.lift", other)) is Erased.TAKEN_OVER
    assert await world.services.erasures.read(U1) is not None
    with pytest.raises(ErasureRunning):
        await world.patch(U1, "again")


async def test_the_first_process_that_reads_the_fence_records_the_time(world: Any) -> None:
    """Its writer may have been killed, or never have had an answer, and the time that it named be long ago."""
    requested = erasure(U1, started_at=None)
    await world.services.erasures.write(U1, erasures.dump(requested), replaces=None)
    world.advance()
    seen = to_text(world.services.clock.now())
    assert (await world.journal()).erasure.started_at == seen
    world.advance()
    journal = await world.journal()
    assert journal.erasure.started_at == seen
    stored = await world.services.erasures.read(U1)
    assert stored is not None
    assert (erasures.load(U1, stored.data), stored.storage_etag) == (journal.erasure, journal.tag)


async def test_deletions_are_dated_before_the_last_read_of_the_record(world: Any) -> None:
    await world.request()
    journal = await world.journal()
    assert journal.known_at == world.services.clock.now()
    world.advance()
    dates: list[datetime] = []
    storage = world.services.user_storage
    inner = storage.delete

    async def delete(scope: UserScope, found: Found, *, known_at: datetime) -> None:
        dates.append(known_at)
        # However long each takes.
        world.advance()
        await inner(scope, found, known_at=known_at)

    storage.delete = delete
    noted = world.services.clock.now()
    await journal.remove([found async for found in rows(partial(storage.list, U1))][:3])
    assert dates == [noted] * 3
    assert journal.known_at > noted


async def test_a_changed_blob_is_kept_and_not_counted(world: Any) -> None:
    await world.request()
    journal = await world.journal()
    there = [found async for found in rows(partial(world.services.user_storage.list, U1))]
    altered = [Found(one.name, StorageETag('"another"')) if kind_of(U1, one.name) == "audit" else one for one in there]
    await journal.remove(altered)
    assert world.stored(U1) == {"audit": 2}
    assert "audit" not in journal.erasure.removed
    assert sum(journal.erasure.removed.values()) == len(there) - 2
    assert journal.erasure.batch == ()


async def test_a_suspended_process_deletes_no_newer_data(world: Any) -> None:
    """Its recorded batch has been deleted meanwhile; the same names are new data."""
    await world.request()
    fresh: dict[str, int] = {}

    async def meanwhile() -> None:
        await world.run()
        await world.finish()
        await world.live(U1)
        fresh.update(world.stored(U1))

    watch: Any = Between("storage.delete", meanwhile)
    assert await world.run(watch=watch) is Erased.TAKEN_OVER
    assert world.stored(U1) == fresh
    stored = await world.services.documents.get(alpha(U1))
    assert stored is not None
    assert stored.view is not None
