"""What blame answers after a migration and after an import."""

from typing import Any

import pytest

from memnet.domain.core.json_patch import pointer
from memnet.domain.core.scope import DocumentKey
from memnet.operations.history.get_blame import get_blame
from memnet.operations.history.read_origins import read_origins
from tests.operations.archive_scenario import OPERATOR, OTHER, exported, filled_world, imported
from tests.operations.migration_scenario import GLOBAL, TO_10, Migrating
from tests.operations.replay_scenario import DYNAMIC, World
from tests.operations.service_scenario import Service
from tests.services import service_of

OLDEST = {"name": "Ada Lovelace", "likes": "tea, no milk"}


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service)


async def blamed(service: Any, key: DocumentKey, at: str, as_of: str | None = None) -> Any:
    page = await get_blame(key, pointer(at), service, as_of=as_of, limit=100, cursor=None)
    return page.rows[0].node.origin


async def test_a_migration_of_a_document_keeps_the_origins_of_the_texts_that_it_moves(world: Migrating) -> None:
    await world.put(OLDEST, version="0.8.0")
    await world.run(TO_10)
    assert (await world.head(GLOBAL)).commit.sequence == 2
    ports = service_of(**world.ports())
    for at in ("/profile/display_name", "/preferences/0"):
        assert (await blamed(ports, GLOBAL, at)).sequence == 1
    assert (await blamed(ports, GLOBAL, "/profile")).reason == "admin_migration"


async def test_a_migration_to_another_document_is_the_origin_and_names_the_source(world: Migrating) -> None:
    await world.put()
    await world.run()
    ports = service_of(**world.ports())
    origin = await blamed(ports, DYNAMIC, "/preferences/0")
    assert (origin.reason, origin.sequence) == ("admin_migration", 1)
    source = (origin.evidence or {})["sources"]["global"]
    there = DocumentKey(GLOBAL.scope, source["namespace"], source["path"])
    assert (await blamed(ports, there, "/preferences/0", source["change_id"])).actor == "svc-live"


async def test_a_restore_keeps_all_origins(world: Migrating) -> None:
    from_archive, copy = await filled_world(), World()
    await imported(copy, (await exported(from_archive, reader=OPERATOR))[0])
    before, after = [await read_origins(DYNAMIC, one.service) for one in (from_archive, copy)]
    assert before.origins.content is not None
    assert after.origins.content is not None
    known = [[(place, node.origin, node.further) for place, node in one.origins.values()] for one in (before, after)]
    assert known[0] == known[1]


async def test_an_import_for_another_user_is_the_origin_and_names_the_archive(world: Migrating) -> None:
    from_archive, copy = await filled_world(), World()
    await imported(copy, (await exported(from_archive, reader=OPERATOR))[0], OTHER)
    origin = await blamed(copy.service, DocumentKey(OTHER, DYNAMIC.namespace, DYNAMIC.path), "/preferences")
    source = (origin.evidence or {})["import"]
    assert (source["user_id"], origin.sequence) == (DYNAMIC.scope.user_id, 1)
    assert (await read_origins(DYNAMIC, from_archive.service)).version.change["doc_id"] == source["doc_id"]
