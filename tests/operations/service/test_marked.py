"""The marks of the tenant's questions: what they cost, and that each kind of end takes them away."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents.commands import DeleteDocument, IfExists, RejectPending
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.waiting import SETTLE, WAITING, WaitingKind
from memnet.operations.documents.pending import confirm_pending, reject_pending
from memnet.operations.documents.write import delete_document
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.retractions import apply_retraction, plan_retraction
from memnet.operations.governance.run_retraction import run_retraction
from memnet.operations.service.marked import MARKS
from memnet.operations.service.tenant_pending import PAGE
from tests.memory_blobs import storage_of
from tests.operations.service.test_tenant_pending import ADMIN, answer, ask, deciding, listed
from tests.operations.service.test_waiting import LATER, World

U1 = UserScope("t1", "u1")
PERSONAL = DocumentKey(U1, "user", "personal.json")


@pytest.fixture
async def world() -> World:
    made = World()
    made.service = replace(made.service, catalog=deciding("tenant"))
    return made


def marks(world: World) -> list[str]:
    return [name for name in world.marks() if name.startswith(f"{WAITING}t1/{WaitingKind.QUESTION}/")]


async def test_a_question_of_the_tenant_waits_once(world: World) -> None:
    await ask(world, "u1")
    assert await world.listed() == [("question", "u1", 1)]
    assert await world.listed(WaitingKind.PENDING) == []
    assert [name.split("/")[2] for name in world.marks()] == ["question"]
    await world.idle()


async def test_a_document_with_both_waits_for_each_once(world: World) -> None:
    await ask(world, "u1")
    world.service = replace(world.service, catalog=deciding("user"))
    await world.propose(U1)
    assert await world.listed() == [("pending", "u1", 1), ("question", "u1", 1)]
    await world.idle()


async def test_three_questions_among_ten_thousand_users_cost_seven_calls(world: World) -> None:
    """A user's memory is a document, and most have something that waits for the user."""
    storage = storage_of(world.service.waiting)
    for number in range(10_000):
        storage.overwrite(f"tenants/t1/users/user-{number}/documents/user/personal.json", b"{}")
        storage.overwrite(f"{WAITING}t1/pending/user-{number}/20260101T00/user/personal.json", b"")
    for user in ("a1", "m5", "z9"):
        await ask(world, user)
    await world.idle()
    assert [one.key.scope.user_id for one in await listed(world)] == ["a1", "m5", "z9"]
    kinds = [call.split()[0] for call in world.calls]
    assert (kinds.count("list_folders"), kinds.count("list"), kinds.count("get"), len(kinds)) == (1, 3, 3, 7)


async def test_a_page_never_reads_more_users_than_its_limit(world: World) -> None:
    for number in range(PAGE + 5):
        await ask(world, f"u{number:02}")
    await world.idle()
    assert len(await listed(world, 100)) == PAGE + 5
    assert sum(call.startswith("list_folders") for call in world.calls) == 2


async def withdrawn(world: World) -> None:
    (found,) = await listed(world)
    command = RejectPending(
        key=PERSONAL, actor=ADMIN, precondition=IfExists(), idempotency_key="r", pending_id=found.waiting.item["id"]
    )
    await reject_pending(command, world.service)


async def answered(world: World) -> None:
    (found,) = await listed(world)
    await confirm_pending(answer(found, 1, take="existing"), world.service)


async def deleted(world: World) -> None:
    command = DeleteDocument(key=PERSONAL, actor=ADMIN, precondition=IfExists(), idempotency_key="d")
    await delete_document(command, world.service)


async def retracted(world: World) -> None:
    await world.idle()
    source = Source(kind=SourceKind.CONVERSATION, conversation_id="c2")
    view = await plan_retraction(U1, source, "Wrong.", world.service, actor=ADMIN, idempotency_key="p")
    planned = view.retraction
    await apply_retraction(
        U1, planned.retraction_id, planned.etag, world.service, actor=replace(ADMIN, principal="svc-other")
    )
    await run_retraction(Job(JobKind.RETRACTION, "t1", "u1", planned.retraction_id), world.service)


async def erased(world: World) -> None:
    await request_erasure(U1, world.service, idempotency_key="e", actor=ADMIN)
    while await erase_user(U1, world.service) is not Erased.FINISHED:
        world.clock.advance(timedelta(minutes=30))


@pytest.mark.parametrize("end", [withdrawn, answered, deleted, retracted, erased])
async def test_each_end_of_a_question_ends_its_mark(world: World, end: Callable[[World], Awaitable[None]]) -> None:
    await ask(world, "u1")
    assert len(marks(world)) == 1
    await end(world)
    await world.idle()
    assert await listed(world) == []
    world.clock.advance(LATER)
    assert await listed(world) == []
    assert marks(world) == []
    assert [call for call in world.calls if call.startswith("list tenants/")] == [], "no user is listed"
    await world.idle()


async def test_the_mark_of_a_document_that_cannot_be_read_stays(world: World) -> None:
    await ask(world, "u1")
    await world.idle()
    storage = storage_of(world.service.waiting)
    whole = storage.data(PERSONAL.blob_name)
    storage.overwrite(PERSONAL.blob_name, b"{}")
    world.clock.advance(LATER)
    assert await listed(world) == []
    assert len(marks(world)) == 1
    storage.overwrite(PERSONAL.blob_name, whole)
    assert len(await listed(world)) == 1


async def test_old_marks_of_one_document_do_not_hide_the_next_one(world: World) -> None:
    """A page reads so many marks of a user; all but one of a document go, so that the others are reached."""
    await ask(world, "u1")
    storage = storage_of(world.service.waiting)
    for hour in range(MARKS):
        at = (world.clock.now() - timedelta(days=9, hours=hour)).strftime("%Y%m%dT%H")
        storage.overwrite(f"{WAITING}t1/question/u1/{at}/user/old.json", b"")
    world.clock.advance(SETTLE * 2)
    assert await listed(world) == []
    assert len(await listed(world)) == 1
    for hour in range(MARKS):
        at = (world.clock.now() - timedelta(days=9, hours=hour)).strftime("%Y%m%dT%H")
        storage.overwrite(f"{WAITING}t1/question/u1/{at}/user/personal.json", b"")
    assert len(await listed(world)) == 1
    assert len(marks(world)) == 2, "the oldest, and one that the page did not reach"
    await listed(world)
    assert len(marks(world)) == 1
    await world.idle()
