"""A user is known once anything but keys and marks is stored."""

from memnet.domain.core.job import Job, JobKind
from memnet.domain.governance.waiting import WaitingKind
from memnet.operations.governance.known_user import is_known
from memnet.stores import KeyRing
from tests.operations.turn_search_scenario import ONE, OTHER
from tests.operations.withdrawn_scenario import WithdrawnWorld


async def test_keys_and_marks_alone_are_no_memory() -> None:
    world = WithdrawnWorld()
    assert not await is_known(ONE, world.service)
    await KeyRing(world.service.vault).get_or_create(ONE)
    await world.service.marks.mark(Job(JobKind.REPLAY, ONE.tenant_id, ONE.user_id, "rpl-1"))
    await world.service.waiting.mark(ONE, WaitingKind.RETRACTION, "rtr-1")
    assert not await is_known(ONE, world.service)


async def test_one_conversation_makes_its_user_known_and_no_other() -> None:
    world = WithdrawnWorld()
    await world.say("c1")
    assert await is_known(ONE, world.service)
    assert not await is_known(OTHER, world.service)
