"""Every user is listed once, over any pages."""

import pytest

from memnet.domain.core.scope import UserScope
from memnet.operations.documents import list_users as module
from memnet.operations.documents.list_users import list_users
from memnet.stores import UserDirectory
from tests.memory_blobs import memory_blobs, storage_of

SCOPES = [UserScope(tenant, user) for tenant in ("t1", "t10", "t2") for user in ("u1", "u10", "u2")]


@pytest.mark.parametrize("page", [1, 2, 3, 1000])
async def test_a_tenants_users_or_all_are_listed_once_in_name_order(page, monkeypatch):
    monkeypatch.setattr(module, "PAGE", page)
    users = UserDirectory(memory_blobs())
    for scope in SCOPES:
        storage_of(users).overwrite(f"{scope.prefix}heads/1.json", b"{}")

    async def listed(tenant_id: str | None) -> list[UserScope]:
        return [scope async for found in list_users(tenant_id, users=users) for scope in found]

    assert await listed(None) == SCOPES
    assert await listed("t10") == SCOPES[3:6]
    assert await listed("t3") == []
