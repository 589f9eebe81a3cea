"""What an archive brings along of earlier imports: kept apart, once, and one step deep."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.archive_import import Fate
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken, Unavailable
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.sealing import is_sealed
from memnet.operations.open_attachment import open_attachment
from memnet.ports import StoreConflict
from tests.operations.archive_world import OTHER, exported, filled_world, imported
from tests.operations.replay_world import SCOPE, World
from tests.operations.test_import_crashes import FAILURES
from tests.operations.test_replay_crashes import Killed


async def attached(world: World, scope: Any) -> dict[str, bytes]:
    """What imports have left, opened."""
    found = {}
    for key in (await world.records.list(scope, RecordKind.IMPORTS, limit=1000, cursor=None)).items:
        record = await world.records.read(key)
        assert record is not None
        assert is_sealed(record.data) == ("/audit/" in key.name)
        found[key.name] = await open_attachment(key, record.data, vault=world.vault)
    return found


async def test_what_is_brought_along_lies_apart_and_one_step_deep_over_any_number_of_moves() -> None:
    places = [OTHER, replace(OTHER, user_id="u10"), replace(OTHER, user_id="u11"), SCOPE]
    world, here = await filled_world(1), SCOPE
    archives: list[str] = []
    came = dict[str, bytes]()
    for place in places:
        archive, report = await exported(world, here)
        here, world = place, World()
        await imported(world, archive, place)
        found = await attached(world, place)
        archives.append(report.sha256)
        own = {name: data for name, data in found.items() if "/earlier/" not in name}
        assert {name[:64] for name in own} == {report.sha256}
        earlier = {name.partition("/earlier/")[2]: data for name, data in found.items() if name not in own}
        assert all(name.startswith(f"{report.sha256}/") for name in found)
        # All that had come before, byte for byte, under the archive that it is of.
        assert earlier == came
        assert {name[:64] for name in earlier} == set(archives[:-1])
        came |= own


async def test_what_stands_there_already_of_earlier_imports_is_not_brought_along_into_its_own_place() -> None:
    world, second = await filled_world(1), World()
    await imported(second, (await exported(world))[0], OTHER)
    archive, report = await exported(second, OTHER)
    before = await attached(second, OTHER)
    for dry_run in (True, False):
        told = await imported(second, archive, OTHER, dry_run=dry_run)
        assert told.entries["imports", Fate.THERE] == report.manifest.counts["imports"] == len(before)
    after = await attached(second, OTHER)
    assert [name for name in after if name not in before and not name.startswith(f"{report.sha256}/runs/")] == []
    # Where nothing is left of it, it lies apart: nobody but the archive says who imported.
    copy = World()
    told = await imported(copy, archive, OTHER)
    assert told.entries["imports", Fate.CREATED] == len(before)
    restored = await attached(copy, OTHER)
    prefix = f"{report.sha256}/earlier/"
    assert {name.removeprefix(prefix): data for name, data in restored.items() if name.startswith(prefix)} == before


@pytest.mark.parametrize("target", [OTHER, SCOPE], ids=["restored", "taken over"])
@pytest.mark.parametrize("failure", FAILURES)
async def test_interrupted_at_any_call_it_is_brought_along_once(failure: str, target: UserScope) -> None:
    source, second = World(), World()
    await source.create_project()
    await imported(second, (await exported(source))[0], OTHER)
    archive, report = await exported(second, OTHER)
    undisturbed = World()
    await imported(undisturbed, archive, target)
    expected = await brought_along(undisturbed, target)
    assert len(expected) == report.manifest.counts["imports"]
    number, ended = 0, False
    while not ended:
        number += 1
        world, falls = World(), FAILURES[failure](number)
        try:
            await imported(world, archive, target, watch=falls)
            ended = len(falls.calls) < number
        except (Killed, Unavailable, StoreConflict):
            await world.background.drain()
        assert (await imported(world, archive, target)).complete
        assert await brought_along(world, target) == expected, falls.calls[-1]
    assert number > 5


async def brought_along(world: World, scope: UserScope) -> dict[str, bytes]:
    return {name: data for name, data in (await attached(world, scope)).items() if "/earlier/" in name}


@pytest.mark.parametrize("name", ["anything", f"{'a' * 64}/manifest", f"{'a' * 64}/audit/d-000000000001"])
async def test_what_no_import_leaves_ends_an_export(name: str) -> None:
    world = World()
    await world.records.write(RecordKey(SCOPE, RecordKind.IMPORTS, name), b"{}", replaces=None)
    with pytest.raises(HistoryBroken) as caught:
        await exported(world)
    assert caught.value.details["record"] == name
