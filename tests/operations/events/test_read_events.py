"""What is stored is read, and what is not an event told apart from what is missing."""

from memnet.domain.events.event import EventKey
from memnet.operations.events.read_events import read_events
from tests.domain.event_samples import SCOPE
from tests.operations.event_scenario import World


async def test_what_is_stored_what_is_not_ours_and_what_is_missing() -> None:
    world = World()
    (stored,) = await world.store("e1")
    broken, misplaced, missing = (EventKey(SCOPE, name) for name in ("e2", "e3", "e4"))
    await world.events.create(broken, b"{}")
    await world.events.create(misplaced, stored.data)
    found = await read_events([stored.key, broken, misplaced, missing], events=world.events)
    assert found.keys() == {stored.key, broken, misplaced}
    assert (found[broken], found[misplaced]) == (None, None)
    assert found[stored.key] is not None
    assert found[stored.key].data == stored.data  # type: ignore[union-attr]
