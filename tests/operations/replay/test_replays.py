"""A replay from its job to its end: alone, with other workers, and with live writers."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.errors import (
    DecryptionFailed,
    LimitExceeded,
    ReplayNotFound,
    Unavailable,
)
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.user_item import ItemKind
from memnet.domain.events.event import EventKey
from memnet.domain.replay import replay as replays
from memnet.domain.replay.conflict import BACKOFF
from memnet.domain.replay.replay import PatchStatus, ReplayStatus, replay_key
from memnet.operations.replay.replays import replay_snapshot
from tests.domain.samples import CATALOG
from tests.operations.replay_scenario import (
    ALPHA,
    DEADLINE,
    DYNAMIC,
    FACT,
    FORBIDDEN,
    PREFERENCE,
    PROFILE,
    SCOPE,
    SUMMARY,
    WORKER,
    Call,
    Meddler,
    World,
    add,
    answer,
    is_planned,
    proposed,
    put,
)
from tests.services import service_of


def saying(*patches: Any, **members: Any) -> ScriptedModels:
    return ScriptedModels([answer(*patches, **members)])


MAPS = add("/preferences/-", "Wants maps")


async def dies_at(step: str, world: World, job: Job) -> None:
    """Replay until a call fails."""

    async def watching(name: str, call: Call) -> Any:
        if name == step:
            raise Unavailable
        return await call()

    with pytest.raises(Unavailable):
        await replay_snapshot(job, service_of(**world.ports(watching)))


async def test_what_was_said_is_in_the_documents_with_its_evidence() -> None:
    world = World(models=saying(PREFERENCE, DEADLINE))
    await world.create_project()
    job = await world.store()
    replay = await world.replay(job)
    assert replay.status is ReplayStatus.SUCCEEDED
    assert (await world.content(DYNAMIC))["preferences"] == ["Prefers concise answers"]
    (record,) = await world.history(DYNAMIC)
    assert record["change_id"] == replay.patches[0].change_id
    assert (record["actor"], record["reason"], record["pre_etag"]) == (WORKER, "replay_update", None)
    assert (record["confidence"], record["source_time"]) == (0.75, "2026-02-14T20:00:00.000000Z")
    evidence = record["evidence"]
    assert (evidence["conversation_id"], evidence["message_ids"]) == ("c1", ["m1"])
    assert (evidence["snapshot_uri"], evidence["replay_id"]) == (replay.snapshot_uri, job.job_id)
    assert evidence["extraction"] == replay.extraction
    assert evidence["extraction"].items() > {"profile_sha256": CATALOG.profile(PROFILE).sha256}.items()
    (event,) = await world.stored_events()
    assert event["event_id"] == replay.event_id == f"memnet-{job.job_id}"
    assert event["timestamp"] == "2026-02-14T20:00:02.000000Z"
    assert (event["service_id"], event["source_type"]) == ("svc-chat", "chat")
    assert event["evidence"]["span"] == {"start": 0, "end": 2}
    assert await world.marked() == []


async def test_without_a_digest_there_is_no_event() -> None:
    world = World(models=saying(PREFERENCE, digest=None))
    replay = await world.replay(await world.store())
    assert replay.event_id is None
    assert await world.stored_events() == []


async def test_a_finished_replay_is_not_run_again() -> None:
    world = World(models=saying(PREFERENCE))
    job = await world.store()
    first = await world.replay(job)
    await world.marks.mark(job)
    assert await world.replay(job) == first
    assert len(world.models.asked) == 1
    assert await world.marked() == []


async def test_extraction_is_settled_once_whatever_the_model_would_say_the_second_time() -> None:
    other = proposed("user_dynamic", "user_dynamic.json", add("/preferences/-", "Prefers answers in verse"))
    world = World(models=ScriptedModels([answer(PREFERENCE, FACT), answer(other)]))
    job = await world.store()

    await dies_at("documents.put", world, job)
    await world.replay(job)
    assert len(world.models.asked) == 1
    assert (await world.content(DYNAMIC))["preferences"] == ["Prefers concise answers"]
    assert [record["idempotency_key"] for record in await world.history(DYNAMIC)] == [
        f"{job.job_id}-1",
        f"{job.job_id}-2",
    ]


async def test_workers_on_one_job_double_nothing() -> None:
    workers = 5
    answers = [
        answer(proposed("user_dynamic", "user_dynamic.json", add("/preferences/-", f"Prefers answers {number}")), FACT)
        for number in range(workers)
    ]
    world = World(models=ScriptedModels(answers))
    await world.create_project()
    job = await world.store()
    done = await asyncio.gather(*(world.replay(job) for _ in range(workers)))
    assert {replay.status for replay in done} == {ReplayStatus.SUCCEEDED}
    assert len((await world.content(DYNAMIC))["preferences"]) == 1
    assert [item["on_behalf_of"] for item in (await world.content(DYNAMIC))["pending_confirmations"]] == ["svc-chat"]
    assert len(await world.history(DYNAMIC)) == 2
    assert len(await world.stored_events()) == 1
    assert await world.marked() == []


async def test_a_race_that_is_lost_again_is_a_conflict_to_be_retried() -> None:
    world = World(models=saying(DEADLINE))
    await world.create_project(notes=["first"])
    job = await world.store()

    async def outrun(name: str, call: Call) -> Any:
        if name == "documents.put":
            await world.live(ALPHA, add("/recent_notes/-", f"note {world.writes}"))
        return await call()

    replay = await world.replay(job, **world.ports(outrun))
    (fate,) = replay.patches
    assert (replay.status, fate.status, fate.reason) == ("partial", "conflict", "ETAG_MISMATCH")
    ((conflict, versions),) = await world.conflicts()
    assert conflict.conflict_id == fate.conflict_id
    assert versions.proposal.base["recent_notes"] == ["first"]
    assert versions.proposal.ops[0]["value"]["text"] == "The deadline is Friday"
    assert versions.details.content == await world.content(ALPHA)
    assert await world.marked() == [conflict.job]
    assert world.queue.sent[-1] == (conflict.job, 1, world.clock.now() + BACKOFF[0])


async def test_two_patches_of_one_value_are_a_conflict_and_not_a_silent_overwriting() -> None:
    again = proposed("project_doc", "alpha.json", put("/summary", "The retrieval rewrite is the summary"), cites="m3")
    world = World(models=saying(SUMMARY, again))
    await world.create_project()
    replay = await world.replay(await world.store())
    assert [fate.status for fate in replay.patches] == ["applied", "conflict"]
    assert (await world.content(ALPHA))["summary"] == "The retrieval rewrite"


async def test_a_rejected_patch_has_its_code_and_does_not_stop_the_others() -> None:
    world = World(models=saying(DEADLINE, PREFERENCE, FORBIDDEN))
    await world.create_project()
    job = await world.store()
    fill = [add("/recent_notes/-", f"note {number}") for number in range(30)]
    meddler = Meddler(world, ItemKind.REPLAYS, is_planned, lambda: unanswered(world.live(ALPHA, *fill)))
    replay = await world.replay(job, **world.ports(meddler.beside(pass_on)))
    assert replay.status is ReplayStatus.PARTIAL
    assert [fate.status for fate in replay.patches] == ["rejected", "applied", "rejected"]
    assert (replay.patches[0].reason or "").startswith(LimitExceeded.code)
    assert (replay.patches[2].reason or "").startswith("PATH_NOT_WRITABLE")
    assert len((await world.content(ALPHA))["recent_notes"]) == 30


async def test_an_unknown_replay_is_not_found() -> None:
    with pytest.raises(ReplayNotFound):
        await World().replay(Job(JobKind.REPLAY, "t1", "u1", "rpl-none"))


async def test_a_record_that_names_another_snapshot_is_refused() -> None:
    world = World()
    job, _ = await world.store("s1"), await world.store("s2")
    stored = await world.records.read(replay_key(SCOPE, job.job_id))
    assert stored is not None
    swapped = replace(replays.load(stored.data), snapshot_id="s2")
    await world.records.write(swapped.key, replays.dump(swapped), replaces=stored.storage_etag)
    with pytest.raises(DecryptionFailed):
        await world.replay(job)


async def test_a_plan_that_was_altered_is_refused_and_nothing_of_it_applied() -> None:
    world = World(models=saying(PREFERENCE))
    job = await world.store()

    await dies_at("documents.put", world, job)
    stored = await world.records.read(replay_key(SCOPE, job.job_id))
    assert stored is not None
    replay = replays.load(stored.data)
    altered = replace(replay, sealed={**replay.sealed, "ciphertext": "AAAA" + replay.sealed["ciphertext"][4:]})
    await world.records.write(replay.key, replays.dump(altered), replaces=stored.storage_etag)
    with pytest.raises(DecryptionFailed):
        await world.replay(job)
    assert await world.content(DYNAMIC) is None


async def test_nothing_of_the_conversation_is_readable_while_a_replay_is_under_way() -> None:
    world = World(models=saying(PREFERENCE))
    job = await world.store()

    await dies_at("events.create", world, job)
    for data in world.records_at_rest():
        assert b"concise" not in data
        assert b"deadline" not in data


async def test_another_event_under_the_replays_id_costs_the_event_alone() -> None:
    world = World(models=saying(PREFERENCE))
    job = await world.store()
    await world.events.create(EventKey(SCOPE, f"memnet-{job.job_id}"), b"{}")
    replay = await world.replay(job)
    assert (replay.status, replay.event_id) == (ReplayStatus.PARTIAL, None)
    assert (replay.reason or "").startswith("EVENT_EXISTS: ")
    assert [fate.status for fate in replay.patches] == [PatchStatus.APPLIED]
    assert await world.marked() == []


async def unanswered(work: Awaitable[Any]) -> None:
    await work


async def pass_on(name: str, call: Call) -> Any:
    return await call()


async def test_a_text_that_waits_takes_the_evidence_of_each_conversation_that_says_it() -> None:
    """A text without members has the evidence of its pending item."""
    world = World(models=saying(proposed("user_dynamic", "user_dynamic.json", MAPS, confidence=0.6)))
    statuses: list[PatchStatus] = []
    for conversation_id in ("c1", "c2", "c2"):
        job = await world.store(f"s{len(statuses)}", conversation_id=conversation_id)
        statuses += [patch.status for patch in (await world.replay(job)).patches]
    (item,) = (await world.content(DYNAMIC))["pending_confirmations"]
    assert [one["conversation_id"] for one in [item["evidence"], *item["evidence"]["also"]]] == ["c1", "c2"]
    assert statuses == [PatchStatus.REDIRECTED, PatchStatus.REDIRECTED, PatchStatus.UNCHANGED]
