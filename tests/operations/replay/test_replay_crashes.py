"""A replay, and the retry of a conflict, interrupted at every single call to anything outside, and done again.

Whatever the call and however it fails, the end is that of an undisturbed run: each patch applied once, one event, one
conflict, an intact chain of audit records.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.user_item import ItemKind
from memnet.operations.replay.conflicts import attempt_conflict
from memnet.operations.replay.replays import replay_snapshot
from memnet.ports import StoreConflict
from tests.operations.replay_scenario import (
    ALPHA,
    DEADLINE,
    DYNAMIC,
    FACT,
    FORBIDDEN,
    PREFERENCE,
    SUMMARY,
    WORKER,
    Call,
    Meddler,
    Watch,
    World,
    add,
    answer,
    is_planned,
    put,
    unwatched,
)
from tests.services import service_of


class Killed(BaseException):
    """The process is gone."""


class FallsAt:
    """Lets one call fail, by its number: before it reaches the other side, or after that with its answer lost."""

    def __init__(self, number: int, error: type[BaseException], *, applied: bool, only: str = "") -> None:
        self.number, self.error, self.applied, self.only = number, error, applied, only
        self.calls: list[str] = []

    async def __call__(self, name: str, call: Call) -> Any:
        if not name.startswith(self.only):
            return await call()
        self.calls.append(name)
        if len(self.calls) != self.number:
            return await call()
        if self.applied:
            await call()
        raise self.error


Failure = Callable[[int], FallsAt]
FAILURES: dict[str, Failure] = {
    "killed before": lambda number: FallsAt(number, Killed, applied=False),
    "killed after": lambda number: FallsAt(number, Killed, applied=True),
    "lost before": lambda number: FallsAt(number, Unavailable, applied=False),
    "lost after": lambda number: FallsAt(number, Unavailable, applied=True),
    "applied but reported as refused": lambda number: FallsAt(
        number, StoreConflict, applied=True, only="records.write"
    ),
}


def is_sent(conflict: Any) -> bool:
    return bool(conflict["rebases"] == 2)


Work = Callable[[Watch, BackgroundTasks], Awaitable[Any]]


async def persist(work: Work, failure: FallsAt) -> None:
    """One process after the other, as long as they die: each has its own background work, which dies with it."""
    for _ in range(6):
        background = BackgroundTasks()
        try:
            await work(failure, background)
        except (Killed, Unavailable):
            await background.drain(0)
            continue
        await background.drain()
        return
    raise AssertionError("it never ends")


async def replayed(failure: FallsAt) -> Any:
    """What is left behind by a replay that comes to every kind of fate, because a live writer comes in between."""
    world = World(models=ScriptedModels([answer(PREFERENCE, FACT, SUMMARY, DEADLINE, FORBIDDEN)]))
    await world.create_project(notes=["first"])
    job = await world.store()

    async def write() -> None:
        await world.live(ALPHA, put("/summary", "As a live writer has it"), add("/recent_notes/-", "second"))
        await world.live(DYNAMIC, add("/preferences/-", "Wants diagrams"))

    meddler = Meddler(world, ItemKind.REPLAYS, is_planned, write)
    await persist(
        lambda watch, background: replay_snapshot(job, service_of(**world.ports(meddler.beside(watch), background))),
        failure,
    )
    return await world.state(job)


async def retried(failure: FallsAt) -> Any:
    """What is left behind by a conflict that could be resolved, and is after one more lost race."""
    world = World(models=ScriptedModels([answer(SUMMARY)]))
    await world.create_project(notes=["first"])
    job = await world.store()

    async def contradict() -> None:
        await world.live(ALPHA, put("/summary", "As a live writer has it"))

    meddler = Meddler(world, ItemKind.REPLAYS, is_planned, contradict)
    await replay_snapshot(job, service_of(**world.ports(meddler.beside(unwatched))))
    await world.live(ALPHA, put("/summary", "The current search"))
    ((conflict, _),) = await world.conflicts()

    async def interfere() -> None:
        await world.live(ALPHA, add("/recent_notes/-", "second"))

    racer = Meddler(world, ItemKind.CONFLICTS, is_sent, interfere)
    for attempt in (1, 2):

        async def work(watch: Watch, background: BackgroundTasks, attempt: int = attempt) -> Any:
            ports = world.conflict_ports(racer.beside(watch), background)
            return await attempt_conflict(conflict.job, service_of(**ports), attempt=attempt)

        await persist(work, failure)
    # A mark that could not be taken away is left to this.
    world.clock.advance(timedelta(hours=1))
    await world.requeue()
    return await world.state(job)


async def outcome_of_retries(failure: FallsAt) -> Any:
    """A retry after a crash settles the one before it as well, so that fewer of them may be needed."""
    found = await retried(failure)
    for conflict, versions, _ in found["conflicts"]:
        for name in ("attempts", "retry_number", "reason"):
            del conflict[name]
        del versions["theirs"], versions["diverged_at"]
    return found


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("scene", [replayed, outcome_of_retries])
async def test_an_interruption_at_any_call_changes_nothing_in_the_end(
    scene: Callable[[FallsAt], Awaitable[Any]], kind: str
) -> None:
    undisturbed = FAILURES[kind](0)
    expected = await scene(undisturbed)
    assert len(undisturbed.calls) >= 4
    for number, name in enumerate(undisturbed.calls, start=1):
        found = await scene(FAILURES[kind](number))
        assert found == expected, f"call {number}: {name}"


async def test_the_undisturbed_replay_comes_to_every_kind_of_fate() -> None:
    found = await replayed(FallsAt(0, Killed, applied=False))
    fates = [(fate["status"], fate.get("reason")) for fate in found["replay"]["patches"]]
    assert fates == [
        ("applied", None),
        ("redirected", None),
        ("conflict", "changed"),
        ("applied", None),
        ("rejected", "PATH_NOT_WRITABLE: The profile does not let a replay write there."),
    ]
    alpha, records = found["documents"]["alpha.json"]
    assert [note if isinstance(note, str) else note["text"] for note in alpha["recent_notes"]] == [
        "first",
        "second",
        "The deadline is Friday",
    ]
    assert alpha["summary"] == "As a live writer has it"
    assert [record["idempotency_key"].rpartition("-")[2] for record in records] == ["2", "3", "4"]
    dynamic, records = found["documents"]["user_dynamic.json"]
    assert dynamic["preferences"] == ["Wants diagrams", "Prefers concise answers"]
    assert [item["text"] for item in dynamic["pending_confirmations"]] == ["Leads the retrieval team"]
    assert [bool(record["lineage"]) for record in records] == [False, True, False]
    assert len(found["events"]) == 1
    assert len(found["conflicts"]) == 1


async def test_the_undisturbed_retry_ends_resolved_after_a_lost_race() -> None:
    found = await retried(FallsAt(0, Killed, applied=False))
    ((conflict, _, _),) = found["conflicts"]
    assert (conflict["status"], conflict["attempts"], conflict["rebases"]) == ("resolved", 2, 3)
    alpha, records = found["documents"]["alpha.json"]
    assert alpha["summary"] == "The retrieval rewrite"
    assert alpha["recent_notes"] == ["first", "second"]
    assert [record["lineage"] for record in records if record["actor"] == WORKER] == ["rpl-HASH-1"]
    assert found["marks"] == []
