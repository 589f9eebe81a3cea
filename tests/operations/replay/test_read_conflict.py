"""Reading a conflict."""

from dataclasses import replace

import pytest

from memnet.domain.core.errors import ConflictNotFound, HistoryCorrupt
from memnet.domain.replay import conflict as conflicts
from memnet.operations.replay.read_conflict import read_conflict
from tests.operations.replay_scenario import SCOPE, World, disputed_world


async def test_the_versions_are_opened() -> None:
    world, conflict = await disputed_world()
    held = await read_conflict(SCOPE, conflict.conflict_id, vault=world.vault)
    assert held.conflict == conflict
    assert held.versions is not None
    assert held.versions.proposal.base["summary"] == "Search as it was"


async def test_what_does_not_open_is_told_without_its_versions() -> None:
    world, conflict = await disputed_world()
    moved = replace(conflict, conflict_id="cfl-other")
    await world.records.write(moved.key, conflicts.dump(moved), replaces=None)
    held = await read_conflict(SCOPE, "cfl-other", vault=world.vault)
    assert held.versions is None


async def test_what_is_not_there_or_none_is_refused() -> None:
    world = World()
    with pytest.raises(ConflictNotFound):
        await read_conflict(SCOPE, "cfl-none", vault=world.vault)
    await world.records.write(conflicts.conflict_key(SCOPE, "x"), b"{}", replaces=None)
    with pytest.raises(HistoryCorrupt):
        await read_conflict(SCOPE, "x", vault=world.vault)
