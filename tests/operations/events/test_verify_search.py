"""Every difference between the stored events and the index is found and named."""

import pytest

from memnet.domain.core.errors import SearchUnavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.events.event import EventKey
from memnet.domain.events.event_search import IndexDocument
from tests.domain.event_samples import SCOPE, stored_event
from tests.operations.event_scenario import World

OTHER = UserScope("t2", "u1")


async def test_an_index_that_holds_what_is_stored_agrees() -> None:
    world = World()
    assert (await world.verify()).agrees
    for number in range(3):
        await world.write(f"e{number}")
    await world.write(scope=OTHER)
    report = await world.verify()
    assert (report.agrees, report.events, report.documents) == (True, 4, 4)
    assert (await world.verify("t2")).events == 1


async def test_every_kind_of_difference_is_told() -> None:
    world = World()
    for name in ("fine", "changed"):
        await world.write(name)
    (missing,) = await world.store("missing")
    broken = EventKey(SCOPE, "broken")
    await world.events.create(broken, b"{}")
    name = (await world.layout()).serving.name
    orphan, other = stored_event("orphan"), stored_event("changed", digest="other")
    await world.index.upload(name, [IndexDocument(orphan), IndexDocument(other)])
    report = await world.verify()
    assert not report.agrees
    assert (report.missing, report.different, report.unreadable) == ([missing.key], [other.key], [broken])
    assert report.orphaned == [orphan.key.index_key]
    assert (await world.verify("t2")).agrees


async def test_an_index_that_is_gone_cannot_be_compared() -> None:
    world = World()
    await world.write()
    await world.index.drop((await world.layout()).serving.name)
    with pytest.raises(SearchUnavailable):
        await world.verify()
