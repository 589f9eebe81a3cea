"""Conflicts are listed, retried on request and discarded."""

from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import (
    ConflictClosed,
    ConflictNotFound,
    FieldDenied,
    InvalidIdentifier,
    Unavailable,
)
from memnet.domain.core.scope import Actor
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import Asked, ConflictStatus
from memnet.operations.replay.conflicts import attempt_conflict, discard_conflict, list_conflicts, retry_conflict
from tests.operations.replay_scenario import ALPHA, SCOPE, Call, World, disputed_world, put
from tests.services import service_of


async def listed(
    world: World, status: ConflictStatus | None = None, limit: int = 100, cursor: str | None = None
) -> Any:
    return await list_conflicts(SCOPE, status=status, limit=limit, cursor=cursor, vault=world.vault)


async def test_a_conflict_has_what_it_takes_to_decide_it() -> None:
    world, conflict = await disputed_world()
    ((found, versions),) = (await listed(world)).items
    assert found == conflict
    assert versions is not None
    told = versions.members()
    assert told["base"]["content"]["summary"] == "The current search"
    assert told["ours"]["ops"] == [{"op": "replace", "path": "/content/summary", "value": "The retrieval rewrite"}]
    assert told["theirs"]["content"] == await world.content(ALPHA)
    assert told["diverged_at"]["path"] == "/content/summary"
    assert (found.confidence, found.evidence["message_ids"]) == (0.75, ["m3"])


CAROL = Actor("carol", frozenset())


async def retry(world: World, conflict_id: str, **ports: Any) -> Any:
    return await retry_conflict(SCOPE, conflict_id, service_of(**world.conflict_ports() | ports), actor=CAROL)


async def test_a_retry_notes_who_asked_and_resolves() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "The current search"))
    found, versions = await retry(world, conflict.conflict_id)
    assert found.status is ConflictStatus.RESOLVED
    assert [(decision.asked, decision.by) for decision in found.decisions] == [(Asked.RETRY, "carol")]
    assert versions is not None
    last = (await world.history(ALPHA))[-1]
    assert (last["change_id"], last["actor"]) == (found.change_id, "memnet-worker")
    assert await world.marked() == []


async def test_a_closed_conflict_takes_no_retry() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "The current search"))
    await retry(world, conflict.conflict_id)
    with pytest.raises(ConflictClosed) as refused:
        await retry(world, conflict.conflict_id)
    assert refused.value.details == {"status": "resolved"}


async def test_what_is_not_there_is_refused() -> None:
    world = World()
    with pytest.raises(ConflictNotFound):
        await retry(world, "cfl-none")
    with pytest.raises(InvalidIdentifier):
        await retry(world, "../x")


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
    await world.live(ALPHA, put("/summary", "The current search"))
    assert (await world.retry(conflict.job, 1)).status is ConflictStatus.DISCARDED
    assert (await world.content(ALPHA))["summary"] == "The current search"


async def test_what_an_interrupted_retry_has_applied_is_resolved_and_not_discarded() -> None:
    world, conflict = await disputed_world()
    await world.live(ALPHA, put("/summary", "The current search"))
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


async def test_an_unreadable_conflict_can_be_discarded() -> None:
    world, conflict = await disputed_world()
    stored = await world.records.read(conflict.key)
    assert stored is not None
    altered = replace(conflict, sealed={**conflict.sealed, "nonce": "AAAAAAAAAAAAAAAA"})
    await world.records.write(conflict.key, conflicts.dump(altered), replaces=stored.storage_etag)
    found, versions = await discard(world, conflict.conflict_id)
    assert (found.status, versions) == (ConflictStatus.DISCARDED, None)


async def test_a_sensitive_note_is_refused() -> None:
    world, conflict = await disputed_world()
    with pytest.raises(FieldDenied) as refused:
        await discard(world, conflict.conflict_id, "card 4111 1111 1111 1111")
    assert refused.value.details == {"path": "/note", "kind": "card_number"}
