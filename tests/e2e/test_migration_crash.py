"""SIGKILL of `memnet migrate` at every kind of request to the storage: run again, it comes to the same end.

As in the crash tests of the API, the request that was under way is lost, was applied, or is applied later, after the
next run is through.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from local.emulators.fault_proxy import Fault, Injection
from local.stack.process import Child
from memnet.domain.catalog.migration_model import Unit
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfAbsent, PatchDocument
from memnet.operations.documents.write import patch_document
from memnet.operations.governance.migrations import migrate_unit, roll_back_unit, verify_migration_unit
from tests.e2e.cli_process import finish
from tests.e2e.client import User
from tests.e2e.service import Service
from tests.e2e.test_crash import DEADLINE, Fate
from tests.migration_example import write_catalog
from tests.services import arguments, service_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "split-global"
ADMIN = Actor("memnet-ops", frozenset())
MADE = {"preferences": ["Be brief."], "durable_facts": [], "pending_confirmations": []}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """An installation with the worked example."""
    return write_catalog(tmp_path_factory.mktemp("catalog"))


@dataclass(frozen=True)
class Step:
    """The n-th request of a kind."""

    method: str
    kind: str
    number: int


READ, SECOND_READ = Step("GET", "documents", 1), Step("GET", "documents", 5)
FIRST, SECOND = Step("PUT", "documents", 1), Step("PUT", "documents", 2)
AUDIT, SECOND_AUDIT = Step("PUT", "audit", 1), Step("PUT", "audit", 2)
CASES = [
    pytest.param(command, step, fate, id=f"{command}-{step.method}-{step.kind}-{step.number}-{fate}")
    for command in ("run", "rollback")
    for step in (READ, SECOND_READ, FIRST, SECOND, AUDIT, SECOND_AUDIT)
    for fate in Fate
    if step.method == "PUT" or fate is not Fate.LATE
]


def key(user: User, path: str) -> DocumentKey:
    return DocumentKey(UserScope(user.tenant_id, user.user_id), "user", path)


async def create_old(service: Service, user: User) -> None:
    """Write the document of the old product."""
    storage = service.storage
    command = PatchDocument(
        key=key(user, "global.json"),
        actor=Actor("svc-a", frozenset()),
        precondition=IfAbsent(),
        idempotency_key="create",
        profile_id="legacy-v1",
        binding_id="global",
        ops=[{"op": "add", "path": "/content/preferences/-", "value": "Be brief."}],
        reason=Reason.LIVE_UPDATE,
    )
    await patch_document(command, service_of(catalog=storage.catalog, **ports(service)))


def ports(service: Service) -> dict[str, object]:
    storage = service.storage
    rest = {"clock": storage.clock, "ids": storage.ids, "background": storage.background}
    return {"documents": storage.documents, "audit": storage.audit, **rest}


def start(service: Service, command: str, *selection: str) -> Child:
    """Start `memnet migrate` as a process of its own, through the proxy."""
    return service.command("migrate", command, "--migration", NAME, *selection)


async def kill_when_held(process: Child, held: Injection) -> None:
    try:
        async with asyncio.timeout(DEADLINE):
            await held.reached.wait()
    finally:
        await asyncio.to_thread(process.kill)


async def again(service: Service, command: str, user: User) -> None:
    """The same command again, in this process."""
    migration = service.storage.catalog.migrations[NAME]
    unit = Unit(UserScope(user.tenant_id, user.user_id))
    if command == "run":
        await migrate_unit(unit, migration, actor=ADMIN, **arguments(catalog=service.storage.catalog, **ports(service)))
    else:
        await roll_back_unit(unit, migration, actor=ADMIN, **arguments(**ports(service)))


async def differences(service: Service, user: User) -> list[str | None]:
    found = await verify_migration_unit(
        Unit(UserScope(user.tenant_id, user.user_id)),
        service.storage.catalog.migrations[NAME],
        service_of(documents=service.storage.documents, audit=service.storage.audit, catalog=service.storage.catalog),
    )
    return [verdict.difference for verdict in found]


async def changes(service: Service, user: User) -> dict[str, tuple[int, object]]:
    """By document, how many changes it has seen and what it says now."""
    found = {}
    for path in ("global.json", "user_static.json", "user_dynamic.json"):
        stored = await service.storage.documents.get(key(user, path))
        if stored is not None:
            head = envelope.load(stored.data)
            found[path] = (head.commit.sequence, head.content)
    return found


@pytest.mark.parametrize(("command", "step", "fate"), CASES)
async def test_a_killed_command_is_finished_by_the_next(service: Service, command: str, step: Step, fate: Fate) -> None:
    user = service.user()
    await create_old(service, user)
    if command == "rollback":
        await again(service, "run", user)
    fault = Fault.PAUSE_AFTER if fate is Fate.APPLIED else Fault.PAUSE_BEFORE
    held = service.proxy.inject(
        fault, method=step.method, path=f"/{user.user_id}/{step.kind}/", nth=step.number, times=1
    )
    selection = ("--tenant", user.tenant_id, "--user", user.user_id, "--actor", ADMIN.principal)
    await kill_when_held(start(service, command, *selection), held)
    if fate is Fate.LOST:
        held.drop()
    elif fate is Fate.APPLIED:
        held.release()
    await again(service, command, user)
    if fate is Fate.LATE:
        held.release()
    async with asyncio.timeout(DEADLINE):
        await held.finished.wait()

    old = (1, {"profile": {}, "preferences": ["Be brief."]})
    found = await changes(service, user)
    assert found["global.json"] == old
    if command == "run":
        assert found["user_static.json"] == (1, {"profile": {}, "projects_index": []})
        assert found["user_dynamic.json"] == (1, MADE)
        assert await differences(service, user) == [None, None]
    else:
        assert found["user_static.json"] == found["user_dynamic.json"] == (2, None)
        assert await differences(service, user) == ["is missing", "is missing"]
    await service.sweep()
    await service.verify(user)


async def test_a_run_that_is_killed_between_users_continues_with_the_rest(service: Service) -> None:
    users = [service.user() for _ in range(3)]
    users.sort(key=lambda user: user.user_id)
    for user in users:
        await create_old(service, user)
    held = service.proxy.inject(
        Fault.PAUSE_BEFORE, method="PUT", path=f"/{users[1].user_id}/documents/", nth=2, times=1
    )
    await kill_when_held(start(service, "run", "--tenant", "t1"), held)
    held.drop()
    assert [len(await changes(service, user)) for user in users] == [3, 2, 1]
    await finish(start(service, "run", "--tenant", "t1"))
    for user in users:
        assert await differences(service, user) == [None, None]
        assert {number for number, _ in (await changes(service, user)).values()} == {1}
