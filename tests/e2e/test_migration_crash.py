"""SIGKILL of `memnet migrate` between users: run again, it continues with the rest."""

import asyncio
from collections.abc import Mapping

import pytest

from local.emulators.fault_proxy import Fault
from memnet.domain.catalog.migration_model import Unit
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfAbsent, PatchDocument
from memnet.operations.documents.write import patch_document
from memnet.operations.governance.migrations import verify_migration_unit
from tests.e2e.cli_process import finish
from tests.e2e.client import User
from tests.e2e.service import Service
from tests.e2e.test_crash import DEADLINE
from tests.migration_example import write_catalog

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "split-global"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """An installation with the worked example."""
    return write_catalog(tmp_path_factory.mktemp("catalog"))


def key(user: User, path: str) -> DocumentKey:
    return DocumentKey(UserScope(user.tenant_id, user.user_id), "user", path)


async def create_old(service: Service, user: User) -> None:
    """Write the document of the old product."""
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
    await patch_document(command, service.storage)


async def differences(service: Service, user: User) -> list[str | None]:
    found = await verify_migration_unit(
        Unit(UserScope(user.tenant_id, user.user_id)),
        service.storage.catalog.migrations[NAME],
        service.storage,
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


async def test_a_run_that_is_killed_between_users_continues_with_the_rest(service: Service) -> None:
    users = [service.user() for _ in range(3)]
    users.sort(key=lambda user: user.user_id)
    for user in users:
        await create_old(service, user)
    held = service.proxy.inject(
        Fault.PAUSE_BEFORE, method="PUT", path=f"/{users[1].user_id}/documents/", nth=2, times=1
    )
    run = ("migrate", "run", "--migration", NAME, "--tenant", "t1")
    process = service.command(*run)
    try:
        async with asyncio.timeout(DEADLINE):
            await held.reached.wait()
    finally:
        await asyncio.to_thread(process.kill)
    held.drop()
    assert [len(await changes(service, user)) for user in users] == [3, 2, 1]
    await finish(service.command(*run))
    for user in users:
        assert await differences(service, user) == [None, None]
        assert {number for number, _ in (await changes(service, user)).values()} == {1}
