"""Questions beside everything that changes them: joins, answers at once, upkeep, retractions, holds and an erasure."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import ErasureRunning, MemnetError
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.timestamps import to_text
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.waiting import SETTLE, WAITING, WaitingKind
from memnet.domain.replay.turn import Turns
from memnet.operations.consolidation import consolidate_document
from memnet.operations.documents.pending import list_pending
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.operations.governance.retention import apply_retention
from memnet.operations.governance.retractions import apply_retraction, plan_retraction, undo_retraction
from memnet.operations.governance.run_retraction import run_retraction
from memnet.operations.replay.replays import replay_snapshot
from memnet.operations.replay.turns import store_turns
from memnet.operations.service.tenant_pending import list_tenant_pending
from memnet.operations.service.waiting import list_waiting
from memnet.operations.upkeep import compact_document, refresh_document
from memnet.wiring import in_memory
from tests.memory_blobs import storage_of
from tests.operations.question_scenario import (
    ADMIN,
    CHAT,
    MAIL,
    OTHER_ADMIN,
    PERSONAL,
    PROFILE,
    TRAVEL,
    USER,
    Asked,
    deciding,
    offered,
)
from tests.operations.rebuilt import rebuilt_histories
from tests.sample_settings import sample_settings

TOWNS = ("Lisbon", "Berlin", "Porto", "Rome")
ASPECTS = (None, "in summer")
TAKES = ("proposed", "existing", "both")
HELD = HoldTarget(USER.tenant_id, USER.user_id)
ROUNDS, AT_ONCE = 6, 5
LONG = SETTLE + timedelta(hours=2)


class Walk(Asked):
    """Steps over one user, each chosen at random; the ledger is what was said, answered and taken back."""

    def __init__(self, seed: int, decides: str) -> None:
        super().__init__(in_memory(sample_settings(), deciding(decides)))
        self.random = Random(seed)
        self.said: set[str] = set()
        self.decided: list[str] = []
        self.retractions: dict[str, str] = {}
        """By the id of a retraction, the conversation that it takes back."""
        self.session = asyncio.Lock()
        """Jobs of one user never run in parallel."""

    @property
    def clock(self) -> FrozenClock:
        assert isinstance(self.service.clock, FrozenClock)
        return self.service.clock

    def _conversation(self) -> str:
        self.number += 1
        return f"c-{self.number:03}x"

    async def state(self) -> None:
        conversation = self._conversation()
        sure = self.random.choice([0.3, 0.3, 0.75, 0.9])
        await self.say(
            self.random.choice(TOWNS), sure, conversation,
            by=self.random.choice([CHAT, MAIL]), aspect=self.random.choice(ASPECTS),
        )  # fmt: skip
        self.said.add(conversation)

    async def learn(self) -> None:
        """A worker learns the same from a turn."""
        conversation, town = self._conversation(), self.random.choice(TOWNS)
        message = {"role": "user", "content": f"I live in {town}."}
        now = to_text(self.clock.now())
        turns = Turns.model_validate(
            {"profile_id": PROFILE, "turns": [{"turn_id": "t1", "timestamp": now, "messages": [message]}]}
        )
        (stored,) = (await store_turns(USER, conversation, turns, self.service, actor=CHAT)).turns
        entry: dict[str, Any] = {"subject": "user", "attribute": "lives in", "aspect": None, "value": town}
        entry |= {"text": f"Lives in {town}.", "importance": 0.6}
        patch = {
            "target_binding_id": "personal",
            "target_path": "personal.json",
            "add_to": "/content/facts",
            "entry": entry,
            "confidence": self.random.choice([0.3, 0.9]),
            "message_ids": ["t1-1"],
        }
        models = ScriptedModels([canonical({"digest": None, "patches": [patch]}).decode()])
        job = Job(JobKind.REPLAY, USER.tenant_id, USER.user_id, stored.replay_id)
        async with self.session:
            await replay_snapshot(job, replace(self.service, models=models))

    async def decide(self) -> None:
        items = (await self.content() or {}).get("to_confirm") or []
        if not items:
            return
        item = self.random.choice(items)
        by = self.random.choice([TRAVEL, ADMIN, OTHER_ADMIN])
        if self.random.random() < 0.2:
            await self.reject(item["id"], by)
        else:
            take = self.random.choice(TAKES) if "contradicts" in item else "proposed"
            members = {} if take == "existing" else {"choice": self.random.randint(1, len(offered(item)))}
            await self.answer(item["id"], by, take=take, **members)
        self.decided.append(item["id"])

    async def decide_at_once(self) -> None:
        """Several principals answer the same question at the same time: one at most is applied."""
        items = [one for one in (await self.content() or {}).get("to_confirm") or [] if "contradicts" in one]
        if not items:
            return
        item = self.random.choice(items)
        answers = [self.answer(item["id"], by, take=take) for by, take in zip((TRAVEL, ADMIN), TAKES, strict=False)]
        found = await asyncio.gather(*answers, return_exceptions=True)
        applied = [one for one in found if not isinstance(one, BaseException)]
        assert len(applied) <= 1
        self.decided += [item["id"]] * len(applied)

    async def take_back(self) -> None:
        if not self.said:
            return
        conversation = self.random.choice(sorted(self.said))
        source = Source(kind=SourceKind.CONVERSATION, conversation_id=conversation)
        view = await plan_retraction(USER, source, "Wrong.", self.service, actor=ADMIN, idempotency_key=self.key())
        planned = view.retraction
        begun = await apply_retraction(USER, planned.retraction_id, planned.etag, self.service, actor=OTHER_ADMIN)
        self.retractions[begun.retraction_id] = conversation
        await self._work(begun.retraction_id)

    async def undo_one(self) -> None:
        if self.retractions:
            retraction_id = self.random.choice(sorted(self.retractions))
            await undo_retraction(USER, retraction_id, self.service, actor=ADMIN)
            self.retractions.pop(retraction_id, None)
            await self._work(retraction_id)

    async def _work(self, retraction_id: str) -> None:
        async with self.session:
            await run_retraction(Job(JobKind.RETRACTION, USER.tenant_id, USER.user_id, retraction_id), self.service)

    async def upkeep(self) -> None:
        work = self.random.choice([compact_document, refresh_document, consolidate_document])
        await work(PERSONAL, self.service, actor=ADMIN)

    async def age(self) -> None:
        self.clock.advance(timedelta(days=self.random.choice([0, 1, 40])))
        await apply_retention(USER, self.service, as_of=None, dry_run=False)

    async def hold(self) -> None:
        await self.random.choice([place_hold, release_hold])(HELD, "case 7", self.service, actor=ADMIN)

    async def look(self) -> None:
        """A reader lists, and removes marks that nothing needs, whatever is being written."""
        await list_waiting(USER.tenant_id, self.service, kind=None, limit=25, cursor=None)
        await list_tenant_pending(USER.tenant_id, self.service, limit=25, cursor=None)

    async def round(self) -> None:
        steps: list[Callable[[], Awaitable[None]]] = [
            self.state, self.state, self.state, self.learn, self.decide, self.decide, self.decide_at_once,
            self.take_back, self.undo_one, self.upkeep, self.age, self.hold, self.look,
        ]  # fmt: skip

        async def attempt(step: Callable[[], Awaitable[None]]) -> None:
            try:
                await step()
            except MemnetError:
                # Another writer was first, the item is decided, a hold is in force, or the user is being erased.
                await asyncio.sleep(0)

        await asyncio.gather(*(attempt(self.random.choice(steps)) for _ in range(AT_ONCE)))
        await self.drain()

    async def check_questions(self) -> None:
        content = await self.content()
        facts, items = content["facts"], content["to_confirm"]
        held = [entry for entry in facts if entry.get("valid_until") is None]
        things = Counter((entry["attribute"], entry.get("aspect")) for entry in held)
        assert set(things.values()) <= {1}, "one entry about a thing is open"
        questions = [item for item in items if "contradicts" in item]
        about = Counter(item["target"]["value"].get("aspect") for item in questions)
        assert set(about.values()) <= {1}, "a thing is asked about once"
        assert not {item["id"] for item in items} & set(self.decided), "what is decided waits no more"
        for item in questions:
            if "choices" in item:
                assert len(item["choices"]) == len(offered(item)) + 1
                assert item["choices"][1:] == [one["text"] for one in [item, *item.get("alternatives", ())]]
        asked = await self.asked()
        if asked is not None:
            assert asked["choices"][0] in [entry["text"] for entry in held], "what a question shows is open"
            assert asked["pending_id"] not in self.decided
            assert all(item["decides"] == "user" for item in items if item["id"] == asked["pending_id"])

    async def check_marks(self) -> None:
        """What waits is listed, once; when all marks are settled, one of each kind is left if something waits."""
        for _ in range(2):
            waits = await list_pending(USER, self.service, limit=25, cursor=None)
            ids = {True: set[Any](), False: set[Any]()}
            for one in waits.items:
                ids[one.waiting.item.get("decides") == "tenant"].add(one.waiting.item["id"])
            page = await list_tenant_pending(USER.tenant_id, self.service, limit=25, cursor=None)
            assert {one.waiting.item["id"] for one in page.items} == ids[True]
            rows = (await list_waiting(USER.tenant_id, self.service, kind=None, limit=25, cursor=None)).items
            counts = {row["kind"]: row["count"] for row in rows if row["kind"] in ("pending", "question")}
            expected = {"question": len(ids[True]), "pending": len(ids[False])}
            assert counts == {kind: count for kind, count in expected.items() if count}
            self.clock.advance(LONG)
        names = storage_of(self.service.waiting).names(WAITING)
        kinds = Counter(name.split("/")[2] for name in names)
        assert {kind for kind in kinds if kind in expected} == set(counts)

    async def settle(self) -> None:
        await release_hold(HELD, "closed", self.service, actor=ADMIN)
        for retraction_id in self.retractions:
            await self._work(retraction_id)
        await self.drain()

    async def check_history(self) -> None:
        """Each decision is audited once, and only a decision or a retraction lets a source disappear."""
        records = await self.check()
        reasons = Counter(record["reason"] for record in records)
        assert reasons["confirmation"] + reasons["rejection"] == len(self.decided) == len(set(self.decided))
        content = canonical(await self.content()).decode()
        for conversation in self.retractions.values():
            assert conversation not in content
        histories = await rebuilt_histories(USER, documents=self.service.documents, audit=self.service.audit)
        (versions,) = [one.versions for one in histories if one.versions]
        for before, after, record in zip(versions, versions[1:], records[1:], strict=False):
            had, has = before.content or b"", after.content or b""
            gone = {one for one in self.said if one.encode() in had and one.encode() not in has}
            assert not gone or record["reason"] in ("confirmation", "rejection", "retraction"), (gone, record)


@pytest.mark.parametrize("decides", ["user", "tenant"])
@pytest.mark.parametrize("seed", range(4))
async def test_questions_hold_beside_everything(seed: int, decides: str) -> None:
    walk = Walk(seed, decides)
    await walk.say("Oslo", 0.9, "c-first")
    for _ in range(ROUNDS):
        await walk.round()
        await walk.check_questions()
    await walk.settle()
    await walk.check_questions()
    await walk.check_marks()
    await walk.check_history()


async def test_an_erasure_takes_the_questions_and_their_marks() -> None:
    walk = Walk(7, "tenant")
    await walk.say("Oslo", 0.9, "c-first")
    await walk.say("Rome", 0.3, "c-second")
    await request_erasure(USER, walk.service, idempotency_key="e", actor=ADMIN)
    with pytest.raises(ErasureRunning):
        await walk.say("Porto", 0.3, "c-third")
    while await erase_user(USER, walk.service) is not Erased.FINISHED:
        walk.clock.advance(timedelta(minutes=30))
    await walk.drain()
    assert (await list_tenant_pending(USER.tenant_id, walk.service, limit=25, cursor=None)).items == []
    assert list(storage_of(walk.service.waiting).names(f"{WAITING}{USER.tenant_id}/{WaitingKind.QUESTION}")) == []
