"""A user's documents are deleted from every index, and a deletion counts once it is visible."""

from collections.abc import Sequence

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import IndexDocument
from memnet.domain.events.index_layout import (
    LAYOUT,
    REBUILD,
    IndexVersion,
    Layout,
    Phase,
    Reindexing,
    dump_layout,
    dump_reindexing,
)
from memnet.operations.governance import erase_user as module
from memnet.operations.governance.erase_user import MAX_STALE_READS, erase_index
from memnet.stores import count_indexed
from tests.domain.event_samples import SCOPE, stored_event
from tests.operations.event_scenario import TroubledIndex, World

OTHERS = [UserScope("t1", "u2"), UserScope("t2", "u1"), UserScope("t1", "U1")]
OLD, NEW, LEFT = IndexVersion("old"), IndexVersion("new"), IndexVersion("left")


class SlowIndex(TroubledIndex):
    """Shows what was deleted for some more looks, and refuses to delete some keys."""

    shown_for = 0
    undeletable: frozenset[str] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.deletions: list[list[str]] = []
        self.looks = 0
        self._deleted: dict[str, dict[str, int]] = {}

    async def delete(self, name: str, keys: Sequence[str]) -> frozenset[str]:
        await self._fail()
        self.deletions.append(list(keys))
        refused = self.undeletable & set(keys)
        hidden = self._deleted.setdefault(name, {})
        for key in set(keys) - refused:
            hidden.setdefault(key, self.shown_for)
        await self._hide(name)
        return frozenset(refused)

    async def list_of_user(self, name: str, scope: UserScope, *, limit: int, after: str | None = None) -> Sequence[str]:
        await self._fail()
        self.looks += 1
        found = await super().list_of_user(name, scope, limit=limit, after=after)
        waiting = self._deleted.get(name, {})
        for key in waiting:
            waiting[key] -= 1
        await self._hide(name)
        return found

    async def _hide(self, name: str) -> None:
        waiting = self._deleted.get(name, {})
        gone = [key for key, looks in waiting.items() if looks <= 0]
        await super().delete(name, gone)
        for key in gone:
            del waiting[key]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)


async def filled(world: World, number: int = 5) -> None:
    for scope in (SCOPE, *OTHERS):
        for n in range(number):
            await world.write(f"e{n}", scope=scope)


async def left(world: World) -> list[int]:
    """How many documents of each other user there are."""
    return [await count_indexed(scope, search=world.search) for scope in OTHERS]


async def test_only_the_users_documents_are_deleted() -> None:
    world = World(index=SlowIndex())
    await filled(world)
    assert await erase_index(SCOPE, search=world.search) == 5
    assert (await count_indexed(SCOPE, search=world.search), await left(world)) == (0, [5, 5, 5])
    assert await erase_index(SCOPE, search=world.search) == 0


async def test_page_by_page_each_document_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INDEX_PAGE", 2)
    world = World(index=SlowIndex())
    await filled(world)
    assert await erase_index(SCOPE, search=world.search) == 5
    assert isinstance(world.index, SlowIndex)
    assert [len(keys) for keys in world.index.deletions] == [2, 2, 1]


@pytest.mark.parametrize("phase", [Phase.ANNOUNCED, Phase.COPYING, Phase.SWITCHED])
async def test_every_index_of_a_rebuild_is_emptied_and_an_event_counted_once(phase: Phase) -> None:
    world = World(index=SlowIndex())
    for n, version in enumerate((OLD, NEW, LEFT)):
        await world.index.create(version)
        await world.index.upload(version.name, [IndexDocument(stored_event(f"e{m}")) for m in range(n + 1)])
    layout = Layout(NEW) if phase is Phase.SWITCHED else Layout(OLD, NEW)
    record = Reindexing("r1", phase, "", "", NEW, (OLD.name, LEFT.name))
    await world.register.write(LAYOUT, dump_layout(layout), replaces=None)
    await world.register.write(REBUILD, dump_reindexing(record), replaces=None)
    assert await count_indexed(SCOPE, search=world.search) == 3
    assert await erase_index(SCOPE, search=world.search) == 3
    assert [len(index) for index in world.index._indexes.values()] == [0, 0, 0]


async def test_a_missing_index_is_skipped() -> None:
    world = World(index=SlowIndex())
    assert await erase_index(SCOPE, search=world.search) == 0
    await filled(world)
    await world.index.drop((await world.layout()).serving.name)
    assert await erase_index(SCOPE, search=world.search) == 0


async def test_a_deletion_is_awaited_until_it_is_visible_for_some_time() -> None:
    index = SlowIndex()
    index.shown_for = MAX_STALE_READS - 1
    world = World(index=index)
    await filled(world)
    assert await erase_index(SCOPE, search=world.search) == 5
    assert len(index.deletions) == 1
    index.shown_for = 10_000
    await filled(world)
    with pytest.raises(Unavailable):
        await erase_index(SCOPE, search=world.search)


async def test_a_failed_deletion_is_reported_and_the_next_call_continues() -> None:
    index = SlowIndex()
    index.undeletable = frozenset({stored_event("e3").key.index_key})
    world = World(index=index)
    await filled(world)
    with pytest.raises(Unavailable):
        await erase_index(SCOPE, search=world.search)
    # There is nothing to wait for.
    assert index.looks == 1
    assert await count_indexed(SCOPE, search=world.search) == 1
    index.undeletable = frozenset()
    assert await erase_index(SCOPE, search=world.search) == 1
    assert await left(world) == [5, 5, 5]
