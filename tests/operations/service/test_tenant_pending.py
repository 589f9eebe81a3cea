"""The questions that a tenant decides are found by their marks: the cost follows what waits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.errors import PendingItemNotFound
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents.commands import ConfirmPending, IfAbsent, IfExists, PatchDocument
from memnet.domain.governance.waiting import SETTLE, WAITING, WaitingKind
from memnet.operations.documents.pending import confirm_pending
from memnet.operations.documents.write import patch_document
from memnet.operations.service.tenant_pending import TenantQuestion, list_tenant_pending
from memnet.service import Service
from tests.domain.samples import CATALOG
from tests.operations.documents.test_statement_race import lives_in
from tests.operations.service.test_waiting import ALICE, World

PERSONAL = "personal-memory-v1"
ADMIN = Actor("svc-admin", frozenset({Role.READ, Role.ADMIN}))


def deciding(decides: str) -> Catalog:
    """The shipped catalog, in which the tenant or the user decides about facts."""
    profile = CATALOG.profile(PERSONAL)
    rules = [
        rule.model_copy(update={"statements": rule.statements.model_copy(update={"decides": decides})})
        if rule.statements is not None
        else rule
        for rule in profile.upkeep_rules["personal"]
    ]
    changed = profile.model_copy(update={"upkeep_rules": {"personal": tuple(rules)}})
    return replace(CATALOG, profiles={**CATALOG.profiles, PERSONAL: changed})


@pytest.fixture
async def world() -> Any:
    made = World()
    made.service = replace(made.service, catalog=deciding("tenant"))
    yield made
    await made.idle()


async def ask(world: World, user: str, *, service: Service | None = None) -> None:
    """Let a second, less sure statement contradict the first one."""
    key = DocumentKey(UserScope("t1", user), "user", "personal.json")
    for number, sure in ((1, 0.9), (2, 0.3)):
        value = {**lives_in(number)["value"], "confidence": sure}
        command = PatchDocument(
            key=key,
            actor=ALICE,
            precondition=IfAbsent() if number == 1 else IfExists(),
            idempotency_key=f"k{next(world.keys)}",
            profile_id=PERSONAL,
            binding_id="personal",
            ops=[{**lives_in(number), "value": value}],
            reason=Reason.LIVE_UPDATE,
            evidence=value["evidence"],
            confidence=sure,
        )
        result = await patch_document(command, service or world.service)
    assert [row["verdict"] for row in result.settled] == ["asked"]


async def listed(world: World, limit: int = 25) -> list[TenantQuestion]:
    found: list[TenantQuestion] = []
    cursor = None
    while True:
        page = await list_tenant_pending("t1", world.service, limit=limit, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def answer(question: TenantQuestion, number: int, **members: Any) -> ConfirmPending:
    given: Mapping[str, Any] = {"confidence": 0.95, "evidence": {"conversation_id": "c-answer"}, **members}
    return ConfirmPending(
        key=question.key,
        actor=ADMIN,
        precondition=IfExists(),
        idempotency_key=f"answer-{number}",
        pending_id=question.waiting.item["id"],
        **given,
    )


async def test_each_question_has_both_sides(world: World) -> None:
    await ask(world, "u1")
    (found,) = await listed(world)
    assert (found.key.scope.user_id, found.waiting.item["decides"]) == ("u1", "tenant")
    assert found.existing is not None
    assert found.existing.entry["value"] == "town 1"
    assert found.existing.evidence[0]["conversation_id"] == "c1"
    assert (found.existing.pointer, found.existing.confidence) == ("/content/facts/0", 0.9)
    assert found.waiting.item["target"]["value"]["value"] == "town 2"


async def test_users_without_such_a_question_cost_nothing(world: World) -> None:
    users = replace(world.service, catalog=deciding("user"))
    for number in range(20):
        await ask(world, f"user-{number}", service=users)
    await world.idle()
    assert await listed(world) == []
    assert len(world.calls) == 1
    await ask(world, "u1")
    await world.idle()
    assert len(await listed(world)) == 1
    assert len(world.calls) == 3  # the users, the marks of one, and one document


async def test_a_page_looks_at_so_many_users(world: World) -> None:
    for user in ("u1", "u2", "u3"):
        await ask(world, user)
    for limit in (1, 2, 25):
        assert [one.key.scope.user_id for one in await listed(world, limit)] == ["u1", "u2", "u3"]


async def test_an_answer_ends_it_and_the_mark_goes_when_no_write_can_need_it(world: World) -> None:
    await ask(world, "u1")
    (found,) = await listed(world)
    await confirm_pending(answer(found, 1, take="existing"), world.service)
    with pytest.raises(PendingItemNotFound) as late:
        await confirm_pending(answer(found, 2), world.service)
    assert (late.value.details["entry"]["value"], late.value.details["decided_by"]) == ("town 1", ADMIN.principal)
    assert await listed(world) == []
    assert marks(world) == 1
    world.clock.advance(SETTLE * 2)
    assert await listed(world) == []
    assert marks(world) == 0


def marks(world: World) -> int:
    return sum(name.startswith(f"{WAITING}t1/{WaitingKind.QUESTION}/") for name in world.marks())
