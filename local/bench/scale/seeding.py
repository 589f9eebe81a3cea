"""Users with one or two documents each, written by the service's own operations."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator

from local.bench.scale.world import World
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents.commands import IfAbsent, IfExists, PatchDocument, Precondition
from memnet.operations.documents.write import patch_document

TENANT = "scale"
CONCURRENCY = 16
PROFILE = "project-copilot-v1"
ACTOR = Actor("scale", frozenset({Role.WRITE}))
NOTE = "Answers are to be short, with one example, in the language of the question. " * 4


def scope_of(number: int) -> UserScope:
    """Return the user of this number."""
    return UserScope(TENANT, f"user-{number:07}")


async def seed(world: World, users: int) -> int:
    """Create `users` users, every second one with two documents; return the number of documents."""
    await _each(world, range(users), _create)
    return users + users // 2


async def change(world: World, numbers: Iterable[int]) -> None:
    """Change one document of each of these users."""
    await _each(world, numbers, _change)


async def _each(world: World, numbers: Iterable[int], work: Callable[[World, int], Awaitable[None]]) -> None:
    """Do the work for each number, a few at a time, and wait for what follows the responses."""
    left: Iterator[int] = iter(numbers)

    async def worker() -> None:
        for number in left:
            await work(world, number)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    await world.drain()


async def _create(world: World, number: int) -> None:
    ops = [{"op": "add", "path": "/content/preferences/-", "value": f"{number}: {NOTE}"}]
    await _patch(world, number, "user_dynamic", "user", "user_dynamic.json", ops, IfAbsent())
    if number % 2:
        ops = [{"op": "add", "path": "/content/summary", "value": f"{number}: {NOTE}"}]
        await _patch(world, number, "project_doc", "projects", "alpha.json", ops, IfAbsent())


async def _change(world: World, number: int) -> None:
    ops = [{"op": "replace", "path": "/content/preferences/0", "value": f"{world.service.ids.new()}: {NOTE}"}]
    await _patch(world, number, "user_dynamic", "user", "user_dynamic.json", ops, IfExists())


async def _patch(
    world: World,
    number: int,
    binding: str,
    namespace: str,
    path: str,
    ops: list[dict[str, str]],
    precondition: Precondition,
) -> None:
    command = PatchDocument(
        key=DocumentKey(scope_of(number), namespace, path),
        actor=ACTOR,
        precondition=precondition,
        idempotency_key=world.service.ids.new(),
        profile_id=PROFILE,
        binding_id=binding,
        ops=ops,
        reason=Reason.LIVE_UPDATE,
        evidence={"conversation_id": "c1", "message_ids": ["m1"]},
    )
    await patch_document(command, world.service)
