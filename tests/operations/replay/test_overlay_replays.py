"""The same conversation under a profile and one that extends it: the documents of the base are the same."""

import asyncio
import re
from collections.abc import Sequence
from random import Random
from typing import Any

import orjson
import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.replay.replay import Replay
from memnet.domain.replay.snapshot import Conversation
from memnet.operations.replay.snapshots import store_snapshot
from memnet.operations.upkeep import compact_document
from memnet.ports import ModelAnswer, ModelOutcome, ModelRequest
from tests.domain.extraction_samples import PERSONAL, answer_text, statement
from tests.domain.samples import CATALOG
from tests.operations.replay.test_extraction import model_answer
from tests.operations.replay_scenario import SCOPE, Call, World
from tests.services import service_of

TUTOR = "tutor-v1"
SHARED, OWN = DocumentKey(SCOPE, "user", "personal.json"), DocumentKey(SCOPE, "learning", "learner.json")
CONVERSATIONS = [
    ["I live in Lisbon.", "I prefer short answers.", "I'm in grade 8."],
    ["We agreed on a weekly plan.", "I just moved to Porto.", "My algebra exam is on 12 May."],
    ["I struggle with fractions in algebra.", "I learn best with drawings.", "My favourite colour is green."],
    ["Please never use formulas first.", "I learn best alone.", "I still struggle with fractions in algebra."],
]
VARIES = re.compile(rb'"[^"]*[0-9a-f]{8}-[0-9a-f-]{20,}[^"]*"|[0-9]+-[0-9a-f]{16}|"(personal-memory|tutor)-v1"')
"""Ids, ETags and the names of the profiles."""


class Models(ScriptedModels):
    """Answers by the prompt: that of the shared document, once, and that of the learner."""

    def __init__(self, shared: str, own: str | ModelAnswer) -> None:
        """Take the two answers."""
        super().__init__([])
        self.given: dict[str, list[str | ModelAnswer]] = {
            CATALOG.prompt("personal-memory", "1.0.0").text: [shared],
            CATALOG.prompt("tutor", "1.0.0").text: [own],
        }

    def _next(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request)
        waiting = self.given[request.instructions]
        given = waiting.pop() if waiting else NONE
        return given if isinstance(given, ModelAnswer) else model_answer(ModelOutcome.COMPLETE, given)


async def play(
    profile_id: str, answers: Sequence[tuple[str, str | ModelAnswer]] | None
) -> tuple[World, list[Replay], list[Any]]:
    """Replay the conversations; return the world, the replays, and the requests to the model."""
    world, replays, asked = World(), [], []
    for number, sentences in enumerate(CONVERSATIONS):
        day = f"2026-05-0{number + 1}T12:00:00Z"
        messages = [
            {"message_id": f"m{at}", "role": "user", "content": text, "timestamp": day}
            for at, text in enumerate(sentences)
        ]
        body = Conversation.model_validate({"snapshot_id": "s1", "profile_id": profile_id, "messages": messages})
        stored = await store_snapshot(SCOPE, f"c{number}", body, world.service, actor=Actor("svc-chat", frozenset()))
        models = None if answers is None else Models(*answers[number])
        replays.append(
            await world.replay(Job(JobKind.REPLAY, SCOPE.tenant_id, SCOPE.user_id, stored.replay_id), models=models)
        )
        asked += [] if models is None else models.asked
    return world, replays, asked


async def shared(world: World) -> bytes:
    """Return the shared document without ids, and without the name of the profile in pending items."""
    return VARIES.sub(b'"id"', orjson.dumps(await world.content(SHARED), option=orjson.OPT_INDENT_2))


async def test_fixed_rules_write_the_same_shared_document_under_both_profiles() -> None:
    alone, _, _ = await play(PERSONAL, None)
    world, _, _ = await play(TUTOR, None)

    assert await shared(world) == await shared(alone)
    assert len((await world.content(SHARED))["to_confirm"]) > 3
    learner = await world.content(OWN)
    values = [item["target"]["value"] for item in learner["to_confirm"]]
    assert [value.get("grade") or value.get("day") or value["style"] for value in values] == [
        *("grade 8", "12 May", "with drawings", "alone"),
    ]
    # What the user said twice, a day apart, is applied by the base's rule.
    assert [(one["topic"], one["strength"]) for one in learner["weak_topics"]] == [("fractions", "weak")]


def learner(section: str, text: str, **members: Any) -> dict[str, Any]:
    entry = {"text": text, "subject": "algebra", "importance": 0.6, **members}
    return {
        "target_binding_id": "learner",
        "target_path": "learner.json",
        "add_to": f"/content/{section}",
        "entry": entry,
        "confidence": 0.9,
        "message_ids": ["m0"],
    }


GRADE = learner("grade_level", "I'm in grade 8.", grade="8") | {"message_ids": ["m2"]}
WEAK = learner("weak_topics", "I struggle with fractions in algebra.", topic="fractions", strength="weak")
LIVES = answer_text(statement("I live in Lisbon.") | {"message_ids": ["m0"]})
MOVED = answer_text(statement("I just moved to Porto.") | {"message_ids": ["m1"]})
NONE = answer_text()
FIRST_ANSWERS = [LIVES, MOVED, NONE, NONE]
OWN_ANSWERS = [answer_text(GRADE), NONE, answer_text(WEAK), answer_text(WEAK)]


async def test_a_model_is_asked_about_the_shared_document_as_under_the_base_alone() -> None:
    answers = list(zip(FIRST_ANSWERS, OWN_ANSWERS, strict=True))
    alone, _, before = await play(PERSONAL, answers)
    world, replays, after = await play(TUTOR, answers)

    assert await shared(world) == await shared(alone)
    assert [fact["value"] for fact in (await world.content(SHARED))["facts"]] == ["Lisbon", "Porto"]
    found = await world.content(OWN)
    assert [one["grade"] for one in found["grade_level"]] == ["8"]
    assert [(one["topic"], one["strength"], one["last_seen"]) for one in found["weak_topics"]] == [
        ("fractions", "weak", "2026-05-04T12:00:00.000000Z")
    ]

    own = [request for request in after if request.instructions == CATALOG.prompt("tutor", "1.0.0").text]
    rest = [request for request in after if request not in own]
    assert [(one.instructions, one.schema) for one in rest] == [(one.instructions, one.schema) for one in before]
    assert VARIES.sub(b"", rest[0].material.encode()) == VARIES.sub(b"", before[0].material.encode())
    assert len(own) == len(CONVERSATIONS)
    assert all('"personal.json"' not in one.material and '"learner.json"' in one.material for one in own)
    assert [patch.binding_id for patch in replays[0].patches] == ["personal", "learner"]


async def test_each_value_names_the_prompt_that_proposed_it() -> None:
    world, _, _ = await play(TUTOR, list(zip(FIRST_ANSWERS, OWN_ANSWERS, strict=True)))

    named = {}
    for key in (SHARED, OWN):
        named[key] = {one["evidence"]["extraction"]["prompt_id"] for one in await world.history(key)}
    assert named == {SHARED: {"personal-memory"}, OWN: {"tutor"}}


async def test_without_an_answer_about_its_own_documents_the_shared_one_is_written() -> None:
    refused = model_answer(ModelOutcome.REFUSED)
    world, replays, _ = await play(TUTOR, [(one, refused) for one in FIRST_ANSWERS])
    assert [fact["value"] for fact in (await world.content(SHARED))["facts"]] == ["Lisbon", "Porto"]
    assert all(one.extraction["extractor"] == "model" for one in replays if one.extraction)


async def test_the_shared_document_is_maintained_by_the_base_alone() -> None:
    world, _, _ = await play(TUTOR, None)
    service = service_of(**world.writing())
    actor = Actor("memnet-worker", frozenset())
    for key, profiles in ((SHARED, [PERSONAL]), (OWN, [TUTOR])):
        results = await compact_document(key, service, actor=actor, dry_run=True)
        assert [result.profile_id for result in results] == profiles


async def hear(world: World, profile_id: str, number: int, *, day: int | None = None) -> Job:
    """Store one of the conversations under a profile, on its day or again on another; return the job of its replay."""
    day = number + 1 if day is None else day
    conversation_id = f"c{number}-{day}"
    messages = [
        {"message_id": f"m{at}", "role": "user", "content": text, "timestamp": f"2026-05-0{day}T12:00:00Z"}
        for at, text in enumerate(CONVERSATIONS[number])
    ]
    members = {"snapshot_id": f"s-{profile_id}", "profile_id": profile_id, "messages": messages}
    stored = await store_snapshot(
        SCOPE, conversation_id, Conversation.model_validate(members), world.service, actor=Actor("svc", frozenset())
    )
    return Job(JobKind.REPLAY, SCOPE.tenant_id, SCOPE.user_id, stored.replay_id)


async def replay_slowly(world: World, job: Job, pauses: Random) -> None:
    """Replay as a worker whose calls take differently long."""

    async def watch(name: str, call: Call) -> Any:
        for _pause in range(pauses.randrange(4)):
            await asyncio.sleep(0)
        return await call()

    await world.replay(job, **world.ports(watch) | {"models": None})


def stated(content: Any) -> list[tuple[str, ...]]:
    """What a shared document holds, applied or waiting, without what depends on the order of arrival."""
    waiting = [("waits", one["target"]["value"]["text"]) for one in content["to_confirm"]]
    held = [(section, one["text"]) for section in ("facts", "preferences", "decisions") for one in content[section]]
    return sorted([*waiting, *held])


@pytest.mark.parametrize("order", [(PERSONAL, TUTOR), (TUTOR, PERSONAL), "together"])
@pytest.mark.parametrize("seed", range(3))
async def test_a_conversation_under_both_profiles_is_learnt_once(order: Any, seed: int) -> None:
    alone = World()
    for number in range(2):
        await alone.replay(await hear(alone, PERSONAL, number), models=None)

    world, random = World(), Random(seed)
    for number in range(2):
        jobs = {name: await hear(world, name, number) for name in (PERSONAL, TUTOR)}
        if order == "together":
            await asyncio.gather(*(replay_slowly(world, job, random) for job in jobs.values()))
        else:
            for name in order:
                await replay_slowly(world, jobs[name], random)
    assert stated(await world.content(SHARED)) == stated(await alone.content(SHARED))
    await world.history(SHARED)


@pytest.mark.parametrize("order", [(PERSONAL, TUTOR), (TUTOR, PERSONAL)])
async def test_statements_under_both_profiles_count_together(order: Any) -> None:
    world = World()
    sentence = "I prefer short answers"
    first, second = order
    await world.replay(await hear(world, first, 0), models=None)
    assert ("waits", sentence) in stated(await world.content(SHARED))

    await world.replay(await hear(world, second, 0, day=3), models=None)
    assert ("preferences", sentence) in stated(await world.content(SHARED))
    assert ("waits", sentence) not in stated(await world.content(SHARED))
