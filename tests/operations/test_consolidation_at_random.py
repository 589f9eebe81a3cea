"""Consolidation beside live writers, confirmations, rejections, holds and an erasure, in random orders."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import orjson
import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.access import Role
from memnet.domain.core.errors import ErasureRunning, MemnetError
from memnet.domain.core.scope import Actor
from memnet.domain.documents.commands import ConfirmPending, IfExists, RejectPending
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.operations.consolidation import consolidate_document
from memnet.operations.documents.pending import confirm_pending, reject_pending
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.operations.governance.retention import apply_retention
from memnet.operations.history.verify_history import rebuild_documents
from memnet.operations.upkeep import compact_document
from memnet.ports import ModelAnswer, ModelOutcome
from tests.domain.consolidation_samples import cited
from tests.operations.consolidation_scenario import (
    DOCUMENT,
    ONE,
    WORKER,
    ConsolidationWorld,
    catalog_with,
    says,
)
from tests.operations.erasure_scenario import SETTLE

ADMIN, REVIEWER = Actor("svc-admin", frozenset({Role.ADMIN})), Actor("svc-bob", frozenset())
HELD = HoldTarget("t1", "u1")
TEXTS = ("The user lives in the city of Lisbon.", "In the city of Lisbon the user lives.", "The user lives in Lisbon.")
JOINED = "In the city of Lisbon lives the user."
WORKERS, STEPS, MAX_STATEMENTS = 4, 12, 40


class Joining(ScriptedModels):
    """A model that joins the first group of each question, and sometimes does so badly."""

    def __init__(self, random: Random) -> None:
        super().__init__([])
        self._random = random

    async def answer(self, request: Any) -> ModelAnswer:
        await asyncio.sleep(0)
        text = self._random.choice([JOINED, JOINED, "The user lives in Porto."])
        output = orjson.dumps({"joined": [{"group": 1, "text": text}]}).decode()
        return ModelAnswer(output, ModelOutcome.COMPLETE, "scripted")


class Walk:
    """Writers, upkeep and governance over one user, each step chosen at random."""

    def __init__(self, seed: int, *, durable: bool) -> None:
        self.random = Random(seed)
        catalog = catalog_with(prompt=True, durable=durable, room=20)
        self.world = ConsolidationWorld(catalog, models=Joining(self.random))
        self.said: dict[str, dict[str, Any]] = {}
        self.number = 0

    async def begin(self) -> None:
        self.said |= {fact["id"]: fact for fact in (says(n) for n in range(3))}
        await self.world.know(*self.said.values())

    async def write(self) -> None:
        self.number += 1
        fact = says(100 + self.number, self.random.choice(TEXTS))
        made = await self.world.say(fact)
        if not made.redirected:
            self.said[fact["id"]] = fact

    async def consolidate(self) -> None:
        await consolidate_document(DOCUMENT, self.world.service, actor=WORKER, dry_run=self.random.random() < 0.2)

    async def compact(self) -> None:
        await compact_document(DOCUMENT, self.world.service, actor=WORKER)

    async def decide(self) -> None:
        # The content of an erased document is null.
        waiting = (await self.world.content() or {}).get("to_confirm")
        if not waiting:
            return
        item, self.number = self.random.choice(waiting), self.number + 1
        named: dict[str, Any] = {
            "key": DOCUMENT,
            "actor": REVIEWER,
            "precondition": IfExists(),
            "idempotency_key": f"decide-{self.number}",
            "pending_id": item["id"],
        }
        if self.random.random() < 0.3:
            await reject_pending(RejectPending(**named), self.world.service)
        else:
            evidence = {"conversation_id": f"confirmed-{self.number}"}
            await confirm_pending(ConfirmPending(**named, confidence=0.95, evidence=evidence), self.world.service)

    async def hold(self) -> None:
        change = self.random.choice([place_hold, release_hold])
        await change(HELD, "case 7", self.world.service, actor=ADMIN)

    async def retain(self) -> None:
        await apply_retention(ONE, self.world.service, as_of=None, dry_run=False)

    async def steps(self, *chosen: Callable[[], Awaitable[None]]) -> None:
        for _ in range(STEPS):
            step = self.random.choice(chosen)
            try:
                await step()
            except MemnetError:
                # Another writer was first, the item is decided, or the user is being erased.
                await asyncio.sleep(0)

    async def settle(self) -> None:
        """Consolidate until a run finds nothing to do."""
        await self.world.drain()
        for _ in range(MAX_STATEMENTS):
            before = (await self.world.head()).commit.sequence
            await self.world.consolidate()
            if (await self.world.head()).commit.sequence == before:
                return
        raise AssertionError("consolidation does not end")

    async def check(self) -> None:
        """Check that each statement has a trace to an open one, and that the conversation of each is cited."""
        await self.world.drain()
        facts = {entry["id"]: entry for entry in await self.world.facts()}
        assert self.said.keys() <= facts.keys()
        for entry_id, entry in self.said.items():
            now = facts[entry_id]
            assert now["value"] == entry["value"]
            assert cited(now) >= cited(entry)
            seen = {entry_id}
            while "valid_until" in now:
                now = facts[now["replaced_by"]]
                assert now["id"] not in seen
                seen.add(now["id"])
            assert now["text"] in {*TEXTS, JOINED}
        assert set().union(*map(cited, facts.values())) >= set().union(*map(cited, self.said.values()))
        (history,) = [one for one in await rebuild_documents(ONE, self.world.service) if one.key == DOCUMENT]
        assert (history.fault, history.last) == (None, (await self.world.head()).commit.sequence)


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("seed", range(3))
async def test_no_statement_is_without_a_trace_and_no_evidence_is_lost(seed: int, durable: bool) -> None:
    walk = Walk(seed, durable=durable)
    await walk.begin()
    steps = (walk.write, walk.consolidate, walk.consolidate, walk.compact, walk.decide, walk.hold, walk.retain)
    await asyncio.gather(*(walk.steps(*steps) for _ in range(WORKERS)))
    await walk.check()
    await walk.settle()
    await walk.check()
    closed = [entry for entry in await walk.world.facts() if "replaced_by" in entry]
    assert closed or durable


@pytest.mark.parametrize("seed", range(4))
async def test_nothing_of_an_erased_user_comes_back(seed: int) -> None:
    walk = Walk(seed, durable=seed % 2 == 0)
    await walk.begin()
    service = walk.world.service

    async def erase() -> None:
        for _ in range(walk.random.randrange(8)):
            await asyncio.sleep(0)
        await request_erasure(ONE, service, idempotency_key="forget", actor=ADMIN)

    steps = (walk.write, walk.consolidate, walk.consolidate, walk.compact, walk.decide)
    await asyncio.gather(erase(), *(walk.steps(*steps) for _ in range(WORKERS)))
    with pytest.raises(ErasureRunning):
        await walk.world.say(says(900))
    await walk.world.drain()
    for _ in range(8):
        walk.world.clock.advance(SETTLE)
        if await erase_user(ONE, service) in (Erased.FINISHED, Erased.NOTHING):
            break
    await consolidate_document(DOCUMENT, service, actor=WORKER)
    await walk.world.drain()
    assert [name for name in walk.world.stored.names() if name.startswith(f"{ONE.prefix}/")] == []
    assert await service.documents.get(DOCUMENT) is None


async def test_a_held_user_is_consolidated_and_not_erased() -> None:
    walk = Walk(0, durable=False)
    await walk.begin()
    await place_hold(HELD, "case 7", walk.world.service, actor=ADMIN)
    kept = await request_erasure(ONE, walk.world.service, idempotency_key="forget", actor=ADMIN)
    assert kept.receipt is not None
    await walk.settle()
    await walk.check()
    assert len(await walk.world.open()) == 1
