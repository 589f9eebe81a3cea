"""The storage calls of upkeep: they follow the users that changed or are due, and not all users."""

from memnet.domain.core.scope import UserScope
from memnet.domain.upkeep.marks import Work
from memnet.operations.service.run_shard import run_job, send_shards
from tests.operations.service.test_run_shard import changed, jobs
from tests.operations.upkeep_marks_scenario import DAY, UpkeepWorld


def users(count: int) -> list[UserScope]:
    return [UserScope("t1", f"u{number:05}") for number in range(count)]


async def timers(world: UpkeepWorld, *works: Work) -> int:
    """Run the timers and the jobs that they send; return the storage calls."""
    world.storage.count()
    for work in works:
        await send_shards(work, world.service)
        for job in await jobs(world):
            await run_job(job, world.service)
    return world.storage.count()


async def idle(count: int) -> list[int]:
    """Return the calls of each timer over users with nothing to do."""
    world = UpkeepWorld()
    await world.patch(users(1)[0])
    documents = {name: world.stored.data(name) for name in world.stored.names("tenants/")}
    for scope in users(count)[1:]:
        for name, data in documents.items():
            world.stored.overwrite(name.replace(users(1)[0].prefix, scope.prefix), data)
    await timers(world, Work.ALL)
    for prefix in ("changed/", "due/"):
        for name in world.stored.names(prefix):
            world.stored.drop(name)
    return [await timers(world, work) for work in Work]


async def test_with_nothing_due_the_calls_do_not_grow_with_the_users() -> None:
    few = await idle(20)
    assert few == await idle(2000)
    assert sum(few) < 10


async def cost(world: UpkeepWorld, scopes: list[UserScope]) -> int:
    """Return the calls of upkeep that follow from a change of each user."""
    await changed(world, *scopes)
    calls = await timers(world, Work.CHANGED)
    world.clock.advance(DAY)
    calls += await timers(world, Work.DUE)
    for name in world.stored.names("due/"):
        world.stored.drop(name)
    return calls


async def test_one_percent_of_the_users_costs_one_percent() -> None:
    world, scopes = UpkeepWorld(), users(300)
    everything, nothing, some = [await cost(world, scopes[:count]) for count in (300, 0, 3)]
    assert nothing < 10
    assert 0.5 * everything / 100 <= some <= 1.5 * everything / 100
