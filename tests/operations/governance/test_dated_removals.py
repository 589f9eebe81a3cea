"""Whatever retention removes is dated before the holds were asked, and so never removed late under a new one."""

from datetime import datetime, timedelta
from typing import Any

from memnet.domain.core.user_item import ItemKey, ItemKind, dated_key
from memnet.operations.governance.retention import apply_retention
from tests.operations.retention_scenario import ALPHA, DAY, SCOPE, Between, RetentionWorld, StopsAt, put
from tests.services import service_of


async def test_every_removal_is() -> None:
    world = RetentionWorld()
    await world.create_project()
    await world.change(ALPHA, put("/summary", "second"))
    await world.sweep()
    await interrupted(world)
    await world.converse("s1")
    await world.read_back("s1")
    await world.event("evt-1")
    run = dated_key(SCOPE, ItemKind.IMPORTS, world.clock.now(), "run-1")
    await world.records.write(run, b"{}", replaces=None)
    world.clock.advance(400 * DAY)

    calls, looks, removed = 0, list[datetime](), set[str]()

    async def watch(name: str, call: Any) -> Any:
        nonlocal calls
        if name == "holds.list":
            # One look asks about two places, the user and the tenant.
            if calls % 2 == 0:
                looks.append(world.clock.now())
                world.clock.advance(timedelta(minutes=1))
            calls += 1
        return await call()

    def dated(store: Any, name: str) -> None:
        inner = getattr(store, name)

        async def delete(*given: Any, known_at: datetime | None = None, **named: Any) -> Any:
            assert known_at == looks[-1]
            kind = given[0].kind.value if isinstance(given[0], ItemKey) else type(store).__name__
            removed.add(f"{kind}.{name}")
            return await inner(*given, known_at=known_at, **named)

        setattr(store, name, delete)

    for store in (world.audit, world.records, world.events):
        dated(store, "delete")
    dated(world.audit, "delete_baseline")
    await apply_retention(SCOPE, service_of(**world.retention_ports(watch)), as_of=None, dry_run=False)
    assert removed == {
        "AuditLog.delete",
        "AuditLog.delete_baseline",
        "EventStore.delete",
        *(f"{kind}.delete" for kind in ("accesses", "imports", "replays", "snapshots")),
    }


async def interrupted(world: RetentionWorld) -> None:
    """A run that has put a baseline in place and ended there."""

    async def end() -> None:
        raise StopsAt

    world.clock.advance(366 * DAY)
    try:
        await world.retain(**world.retention_ports(Between("audit.delete", end)))
    except StopsAt:
        await world.change(ALPHA, put("/summary", "third"))
        await world.sweep()
