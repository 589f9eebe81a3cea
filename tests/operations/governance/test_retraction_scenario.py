"""One poisoned conversation among twenty is taken back, and nothing else is touched.

The history has a merge, a consolidation, confirmations, a round of staleness, a rebase, a conflict, a migration, second
sources, and statements that the conversation closed. The oracle is the same history without the conversation.
"""

import orjson
import pytest

from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Json
from memnet.domain.governance.retraction import Retraction, RetractionStatus
from memnet.domain.governance.source import Source, SourceKind
from memnet.operations.governance.retractions import (
    RetractionView,
    apply_retraction,
    get_retraction,
    plan_retraction,
    undo_retraction,
)
from memnet.operations.governance.run_retraction import run_retraction
from tests.operations.poisoned_checks import (
    Contents,
    check_blame,
    check_clean,
    check_gone,
    check_histories,
    check_planned,
    contents_of,
)
from tests.operations.poisoned_history import prepared
from tests.operations.poisoned_scenario import POISON, PoisonedWorld
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import ADMIN, Between, Killed, drain, killed

SOURCE = Source(kind=SourceKind.CONVERSATION, conversation_id=POISON)
SAMPLE, LEAST, CHECKED_IN_FULL = 41, 100, 5
WORLDS: dict[bool, PoisonedWorld] = {}
BEGUN: dict[bool, tuple[PoisonedWorld, RetractionView]] = {}


async def world_of(*, poisoned: bool = True) -> PoisonedWorld:
    """A copy of the history, which is made once."""
    if poisoned not in WORLDS:
        WORLDS[poisoned] = await prepared(poisoned=poisoned)
    return WORLDS[poisoned].copy()


async def clean_contents() -> Contents:
    return await contents_of(await world_of(poisoned=False))


async def plan(world: PoisonedWorld, key: str = "k1") -> RetractionView:
    return await plan_retraction(ONE, SOURCE, "It was injected.", world.service, actor=ADMIN, idempotency_key=key)


async def begin(world: PoisonedWorld, view: RetractionView) -> str:
    retraction_id, etag = view.retraction.retraction_id, view.retraction.etag
    await apply_retraction(ONE, retraction_id, etag, world.service, actor=ADMIN)
    return retraction_id


async def run(world: PoisonedWorld, retraction_id: str) -> Retraction:
    job = Job(JobKind.RETRACTION, ONE.tenant_id, ONE.user_id, retraction_id)
    try:
        return await run_retraction(job, world.service)
    finally:
        await drain(world.service)


async def test_what_rests_on_it_alone_is_gone_and_nothing_else_is_touched() -> None:
    world = await world_of()
    before, items = await contents_of(world), world.kept()
    view = await plan(world)
    assert (await contents_of(world), world.kept()) == (before, items)
    assert (await run(world, await begin(world, view))).status is RetractionStatus.APPLIED
    after = await contents_of(world)
    check_planned(before, after, view.plan)
    check_clean(after, await clean_contents())
    await check_gone(world)
    await check_histories(world)
    await check_blame(world)
    done = await get_retraction(ONE, view.retraction.retraction_id, world.service)
    assert [one.values for one in done.plan.documents] == [one.values for one in view.plan.documents]


async def test_an_undo_restores_the_bytes_where_no_other_writer_was() -> None:
    world = await world_of()
    before, items = await contents_of(world), world.stored("snapshots", "events", "conflicts")
    retraction_id = await begin(world, await plan(world))
    await run(world, retraction_id)
    await undo_retraction(ONE, retraction_id, world.service, actor=ADMIN)
    assert (await run(world, retraction_id)).status is RetractionStatus.UNDONE
    assert orjson.dumps(_listed(await contents_of(world))) == orjson.dumps(_listed(before))
    assert world.stored("snapshots", "events", "conflicts") == items
    await check_histories(world)
    # It rests on the conversation again, and can be taken back again.
    again = await plan(world, "k2")
    await run(world, await begin(world, again))
    check_planned(before, await contents_of(world), again.plan)
    check_clean(await contents_of(world), await clean_contents())
    await check_gone(world)


async def _begun(*, undoes: bool) -> tuple[PoisonedWorld, RetractionView]:
    """A copy of the world in which a retraction, or its undo, has begun, and its plan."""
    if undoes not in BEGUN:
        world = await world_of()
        view = await plan(world)
        await begin(world, view)
        if undoes:
            await run(world, view.retraction.retraction_id)
            await undo_retraction(ONE, view.retraction.retraction_id, world.service, actor=ADMIN)
        BEGUN[undoes] = (world, view)
    world, view = BEGUN[undoes]
    return world.copy(), view


async def _killed_at(number: int, before: Contents, *, undoes: bool) -> bool:
    """Kill the worker at a storage call, continue, and check; False: there is no such call any more."""
    world, view = await _begun(undoes=undoes)
    retraction_id = view.retraction.retraction_id
    between = Between(world, number, killed)
    try:
        await run(world, retraction_id)
        return False
    except Killed:
        pass
    finally:
        between.stop()
    world.service = world.process()
    ended = await run(world, retraction_id)
    after = await contents_of(world)
    if undoes:
        assert ended.status is RetractionStatus.UNDONE, between.calls[-1]
        assert after == before, between.calls[-1]
        return True
    assert ended.status is RetractionStatus.APPLIED, between.calls[-1]
    check_planned(before, after, view.plan)
    done = await get_retraction(ONE, retraction_id, world.service)
    assert [one.values for one in done.plan.documents] == [one.values for one in view.plan.documents], between.calls[-1]
    changed = [one for one in done.plan.documents if one.values]
    assert all(one.change_id is not None for one in changed)
    for one in changed:
        now, was = await world.head(one.key(ONE)), view.plan.documents[done.plan.documents.index(one)]
        assert now is not None
        assert now.commit.sequence == int(was.etag.strip('"').partition("-")[0]) + 1, "a patch was applied twice"
    if number % CHECKED_IN_FULL == 0:
        await check_gone(world)
        await check_histories(world)
    return True


@pytest.mark.parametrize("undoes", [False, True])
async def test_a_kill_at_any_step_changes_nothing_in_the_end(*, undoes: bool) -> None:
    """Every SAMPLE-th storage call; the slow test has all of them."""
    number, before = 1, await contents_of(await world_of())
    while await _killed_at(number, before, undoes=undoes):
        number += SAMPLE
    assert number > LEAST


@pytest.mark.slow
@pytest.mark.parametrize("undoes", [False, True])
async def test_a_kill_at_every_step_changes_nothing_in_the_end(*, undoes: bool) -> None:
    number, before = 1, await contents_of(await world_of())
    while await _killed_at(number, before, undoes=undoes):
        number += 1
    assert number > LEAST


def _listed(contents: Contents) -> list[Json]:
    return [contents[key] for key in sorted(contents, key=str)]
