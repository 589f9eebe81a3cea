"""Whose documents a migration is about."""

from memnet.domain.catalog.migration_model import Migration, Unit
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.operations.governance.find_migration_units import find_migration_units
from tests.operations.migration_scenario import GLOBAL, Migrating
from tests.operations.service_scenario import SCOPE, STATIC, Service, note

OTHER, ELSEWHERE = UserScope("t1", "u2"), UserScope("t2", "u1")
FAMILY = Migration.model_validate_json(
    """{"migration_id": "m",
        "sources": {"old": {"namespace": "old", "path_template": "{id}.json", "schema_id": "s", "schema_version": "1"}},
        "targets": [{"namespace": "projects", "path_template": "{id}.json", "schema_id": "s", "schema_version": "2",
                     "steps": [{"op": "test", "path": "/content", "value": {}}]}]}"""
)


async def test_users_are_found_by_their_documents(service: Service) -> None:
    world = Migrating(service)
    for scope in (SCOPE, OTHER, ELSEWHERE):
        await world.put(scope=scope)
    found = world.migration()
    ports = {"documents": service.documents}
    assert await find_migration_units(found, tenant_id=None, user_id=None, **ports) == [
        Unit(SCOPE),
        Unit(OTHER),
        Unit(ELSEWHERE),
    ]
    assert await find_migration_units(found, tenant_id="t1", user_id=None, **ports) == [Unit(SCOPE), Unit(OTHER)]
    assert await find_migration_units(found, tenant_id="t1", user_id="u2", **ports) == [Unit(OTHER)]
    assert await find_migration_units(found, tenant_id="t1", user_id="u3", **ports) == []


async def test_each_member_of_a_family_is_a_unit(service: Service) -> None:
    for name in ("alpha", "beta"):
        await service.patch(note("s"), key=DocumentKey(SCOPE, "projects", f"{name}.json"))
    found = await find_migration_units(FAMILY, tenant_id="t1", user_id="u1", documents=service.documents)
    assert found == [Unit(SCOPE, "alpha"), Unit(SCOPE, "beta")]
    assert found[0].key(FAMILY.sources["old"]) == DocumentKey(SCOPE, "old", "alpha.json")


async def test_a_user_with_deleted_documents_is_found(service: Service) -> None:
    world = Migrating(service)
    etag = await world.put()
    await service.delete(over=etag, key=GLOBAL)
    assert await find_migration_units(world.migration(), tenant_id="t1", user_id="u1", documents=service.documents) == [
        Unit(STATIC.scope)
    ]
