"""How much of a user any index shows."""

import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import IndexDocument
from memnet.domain.events.index_layout import LAYOUT, IndexVersion, Layout, dump_layout
from memnet.operations.events import count_indexed as module
from memnet.operations.events.count_indexed import count_indexed
from tests.domain.event_samples import SCOPE, stored_event
from tests.operations.event_scenario import World

OLD, NEW = IndexVersion("old"), IndexVersion("new")


async def test_each_event_counts_once_however_many_indexes_and_pages_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    world = World()
    for version, numbers in ((OLD, range(5)), (NEW, range(3, 9))):
        await world.index.create(version)
        await world.index.upload(version.name, [IndexDocument(stored_event(f"e{n}")) for n in numbers])
    stranger = stored_event("e1", scope=UserScope("t1", "u2"))
    await world.index.upload(OLD.name, [IndexDocument(stranger)])
    await world.register.write(LAYOUT, dump_layout(Layout(OLD, NEW)), replaces=None)
    assert await count_indexed(SCOPE, search=world.search) == 9
    await world.index.drop(OLD.name)
    assert await count_indexed(SCOPE, search=world.search) == 6


async def test_there_is_nothing_before_the_first_event() -> None:
    assert await count_indexed(SCOPE, search=World().search) == 0


async def test_what_cannot_be_seen_is_not_counted_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    await world.write()
    assert await count_indexed(SCOPE, search=world.search) == 1

    async def down(*_: object, **__: object) -> list[str]:
        raise Unavailable(dependency="search")

    monkeypatch.setattr(world.index, "list_of_user", down)
    with pytest.raises(Unavailable):
        await count_indexed(SCOPE, search=world.search)
