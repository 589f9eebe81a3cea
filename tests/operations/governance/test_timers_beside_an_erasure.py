"""Timers and workers during an erasure: they skip the user without an alarm, and serve the others."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.errors import ErasureRunning
from memnet.domain.core.job import PENDING_MARKERS
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.documents.commands import IfMatch
from memnet.domain.documents.envelope import Envelope
from memnet.domain.governance.erasure import is_of
from memnet.domain.replay.replay import load as load_replay
from memnet.domain.replay.replay import replay_key
from memnet.operations.documents.outbox import SweepReport, sweep_user
from memnet.operations.governance.retention import apply_retention, apply_retentions
from memnet.operations.history.sign_checkpoints import SignReport, sign_checkpoints
from memnet.operations.replay.replays import replay_snapshot
from memnet.operations.sealing import rotate_keys
from memnet.operations.service.backlog import RequeueReport, requeue_jobs
from tests.memory_blobs import storage_of
from tests.operations.erasure_scenario import OTHER, U1, ErasureWorld


@pytest.fixture
def world() -> ErasureWorld:
    return ErasureWorld()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """An erasure raises no alarm: no error, no stack trace."""
    with caplog.at_level(logging.DEBUG):
        yield
    loud = [one for one in caplog.get_records("call") if one.levelno >= logging.ERROR or one.exc_info]
    assert [record.getMessage() for record in loud] == []


async def fence(world: ErasureWorld, scope: UserScope = U1) -> StorageETag:
    """Put the fence up, before anything is removed."""
    return await world.services.erasures.write(scope, b"{}", replaces=None)


async def unflushed(world: ErasureWorld, *scopes: UserScope) -> dict[UserScope, StorageETag]:
    """Create documents whose records are not flushed because of a fence; return the tags of the fences."""
    audit: Any = world.services.audit
    flush, tags = audit.flush, dict[UserScope, StorageETag]()

    async def late(scope: UserScope, current: Envelope) -> None:
        tags[scope] = await fence(world, scope)
        await flush(scope, current)

    audit.flush = late
    for scope in scopes:
        await world.patch(scope, "text")
    await world.drain()
    audit.flush = flush
    return tags


async def test_a_flush_after_the_response_is_skipped(world: ErasureWorld) -> None:
    assert set(await unflushed(world, U1)) == {U1}
    assert "audit" not in world.stored(U1)


async def test_the_sweeper_skips_the_document(world: ErasureWorld) -> None:
    tags = await unflushed(world, U1, OTHER)
    await world.services.erasures.lift(OTHER, tag=tags[OTHER])
    world.advance(timedelta(minutes=5))
    assert await sweep_user(U1, world.services) == SweepReport(listed=1, postponed=1)
    assert await sweep_user(OTHER, world.services) == SweepReport(listed=1, swept=1)
    assert ("audit" in world.stored(U1), world.stored(OTHER)["audit"]) == (False, 1)


async def test_no_checkpoint_is_signed_for_the_user(world: ErasureWorld) -> None:
    for scope in (U1, OTHER):
        await world.patch(scope, "text")
    await world.drain()
    await fence(world)
    assert await sign_checkpoints(world.services) == SignReport(users=2, signed=1, postponed=1)
    assert "heads" not in world.stored(U1)


async def test_a_history_during_an_erasure_raises_no_alarm(world: ErasureWorld) -> None:
    firsts = {scope: await world.patch(scope, "first") for scope in (U1, OTHER)}
    await world.drain()
    await sign_checkpoints(world.services)
    for scope, first in firsts.items():
        await world.patch(scope, "second", IfMatch(first.etag))
    await world.drain()
    storage = storage_of(world.services.audit)
    # The records are gone, and the document is not yet.
    for name in storage.names(f"{U1.prefix}audit/"):
        storage.drop(name)
    await fence(world)
    assert await sign_checkpoints(world.services) == SignReport(users=2, signed=1, postponed=1)


async def test_retention_skips_the_user(world: ErasureWorld) -> None:
    for scope in (U1, OTHER):
        await world.live(scope)
    await fence(world)
    before = world.stored(U1)
    report = await apply_retentions(None, world.services, as_of=None, dry_run=False)
    assert (report.users, report.failed) == (2, 0)
    assert world.stored(U1) == before
    with pytest.raises(ErasureRunning):
        await apply_retention(U1, world.services, as_of=None, dry_run=False)


async def test_rotation_skips_the_keys_of_the_user(world: ErasureWorld) -> None:
    neighbour = UserScope(U1.tenant_id, "u2")
    for scope in (U1, neighbour):
        await world.live(scope)
    await fence(world)
    vault: Any = world.services.vault
    report = await rotate_keys(U1.tenant_id, vault=vault)
    assert (report.users, report.rewrapped, report.postponed) == (2, 1, 1)


async def test_a_marker_is_not_created_again_and_other_jobs_are_sent(world: ErasureWorld) -> None:
    """The job's record comes between the removal of its mark and the second look at it."""
    for scope in (U1, OTHER):
        await world.snapshot(scope, "s1")
    await fence(world)
    world.advance(timedelta(hours=1))
    looks = 0

    async def watch(name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        nonlocal looks
        looks += name == "records.read"
        return None if looks == 1 else await call()

    report = await requeue_jobs(world.watched(watch, "records"))
    assert report == RequeueReport(sent=1, unmarked=1, waiting=0)
    assert not [name for name in everything(world) if name.startswith(PENDING_MARKERS)]


async def test_a_replay_writes_nothing_for_the_user(world: ErasureWorld) -> None:
    await world.snapshot(U1, "s1")
    [marked] = (await world.services.marks.list(limit=10, cursor=None)).items
    await fence(world)
    before = world.stored(U1)
    with pytest.raises(ErasureRunning):
        await replay_snapshot(marked.job, world.services)
    assert world.stored(U1) == before
    stored = await world.services.records.read(replay_key(U1, marked.job.job_id))
    assert stored is not None
    assert load_replay(stored.data).attempts == 0


# Not between the look at the fence (10) and the two writes that rely on it: an erasure waits for those.
@pytest.mark.parametrize("number", [1, 4, 8, 10, 13])
async def test_a_running_replay_stops_at_the_fence(world: ErasureWorld, number: int) -> None:
    await world.patch(U1, "text")
    await world.snapshot(U1, "s1")
    await world.drain()
    [marked] = (await world.services.marks.list(limit=10, cursor=None)).items
    calls = 0
    before: set[str] = set()

    async def watch(_name: str, call: Callable[[], Awaitable[Any]]) -> Any:
        nonlocal calls, before
        calls += 1
        if calls == number:
            await fence(world)
            # What was begun before it ends, as it does within the time for which an erasure waits.
            for _ in range(10):
                await asyncio.sleep(0)
            before = everything(world)
        return await call()

    watched = world.watched(watch, "documents", "audit", "events", "marks", "records")
    with suppress(ErasureRunning):
        await replay_snapshot(
            marked.job, replace(watched, vault=replace(world.services.vault, records=watched.records))
        )
    await world.drain()
    assert calls >= number
    assert everything(world) <= before


def everything(world: ErasureWorld) -> set[str]:
    """The names of all blobs of the user."""
    return {name for name in storage_of(world.services.user_storage).names() if is_of(U1, name)}
