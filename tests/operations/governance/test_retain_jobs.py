"""Replays, conflicts and accesses go when nobody can come back to them."""

from datetime import timedelta

from memnet.domain.catalog.retention_policy import Tally
from memnet.domain.core.user_item import ItemKey, ItemKind, dated_key
from memnet.domain.replay import conflict as conflicts
from memnet.operations.replay.create_conflict import create_conflict
from memnet.operations.replay.discard_conflict import discard_conflict
from memnet.operations.replay.fail_replay import fail_replay
from tests.domain.replay_samples import dispute, proposal
from tests.operations.retention_scenario import DAY, LEGAL, SCOPE, RetentionWorld
from tests.services import service_of


async def conflict(world: RetentionWorld, replay_id: str = "rpl-1", *, closed: bool = True) -> str:
    made = proposal(replay_id=replay_id)
    await create_conflict(
        made, dispute(), service_of(vault=world.vault, marks=world.marks, queue=world.queue), rebases=1
    )
    name = conflicts.conflict_id(made)
    if closed:
        ports = {name: port for name, port in world.conflict_ports().items() if name != "queue"}
        await discard_conflict(SCOPE, name, service_of(**ports), actor=LEGAL, note=None)
        await world.background.drain()
    return name


async def test_a_replay_outlives_its_snapshot_for_it_would_be_replayed_again():
    world = RetentionWorld()
    await world.converse("s1")
    world.clock.advance(100 * DAY)
    world.catalog = _with_longer_snapshots(world)
    assert (await world.retain()).report.tallies["replays"] == Tally(blocked=1)
    world.clock.advance(100 * DAY)
    assert (await world.retain()).report.tallies["replays"] == Tally(removed=1)
    assert await world.names(ItemKind.REPLAYS) == []


def _with_longer_snapshots(world: RetentionWorld):
    from dataclasses import replace

    from memnet.domain.catalog.retention_policy import Ceilings

    return replace(world.catalog, ceilings=Ceilings(snapshots_min_days=150, jobs_max_days=100))


async def test_an_open_conflict_waits_for_who_settles_it_and_a_closed_one_goes():
    world = RetentionWorld()
    opened = await conflict(world, "rpl-open", closed=False)
    await conflict(world, "rpl-closed")
    world.clock.advance(100 * DAY - timedelta(seconds=1))
    assert (await world.retain()).report.tallies["conflicts"] == Tally(retained=2)
    world.clock.advance(timedelta(seconds=1))
    applied = await world.retain()
    assert applied.report.tallies["conflicts"] == Tally(removed=1, blocked=1)
    assert await world.names(ItemKind.CONFLICTS) == [opened]


async def test_a_closed_conflict_waits_for_a_replay_that_can_go_on_and_would_open_it_again():
    world = RetentionWorld()
    job = await world.store("s1")
    await fail_replay(job, "DECRYPTION_FAILED", service_of(records=world.records, marks=world.marks, clock=world.clock))
    world.clock.advance(30 * DAY)
    await conflict(world, job.job_id)
    world.clock.advance(100 * DAY)
    dry = (await world.retain(dry_run=True)).report.tallies
    # The snapshot goes, with it the replay, and with that the conflict.
    assert (dry["snapshots"], dry["replays"], dry["conflicts"]) == (Tally(removed=1),) * 3
    await world.hold()
    held = (await world.retain()).report.tallies
    assert (held["snapshots"], held["replays"], held["conflicts"]) == (
        Tally(on_hold=1),
        Tally(blocked=1),
        Tally(blocked=1),
    )


async def test_the_marks_of_what_goes_go_along():
    world = RetentionWorld()
    await conflict(world)
    job = (await world.conflicts())[0][0].job
    await world.marks.mark(job)
    world.clock.advance(100 * DAY)
    await world.retain()
    assert await world.marked() == []


async def test_an_access_says_in_its_name_how_old_it_is():
    world = RetentionWorld()
    await world.converse("s1")
    await world.read_back("s1")
    await world.records.write(ItemKey(SCOPE, ItemKind.ACCESSES, "no-time"), b"{}", replaces=None)
    world.clock.advance(100 * DAY - timedelta(seconds=1))
    assert (await world.retain()).report.tallies["accesses"] == Tally(retained=1)
    world.clock.advance(timedelta(seconds=1))
    applied = await world.retain()
    assert applied.report.tallies["accesses"] == Tally(removed=1)
    assert applied.report.unreadable["accesses"] == 1
    assert await world.names(ItemKind.ACCESSES) == ["no-time"]


async def test_the_record_of_an_import_expires_by_the_time_in_its_name():
    world = RetentionWorld()
    run = dated_key(SCOPE, ItemKind.IMPORTS, world.clock.now(), "run-1")
    for key in (run, ItemKey(SCOPE, ItemKind.IMPORTS, "no-time")):
        await world.records.write(key, b"{}", replaces=None)
    world.clock.advance(100 * DAY - timedelta(seconds=1))
    assert (await world.retain()).report.tallies["imports"] == Tally(retained=1)
    world.clock.advance(timedelta(seconds=1))
    applied = await world.retain()
    assert (applied.report.tallies["imports"], applied.report.unreadable["imports"]) == (Tally(removed=1), 1)
    assert await world.names(ItemKind.IMPORTS) == ["no-time"]


async def test_what_cannot_be_read_stays_and_is_counted():
    world = RetentionWorld()
    for kind in (ItemKind.REPLAYS, ItemKind.CONFLICTS):
        await world.records.write(ItemKey(SCOPE, kind, "x"), b"{}", replaces=None)
    world.clock.advance(1000 * DAY)
    assert (await world.retain()).report.unreadable == {"replays": 1, "conflicts": 1}


async def test_without_a_rule_and_a_ceiling_nothing_goes():
    from memnet.domain.catalog.retention_policy import Ceilings
    from tests.domain.samples import CATALOG

    world = RetentionWorld(catalog=CATALOG)
    assert CATALOG.ceilings == Ceilings()
    await world.converse("s1")
    await world.read_back("s1")
    await conflict(world)
    world.clock.advance(10_000 * DAY)
    tallies = (await world.retain()).report.tallies
    assert (tallies["replays"], tallies["conflicts"], tallies["accesses"]) == (Tally(retained=1),) * 3
