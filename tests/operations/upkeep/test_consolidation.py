"""Consolidation on a stored document: once for each version, whatever crashes or writes meanwhile."""

import asyncio
import dataclasses
from random import Random
from typing import Any

import orjson
import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.process.no_telemetry import NoTelemetry
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.metric import CONSOLIDATED, MODEL_TOKENS
from memnet.domain.core.scope import Actor
from memnet.domain.documents.commands import ConfirmPending, IfExists, RejectPending
from memnet.domain.replay.usage import usage_key
from memnet.domain.upkeep.marks import Work
from memnet.operations.consolidation import EXHAUSTED, UNAVAILABLE, consolidate_documents
from memnet.operations.documents.pending import confirm_pending, reject_pending
from memnet.operations.history.verify_history import rebuild_documents
from memnet.operations.replay.turn_usage import count_call
from memnet.operations.upkeep import Outcome, compact_document
from memnet.ports import ModelAnswer, ModelOutcome
from tests.operations.consolidation_scenario import (
    DOCUMENT,
    LIVE,
    ONE,
    WORKER,
    ConsolidationWorld,
    TopicEmbedder,
    catalog_with,
    says,
)
from tests.operations.upkeep_marks_scenario import READY, Killed

TEXT = "In the city of Lisbon the user lives."


def cites(entry: dict[str, Any]) -> set[str]:
    items = [entry["evidence"], *entry["evidence"].get("also", [])]
    return {item["conversation_id"] for item in items if "conversation_id" in item}


def answer(text: str = TEXT, tokens: int = 0) -> ModelAnswer:
    output = orjson.dumps({"joined": [{"group": 1, "text": text}]}).decode()
    return ModelAnswer(output, ModelOutcome.COMPLETE, "scripted", tokens_in=tokens)


async def check(world: ConsolidationWorld, said: dict[str, dict[str, Any]]) -> None:
    """Check that each statement that was made has a trace, and that its history verifies and gives each version."""
    await world.drain()
    facts = {entry["id"]: entry for entry in await world.facts()}
    for entry_id, entry in said.items():
        now = facts[entry_id]
        assert (now["text"], now["value"]) == (entry["text"], entry["value"])
        assert cites(now) >= cites(entry)
        while "replaced_by" in now:
            now = facts[now["replaced_by"]]
        assert "valid_until" not in now
        assert now["text"] in {one["text"] for one in said.values()}
    (history,) = [one for one in await rebuild_documents(ONE, world.service) if one.key == DOCUMENT]
    assert (history.fault, history.last) == (None, (await world.head()).commit.sequence)


async def test_it_is_one_audited_change_and_a_second_run_does_nothing() -> None:
    world = ConsolidationWorld()
    facts = [says(n) for n in range(6)]
    await world.know(*facts)
    first = await world.consolidate()
    assert (first.outcome, first.plan.counts()) == (Outcome.CHANGED, {"consolidated": 5})
    assert await world.open() == ["s005"]
    assert cites((await world.facts())[5]) == {f"c{n}" for n in range(6)}
    assert (await world.consolidate()).outcome is Outcome.UNTOUCHED
    assert (await world.head()).commit.sequence == 2
    await check(world, {fact["id"]: fact for fact in facts})


async def test_two_workers_at_once_do_it_once() -> None:
    world = ConsolidationWorld()
    await world.know(*(says(n) for n in range(6)))
    results = await asyncio.gather(world.consolidate(), world.consolidate())
    assert Outcome.CHANGED in {one.outcome for one in results}
    assert (await world.head()).commit.sequence == 2


async def test_a_live_writer_in_between_postpones_it() -> None:
    world = ConsolidationWorld(embedder=(embedder := TopicEmbedder()))
    await world.know(says(0), says(1))
    embed = embedder.embed

    async def slow(texts: Any) -> Any:
        await world.say(says(2, "Another matter."))
        return await embed(texts)

    embedder.embed = slow  # type: ignore[method-assign]
    assert (await world.consolidate()).outcome is Outcome.POSTPONED
    embedder.embed = embed  # type: ignore[method-assign]
    assert (await world.consolidate()).outcome is Outcome.CHANGED
    assert await world.open() == ["s001", "s002"]


@pytest.mark.parametrize(("count", "is_durable"), [(500, False), (40, True)])
async def test_killed_at_every_call_over_near_duplicates_the_end_is_the_same(count: int, is_durable: bool) -> None:
    facts = [says(n) for n in range(count)]
    said = {fact["id"]: fact for fact in facts}
    catalog = catalog_with(room=20, durable=is_durable)
    undisturbed = ConsolidationWorld(catalog)
    await undisturbed.know(*facts)
    undisturbed.storage.count()
    await undisturbed.consolidate()
    await undisturbed.drain()
    steps, end = undisturbed.storage.count(), await undisturbed.content()
    assert steps >= 3
    for number in range(1, steps + 1):
        world = ConsolidationWorld(catalog)
        await world.know(*facts)
        world.storage.count()
        world.storage.kill_at = number
        try:
            await world.consolidate()
            await world.drain()
        except Killed:
            pass
        world.storage.kill_at = None
        await world.consolidate()
        await world.consolidate()
        assert await world.content() == end
        assert (await world.head()).commit.sequence == 2
        await check(world, said)


async def test_beside_live_writers_nothing_is_lost() -> None:
    world, random = ConsolidationWorld(catalog_with(room=5)), Random(7)
    said = {fact["id"]: fact for fact in (says(n) for n in range(5))}
    await world.know(*said.values())

    async def write(first: int) -> None:
        for number in range(first, first + 10):
            fact = says(number, random.choice(["The user lives in Lisbon.", "In Lisbon the user lives."]))
            said[fact["id"]] = fact
            await world.say(fact)
            await asyncio.sleep(0)

    async def tend() -> None:
        for _ in range(15):
            await world.consolidate()
            await compact_document(DOCUMENT, world.service, actor=WORKER)
            await asyncio.sleep(0)

    await asyncio.gather(write(10), write(30), write(50), tend(), tend())
    while (await world.consolidate()).outcome is not Outcome.UNTOUCHED:
        pass
    await check(world, said)


async def test_near_is_by_meaning_where_there_are_embeddings() -> None:
    world = ConsolidationWorld(catalog_with(above=0.85), embedder=(embedder := TopicEmbedder()))
    await world.know(says(0, "He lives in Lisbon."), says(2, "He resides in Lisbon."), says(1, "In Lisbon he lives."))
    await world.consolidate()
    assert await world.open() == ["s002", "s001"]
    assert len(embedder.embedded) == 3
    await world.consolidate()
    assert len(embedder.embedded) == 3


async def test_embeddings_that_fail_leave_it_to_the_next_run() -> None:
    class Down(TopicEmbedder):
        async def embed(self, texts: Any) -> Any:
            raise Unavailable(dependency="embeddings")

    world = ConsolidationWorld(embedder=Down())
    await world.know(says(0), says(1))
    with pytest.raises(Unavailable):
        await world.consolidate()
    assert len(await world.open()) == 2


async def test_without_a_rule_nothing_is_read() -> None:
    world = ConsolidationWorld()
    await world.patch(ONE)
    world.storage.count()
    found = await consolidate_documents(ONE, world.service, actor=WORKER)
    assert found == []
    assert world.storage.calls == {"list": 1}


async def test_what_follows_from_a_change_includes_it() -> None:
    world = ConsolidationWorld()
    await world.know(says(0), says(1))
    world.clock.advance(READY)
    await world.run(Work.CHANGED)
    assert await world.open() == ["s001"]


async def hourly(world: ConsolidationWorld) -> dict[str, int]:
    """The storage calls that the hourly consolidation of the document makes, with all that follows in the background.

    The compaction before it is not counted: other documents have it too.
    """
    await world.drain()
    world.storage.count()
    await world.consolidate()
    await world.drain()
    calls = dict(world.storage.calls)
    world.storage.count()
    return calls


async def test_a_run_with_nothing_to_do_costs_one_read() -> None:
    for facts in ([], [says(0)], [says(0), says(1, "Another matter.")]):
        world = ConsolidationWorld()
        await world.know(*facts)
        assert await hourly(world) == {"get": 1}


async def test_a_run_with_one_merge_costs_one_change() -> None:
    world = ConsolidationWorld()
    await world.know(says(0), says(1))
    assert await hourly(world) == {"get": 4, "put": 1, "append": 1}
    assert await hourly(world) == {"get": 1}


async def test_with_a_model_the_text_is_written_and_metered() -> None:
    models = ScriptedModels([answer(tokens=7)])
    world = ConsolidationWorld(catalog_with(prompt=True), models=models)
    await world.know(says(0), says(1))
    result = await world.consolidate()
    assert result.plan.counts() == {"consolidated": 1, "reworded": 1}
    kept = (await world.facts())[1]
    assert (kept["text"], kept["confidence"], cites(kept)) == (TEXT, 0.7, {"c0", "c1"})
    usage = await world.service.records.read(usage_key(ONE))
    assert usage is not None
    assert sum(sum(day.values()) for day in orjson.loads(usage.data)["days"].values()) == 7
    assert "<groups>" in models.asked[0].material


async def test_a_model_that_does_not_answer_leaves_it_to_the_next_run() -> None:
    models = ScriptedModels([Unavailable(dependency="models"), answer()])
    world = ConsolidationWorld(catalog_with(prompt=True), models=models)
    await world.know(says(0), says(1))
    down = await world.consolidate()
    assert (down.outcome, down.problem) == (Outcome.POSTPONED, UNAVAILABLE)
    assert len(await world.open()) == 2
    assert (await world.consolidate()).outcome is Outcome.CHANGED


async def test_a_text_that_says_more_is_refused_and_not_asked_for_again() -> None:
    models = ScriptedModels([answer("The user lives on the moon.")])
    world = ConsolidationWorld(catalog_with(prompt=True), models=models)
    await world.know(says(0), says(1))
    assert (await world.consolidate()).outcome is Outcome.UNTOUCHED
    assert (await world.consolidate()).outcome is Outcome.UNTOUCHED
    assert len(models.asked) == 1
    assert len(await world.open()) == 2


async def test_over_the_budget_of_the_day_no_model_is_asked() -> None:
    models = ScriptedModels([answer()])
    world = ConsolidationWorld(catalog_with(prompt=True), models=models)
    await world.know(says(0), says(1))
    await count_call(ONE, "other", 1_000_000, world.service)
    result = await world.consolidate()
    assert (result.outcome, result.problem, models.asked) == (Outcome.UNTOUCHED, EXHAUSTED, [])


async def waiting(world: ConsolidationWorld) -> list[dict[str, Any]]:
    return list((await world.content())["to_confirm"])


async def test_in_a_durable_section_it_waits_and_its_confirmation_closes_the_originals() -> None:
    world = ConsolidationWorld(catalog_with(prompt=True, durable=True), models=ScriptedModels([answer()]))
    await world.know(says(0), says(1))
    assert (await world.consolidate()).plan.counts() == {"proposed": 1}
    (item,) = await waiting(world)
    assert (item["proposed_by"], item["merges"], len(await world.open())) == (WORKER.principal, ["s000"], 2)
    assert (await world.consolidate()).outcome is Outcome.UNTOUCHED
    await confirm_pending(
        ConfirmPending(
            key=DOCUMENT,
            actor=Actor("svc-bob", frozenset()),
            precondition=IfExists(),
            idempotency_key="confirm",
            pending_id=item["id"],
            confidence=0.95,
            evidence={"conversation_id": "confirmation"},
        ),
        world.service,
    )
    kept = (await world.facts())[1]
    assert (await world.open(), kept["text"], cites(kept)) == (["s001"], TEXT, {"c0", "c1", "confirmation"})


async def test_a_rejected_text_does_not_come_back() -> None:
    models = ScriptedModels([answer()])
    world = ConsolidationWorld(catalog_with(prompt=True, durable=True), models=models)
    await world.know(says(0), says(1))
    await world.consolidate()
    (item,) = await waiting(world)
    command = RejectPending(
        key=DOCUMENT, actor=LIVE, precondition=IfExists(), idempotency_key="no", pending_id=item["id"]
    )
    await reject_pending(command, world.service)
    assert (await world.consolidate()).outcome is Outcome.UNTOUCHED
    assert (len(models.asked), await waiting(world)) == (1, [])


async def test_a_dry_run_asks_no_model_and_changes_nothing() -> None:
    models = ScriptedModels([answer()])
    world = ConsolidationWorld(catalog_with(prompt=True), models=models)
    await world.know(says(0), says(1))
    result = await world.consolidate(dry_run=True)
    assert [len(joint.texts) for joint in result.joints] == [2]
    assert (models.asked, (await world.head()).commit.sequence) == ([], 1)
    without = ConsolidationWorld()
    await without.know(says(0), says(1))
    result = await without.consolidate(dry_run=True)
    assert (result.outcome, result.plan.counts()) == (Outcome.CHANGED, {"consolidated": 1})
    assert (await without.head()).commit.sequence == 1


async def test_it_is_counted_by_outcome() -> None:
    recorded: list[Any] = []

    class Telemetry(NoTelemetry):
        def record(self, metric: Any, value: float, **labels: str) -> None:
            recorded.append((metric, value, labels))

    for text in (TEXT, "The moon."):
        world = ConsolidationWorld(catalog_with(prompt=True), models=ScriptedModels([answer(text)]))
        world.service = dataclasses.replace(world.service, telemetry=Telemetry())
        await world.know(says(0), says(1))
        await world.consolidate()
    assert [(value, labels["outcome"]) for metric, value, labels in recorded if metric is CONSOLIDATED] == [
        (1, "consolidated"),
        (1, "reworded"),
        (1, "refused"),
    ]
    assert MODEL_TOKENS in {metric for metric, _, _ in recorded}
