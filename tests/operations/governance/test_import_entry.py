"""One entry of an archive, put back or left alone."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events.event import Event, StoredEvent, place
from memnet.domain.governance.archive import EntryKind
from memnet.domain.governance.archive_entry import Entry, StoredRecord, read_entry
from memnet.domain.governance.archive_import import ImportOutcome
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import ReplayStatus
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.governance.import_user import import_entry
from memnet.operations.sealing.key_ring import KeyRing
from memnet.ports import StoreConflict
from tests.operations.archive_scenario import OPERATOR, exported, files, filled_world, marked
from tests.operations.replay_scenario import SCOPE, World
from tests.services import arguments

BODY = {"event_id": "e1", "service_id": "s", "timestamp": "2026-01-01T00:00:00Z", "source_type": "x", "digest": "d"}
EVENT = place(Event(**BODY), SCOPE)
RECORD = StoredRecord(ItemKey(SCOPE, ItemKind.ACCESSES, "a"), b"{}")


async def put_back(world: World, entry: Entry, **members: Any) -> ImportOutcome:
    chosen: dict[str, Any] = {"dry_run": False, "events": world.events, "vault": world.vault}
    chosen |= {"ids": world.ids, "background": world.background}
    return await import_entry(entry, **arguments(**chosen | members))


async def line_of(kind: EntryKind) -> bytes:
    archive, _ = await exported(await filled_world(0), reader=OPERATOR)
    return files(archive)[kind.file].splitlines()[0]


async def test_an_event_comes_back_and_waits_for_the_index() -> None:
    world = World()
    assert await put_back(world, EVENT, dry_run=True) is ImportOutcome.CREATED
    assert await world.events.get(EVENT.key) is None
    assert await put_back(world, EVENT) is ImportOutcome.CREATED
    assert await world.events.get(EVENT.key) == EVENT.data
    assert await marked(world) == {EVENT.key}


async def test_an_event_that_was_created_and_not_marked_is_marked() -> None:
    world = World()
    await world.events.create(EVENT.key, EVENT.data)
    assert await put_back(world, EVENT, dry_run=True) is ImportOutcome.THERE
    assert await put_back(world, EVENT) is ImportOutcome.THERE
    assert await marked(world) == {EVENT.key}


async def test_another_event_under_its_id_stays() -> None:
    world, other = World(), place(Event(**{**BODY, "digest": "another"}), SCOPE)
    await world.events.create(other.key, other.data)
    for dry_run in (True, False):
        assert await put_back(world, EVENT, dry_run=dry_run) is ImportOutcome.KEPT
    assert await world.events.get(EVENT.key) == other.data


async def test_a_record_is_created_once() -> None:
    world = World()
    for dry_run, fate in (
        (True, ImportOutcome.CREATED),
        (False, ImportOutcome.CREATED),
        (False, ImportOutcome.THERE),
        (True, ImportOutcome.THERE),
    ):
        assert await put_back(world, RECORD, dry_run=dry_run) is fate
    assert await put_back(world, replace(RECORD, data=b"[]")) is ImportOutcome.KEPT


@pytest.mark.parametrize("kind", [EntryKind.SNAPSHOTS, EntryKind.ACCESSES])
async def test_a_refusal_by_the_store_proves_nothing_unless_the_record_is_there(kind: EntryKind) -> None:
    world, entry = World(), read_entry(kind, SCOPE, await line_of(kind))
    applies = False

    async def refuse(name: str, call: Any) -> Any:
        if name == "records.write" and applies:
            await call()
        if name == "records.write":
            raise StoreConflict
        return await call()

    vault = world.ports(refuse)["vault"]
    await KeyRing(world.vault).get_or_create(SCOPE)
    with pytest.raises(Unavailable):
        await put_back(world, entry, vault=vault)
    applies = True
    assert await put_back(world, entry, vault=vault) is ImportOutcome.THERE


async def test_a_conversation_is_sealed_again_and_compared_unseen() -> None:
    world = World()
    entry = read_entry(EntryKind.SNAPSHOTS, SCOPE, await line_of(EntryKind.SNAPSHOTS))
    assert isinstance(entry, Snapshot)
    assert await put_back(world, entry, dry_run=True) is ImportOutcome.CREATED
    assert await put_back(world, entry) is ImportOutcome.CREATED
    stored = await world.records.read(entry.key)
    assert stored is not None
    assert b"concise" not in stored.data
    assert await put_back(world, entry) is ImportOutcome.THERE
    assert await put_back(world, replace(entry, service_id="another")) is ImportOutcome.KEPT
    assert (await world.records.list(SCOPE, ItemKind.ACCESSES, limit=9, cursor=None)).items == []


async def test_a_replay_that_has_its_sealed_plan_is_the_same_one() -> None:
    world = await filled_world(0)
    entry = read_entry(EntryKind.REPLAYS, SCOPE, await line_of(EntryKind.REPLAYS))
    assert isinstance(entry, StoredRecord)
    stored = await world.records.read(entry.key)
    assert stored is not None
    assert stored.data != entry.data
    assert await put_back(world, entry) is ImportOutcome.THERE
    other = replace(replays.load(entry.data), attempts=9)
    assert await put_back(world, replace(entry, data=replays.dump(other))) is ImportOutcome.KEPT


async def test_a_replay_that_had_not_ended_is_left_out() -> None:
    found = orjson.loads(await line_of(EntryKind.REPLAYS))
    for status in ReplayStatus:
        entry = read_entry(EntryKind.REPLAYS, SCOPE, canonical({**found, "status": status.value}))
        unfinished = status in (ReplayStatus.QUEUED, ReplayStatus.RUNNING)
        assert await put_back(World(), entry) is (ImportOutcome.LEFT_OUT if unfinished else ImportOutcome.CREATED)


async def test_a_conflict_that_is_open_is_left_out_for_its_versions_are_not_in_the_archive() -> None:
    found = orjson.loads(await line_of(EntryKind.CONFLICTS))
    for status, fate in (
        ("open", ImportOutcome.LEFT_OUT),
        ("resolved", ImportOutcome.CREATED),
        ("discarded", ImportOutcome.CREATED),
    ):
        entry = read_entry(EntryKind.CONFLICTS, SCOPE, canonical({**found, "status": status}))
        assert await put_back(World(), entry) is fate


def test_these_are_the_entries_there_are() -> None:
    assert Entry == StoredEvent | Snapshot | StoredRecord
