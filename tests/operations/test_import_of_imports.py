"""What an archive brings along of earlier imports: kept apart, once, and one step deep."""

from dataclasses import replace
from typing import Any

from memnet.domain.archive_import import Fate
from memnet.domain.record import RecordKind
from memnet.domain.sealing import is_sealed
from memnet.operations.open_attachment import open_attachment
from tests.operations.archive_world import OTHER, exported, filled_world, imported
from tests.operations.replay_world import SCOPE, World


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
