"""Somebody decides that what stands in the document stays."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import ConflictClosed, ConflictNotFound, FieldDenied, Unavailable
from memnet.domain.core.scope import Actor
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import ConflictStatus
from memnet.operations.replay.attempt_conflict import attempt_conflict
from memnet.operations.replay.discard_conflict import discard_conflict
from tests.operations.replay_scenario import ALPHA, SCOPE, Call, Watch, World, disputed_world, put
from tests.services import service_of

CAROL = Actor("carol", frozenset())


async def discard(world: World, conflict_id: str, note: str | None = None, **ports: Any) -> Any:
    chosen = {name: port for name, port in world.conflict_ports().items() if name != "queue"}
    found = await discard_conflict(SCOPE, conflict_id, service_of(**chosen | ports), actor=CAROL, note=note)
    await world.background.drain()
    return found


async def test_a_discarded_conflict_changes_nothing_and_names_who_decided() -> None:
    world, conflict = await disputed_world()
    before = await world.history(ALPHA)
    found, versions = await discard(world, conflict.conflict_id, "the live text is right")
    assert (found.status, found.next_attempt_at) == (ConflictStatus.DISCARDED, None)
    (decision,) = found.decisions
    assert (decision.by, decision.note) == ("carol", "the live text is right")
    assert versions is not None
    assert versions.proposal.ops[0]["value"] == "The retrieval rewrite"
    assert await world.history(ALPHA) == before
    assert await world.marked() == []


async def test_it_takes_no_further_decision_and_no_scheduled_retry_revives_it() -> None:
    world, conflict = await disputed_world()
    await discard(world, conflict.conflict_id)
    with pytest.raises(ConflictClosed) as refused:
        await discard(world, conflict.conflict_id)
    assert refused.value.details == {"status": "discarded"}
    await world.live(ALPHA, put("/summary", "Search as it was"))
    assert (await world.retry(conflict.job, 1)).status is ConflictStatus.DISCARDED
    assert (await world.content(ALPHA))["summary"] == "Search as it was"


def dying(at: str, *, applied: bool) -> Watch:
    async def watching(name: str, call: Call) -> Any:
        if name != at:
            return await call()
        if applied:
            await call()
        raise Unavailable

    return watching


async def test_what_an_interrupted_retry_has_applied_is_resolved_and_not_discarded() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "Search as it was"))
    down = {"count": 0}

    async def dies_after_the_write(name: str, call: Call) -> Any:
        down["count"] += name == "documents.put"
        if down["count"] and name.startswith("records"):
            raise Unavailable
        return await call()

    with pytest.raises(Unavailable):
        await attempt_conflict(conflict.job, service_of(**world.conflict_ports(dies_after_the_write)), attempt=1)
    with pytest.raises(ConflictClosed):
        await discard(world, conflict.conflict_id)
    ((found, _),) = await world.conflicts()
    assert found.status is ConflictStatus.RESOLVED
    assert found.change_id == (await world.history(ALPHA))[-1]["change_id"]


async def test_what_an_interrupted_retry_has_not_applied_is_discarded() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "Search as it was"))
    with pytest.raises(Unavailable):
        await attempt_conflict(
            conflict.job, service_of(**world.conflict_ports(dying("documents.put", applied=False))), attempt=1
        )
    found, _ = await discard(world, conflict.conflict_id)
    assert found.status is ConflictStatus.DISCARDED
    assert (await world.content(ALPHA))["summary"] == "Search as it was"


async def test_one_that_nobody_can_open_can_be_discarded() -> None:
    world, conflict = await disputed_world()
    stored = await world.records.read(conflict.key)
    assert stored is not None
    altered = replace(conflict, sealed={**conflict.sealed, "nonce": "AAAAAAAAAAAAAAAA"})
    await world.records.write(conflict.key, conflicts.dump(altered), replaces=stored.storage_etag)
    found, versions = await discard(world, conflict.conflict_id)
    assert (found.status, versions) == (ConflictStatus.DISCARDED, None)


async def test_what_is_not_there_is_refused() -> None:
    world = World()
    with pytest.raises(ConflictNotFound):
        await discard(world, "cfl-none")


async def test_a_sensitive_note_is_refused() -> None:
    world, conflict = await disputed_world()
    with pytest.raises(FieldDenied) as refused:
        await discard(world, conflict.conflict_id, "card 4111 1111 1111 1111")
    assert refused.value.details == {"path": "/note", "kind": "card_number"}
