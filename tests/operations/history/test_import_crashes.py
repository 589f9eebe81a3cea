"""An import interrupted at every single call to anything outside, and done again: the end is always the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.events.event import EventKey
from memnet.domain.governance.archive_import import ImportOutcome
from memnet.operations.documents.outbox import sweep_user
from memnet.operations.documents.write import patch_document
from memnet.operations.history.verify_history import rebuild_documents
from memnet.ports import StoreConflict
from tests.domain.event_samples import stored_event
from tests.memory_blobs import storage_of
from tests.operations.archive_scenario import (
    OPERATOR,
    OTHER,
    exported,
    filled_world,
    imported,
    marked,
    stored,
)
from tests.operations.replay.test_replay_crashes import FallsAt, Killed
from tests.operations.replay_scenario import ALPHA, DYNAMIC, SCOPE, STATIC, Call, World, normal, put
from tests.services import service_of

WRITES = ("records.write", "documents.put", "events.create")


class Conflicting(FallsAt):
    """The client library has sent a conditional write twice: the second try is refused because of the first."""

    async def __call__(self, name: str, call: Call) -> Any:
        return await (super().__call__(name, call) if name in WRITES else call())


FAILURES: dict[str, Callable[[int], FallsAt]] = {
    "killed before": lambda number: FallsAt(number, Killed, applied=False),
    "killed after": lambda number: FallsAt(number, Killed, applied=True),
    "lost before": lambda number: FallsAt(number, Unavailable, applied=False),
    "lost after": lambda number: FallsAt(number, Unavailable, applied=True),
    "applied but reported as refused": lambda number: Conflicting(number, StoreConflict, applied=True),
}


async def state(world: World, scope: UserScope) -> Any:
    """All that an import leaves, without ids and times that differ from run to run."""
    # Off the path: what a process did not get to, the sweeper does.
    await sweep_user(scope, service_of(documents=world.documents, audit=world.audit, clock=world.clock))
    rebuilt = await rebuild_documents(scope, service_of(documents=world.documents, audit=world.audit))
    keys = [replace(key, scope=scope) for key in (ALPHA, DYNAMIC, STATIC)]
    blobs = await stored(world, scope)
    return orjson.loads(
        normal(
            {
                "faults": [found.fault for found in rebuilt],
                "versions": [found.changes for found in rebuilt],
                "contents": [await world.content(key) for key in keys],
                "blobs": sorted(normal(orjson.loads(data)) for data in blobs.values()),
                "marked": sorted(key.event_id for key in await marked(world)),
                "snapshots": storage_of(world.records).names(f"{SCOPE.prefix}snapshots/"),
            }
        )
    )


@pytest.mark.parametrize("target", [SCOPE, OTHER], ids=["restored", "taken over"])
@pytest.mark.parametrize("failure", FAILURES)
async def test_an_interrupted_import_is_finished_by_the_next_one(failure: str, target: UserScope) -> None:
    archive, _ = await exported(await filled_world(1), reader=OPERATOR)
    undisturbed = World()
    await imported(undisturbed, archive, target)
    expected = await state(undisturbed, target)
    number, ended = 0, False
    while not ended:
        number += 1
        world, falls = World(), FAILURES[failure](number)
        try:
            await imported(world, archive, target, watch=falls)
            ended = len(falls.calls) < number
        except (Killed, Unavailable, StoreConflict):
            await world.background.drain()
        report = await imported(world, archive, target)
        assert report.complete
        assert await state(world, target) == expected, falls.calls[-1]
    assert number > (5 if failure == "applied but reported as refused" else 20)


async def test_names_are_in_the_order_of_their_blobs() -> None:
    """ "a-b" is after "a", and the blob of "a-b" before that of "a"."""
    world, copy, names = World(), World(), ["a", "a-b", "a.b", "A", "a.json", "a.json-x"]
    for name in names:
        command = world.live_command(ALPHA, None, put("/summary", "short"))
        key = DocumentKey(SCOPE, "projects", f"{name}.json")
        await patch_document(replace(command, key=key, idempotency_key=name), service_of(**world.writing()))
        await world.events.create(EventKey(SCOPE, name), stored_event(name, scope=SCOPE).data)
    await world.background.drain()
    report = await imported(copy, (await exported(world))[0])
    assert {fate for _, fate in report.documents} == {ImportOutcome.CREATED}
    assert len(report.documents) == report.entries["events", ImportOutcome.CREATED] == len(names)
