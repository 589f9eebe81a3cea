"""Statements from the conversation to the document: with a scripted model, and by the cues of two languages."""

from collections.abc import Sequence
from itertools import permutations

import pytest

from memnet.adapters.memory.models import ScriptedModels
from memnet.domain.core.access import Role
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.documents.commands import ConfirmPending, IfExists
from memnet.domain.replay import answer_schema
from memnet.domain.replay.replay import PatchStatus, Replay
from memnet.domain.replay.snapshot import Conversation
from memnet.operations.documents.pending import confirm_pending
from memnet.operations.replay.extraction import NOTES
from memnet.operations.replay.snapshots import store_snapshot
from memnet.ports import ModelOutcome
from tests.domain.extraction_samples import PERSONAL, answer_text, statement
from tests.domain.samples import CATALOG
from tests.operations.replay_scenario import SCOPE, World
from tests.services import service_of

KEY = DocumentKey(SCOPE, "user", "personal.json")
REVIEWER = Actor("svc-reviewer", frozenset({Role.WRITE}))


def day(number: int) -> str:
    return f"2026-05-{number:02}T12:00:00.000000Z"


async def said(world: World, number: int, text: str, *, answers: Sequence[str] | None = None) -> Replay:
    """Store a conversation of that day, and replay it with a model that gives these answers, or without one."""
    message = {"message_id": "m1", "role": "user", "content": text, "timestamp": day(number)}
    body = Conversation.model_validate({"snapshot_id": "s1", "profile_id": PERSONAL, "messages": [message]})
    stored = await store_snapshot(SCOPE, f"c{number}", body, world.service, actor=Actor("svc-chat", frozenset()))
    models = None if answers is None else ScriptedModels(list(answers))
    return await world.replay(Job(JobKind.REPLAY, SCOPE.tenant_id, SCOPE.user_id, stored.replay_id), models=models)


async def confirm(world: World, pending_id: str) -> None:
    await confirm_pending(
        ConfirmPending(
            key=KEY,
            actor=REVIEWER,
            precondition=IfExists(),
            idempotency_key=f"confirm-{pending_id}",
            pending_id=pending_id,
            confidence=0.9,
        ),
        service_of(**world.writing()),
    )


async def homes(world: World) -> list[tuple[str, str, str | None]]:
    """(value, since, until) of each entry about where the user lives, in order of time."""
    facts = (await world.content(KEY))["facts"]
    found = [fact for fact in facts if (fact["subject"], fact["attribute"]) == ("user", "lives in")]
    return sorted(((one["value"], one["valid_from"], one.get("valid_until")) for one in found), key=lambda row: row[1])


@pytest.mark.parametrize(
    "sentences",
    [
        ("I live in Lisbon.", "I live in Berlin."),
        ("Ich wohne in Lisbon.", "Letzte Woche bin ich nach Berlin gezogen."),
        ("I moved to Lisbon, finally.", "Hallo zusammen, ich lebe jetzt in Berlin."),
    ],
    ids=["English", "German", "both"],
)
@pytest.mark.parametrize("order", list(permutations([0, 1])), ids=["in order", "the later one first"])
async def test_without_a_model_two_homes_are_one_open_and_one_closed_statement(
    sentences: tuple[str, str], order: tuple[int, int]
) -> None:
    world = World()
    for number, sentence in enumerate(sentences, 1):
        replay = await said(world, number, sentence)
        assert [patch.status for patch in replay.patches] == [PatchStatus.REDIRECTED]
    content = await world.content(KEY)
    assert content["facts"] == []
    waiting = [item["id"] for item in content["to_confirm"]]
    assert len(waiting) == 2

    for index in order:
        await confirm(world, waiting[index])

    assert await homes(world) == [("Lisbon", day(1), day(2)), ("Berlin", day(2), None)]
    assert (await world.content(KEY))["to_confirm"] == []


async def test_a_model_fills_statements_that_are_applied_at_once() -> None:
    world = World()
    opinion = statement(
        "Generics annoy me.", section="opinions", subject="typescript", aspect="generics", stance="annoying"
    )
    answer = answer_text(statement("I live in Lisbon."), opinion)
    replay = await said(
        world, 1, "I live in Lisbon. TypeScript's generics are annoying, they annoy me.", answers=[answer]
    )

    assert [patch.status for patch in replay.patches] == [PatchStatus.APPLIED] * 2
    content = await world.content(KEY)
    assert [fact["value"] for fact in content["facts"]] == ["Lisbon"]
    assert [(one["subject"], one["aspect"], one["stance"]) for one in content["opinions"]] == [
        ("typescript", "generics", "annoying")
    ]
    assert content["facts"][0]["evidence"]["message_ids"] == ["m1"]


async def test_a_user_can_move_back() -> None:
    world = World()
    for number, home in enumerate(("Lisbon", "Berlin", "Lisbon"), 1):
        await said(world, number, f"I live in {home}.", answers=[answer_text(statement(f"I live in {home}."))])

    assert await homes(world) == [
        ("Lisbon", day(1), day(2)),
        ("Berlin", day(2), day(3)),
        ("Lisbon", day(3), None),
    ]


async def test_the_same_statement_again_is_the_same_entry_with_both_sources() -> None:
    world = World()
    for number in (1, 2):
        await said(world, number, "I live in Lisbon.", answers=[answer_text(statement("I live in Lisbon."))])

    assert await homes(world) == [("Lisbon", day(1), None)]
    (fact,) = (await world.content(KEY))["facts"]
    sources = [fact["evidence"], *fact["evidence"]["also"]]
    assert {source["conversation_id"] for source in sources} == {"c1", "c2"}


async def test_an_unsure_statement_waits_and_closes_nothing() -> None:
    world = World()
    await said(world, 1, "I live in Lisbon.", answers=[answer_text(statement("I live in Lisbon."))])
    await said(world, 2, "Perhaps Berlin.", answers=[answer_text(statement("I live in Berlin.", confidence=0.5))])

    assert await homes(world) == [("Lisbon", day(1), None)]
    assert len((await world.content(KEY))["to_confirm"]) == 1


async def test_the_evidence_names_the_form_of_the_answer() -> None:
    world = World()
    replay = await said(world, 1, "I live in Lisbon.", answers=[answer_text(statement("I live in Lisbon."))])

    assert replay.extraction is not None
    assert len(replay.extraction["answer_sha256"]) == 64
    (record,) = await world.history(KEY)
    assert record["evidence"]["extraction"]["answer_sha256"] == replay.extraction["answer_sha256"]


async def test_the_question_of_a_contradiction_is_with_the_item() -> None:
    world = World()
    await said(world, 1, "I live in Lisbon.", answers=[answer_text(statement("I live in Lisbon.", confidence=0.95))])
    await said(world, 2, "I live in Berlin.", answers=[answer_text(statement("I live in Berlin.", confidence=0.72))])

    (item,) = (await world.content(KEY))["to_confirm"]
    assert item["question"].startswith("Earlier: ")
    assert item["decides"] == "user"
    await confirm(world, item["id"])
    assert await homes(world) == [("Lisbon", day(1), day(2)), ("Berlin", day(2), None)]


async def test_what_the_phrases_find_again_becomes_no_second_item_and_is_applied_when_stated_on_two_days() -> None:
    world = World()
    for number, text in ((1, "I live in Lisbon."), (2, "Ich wohne in Lisbon.")):
        replay = await said(world, number, text)
        assert replay.patches[0].status in (PatchStatus.REDIRECTED, PatchStatus.APPLIED)

    content = await world.content(KEY)
    assert content["to_confirm"] == []
    assert await homes(world) == [("Lisbon", day(1), None)]
    sources = [content["facts"][0]["evidence"], *content["facts"][0]["evidence"]["also"]]
    assert {source["conversation_id"] for source in sources} == {"c1", "c2"}


async def test_a_form_of_two_calls_is_one_extraction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_schema, "MAX_MEMBERS", 40)
    world = World()
    opinion = statement("Generics annoy me.", section="opinions", subject="typescript", stance="annoying")
    asked = len(answer_schema.answer_forms(CATALOG.profile(PERSONAL), CATALOG))
    answers = [answer_text(statement("I live in Lisbon.")), *[answer_text()] * (asked - 2), answer_text(opinion)]
    replay = await said(world, 1, "I live in Lisbon. Generics annoy me, they are annoying.", answers=answers)

    assert asked > 2
    assert [patch.status for patch in replay.patches] == [PatchStatus.APPLIED] * 2


async def test_what_a_later_call_lacks_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_schema, "MAX_MEMBERS", 40)
    world = World()
    answers = [answer_text(statement("I live in Lisbon.")), "no JSON", "no JSON"]
    replay = await said(world, 1, "I live in Lisbon.", answers=answers)

    assert await homes(world) == [("Lisbon", day(1), None)]
    assert replay.extraction is not None
    assert replay.extraction["extractor"] == "model"
    assert replay.extraction["note"] == NOTES[ModelOutcome.UNUSABLE]
