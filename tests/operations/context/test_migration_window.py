"""The release window of the worked example: its agents read old and new documents, and write only the new ones."""

import pytest

from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.domain.catalog.profile import Profile
from memnet.domain.context.context import AssembleContext
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import PathNotWritable
from memnet.domain.documents.commands import IfMatch, PatchDocument
from memnet.operations.context import assemble_context
from memnet.operations.documents.write import patch_document
from tests.migration_example import HERE
from tests.operations.migration_scenario import GLOBAL, LIVE, Migrating, example, with_profile
from tests.operations.service_scenario import DYNAMIC, SCOPE, Service
from tests.services import service_of

TRANSITION = Profile.model_validate_json((HERE / "transition-v1.json").read_text("utf-8"))


@pytest.fixture
async def world(service: Service) -> Migrating:
    return Migrating(service, catalog=with_profile(example(), TRANSITION))


async def shown(world: Migrating) -> list[str]:
    """The documents that an agent gets under the profile of the window."""
    command = AssembleContext(scope=SCOPE, actor=LIVE, profile_id="transition-v1", text="", explicit_ids={})
    found = await assemble_context(
        command, service_of(documents=world.documents, catalog=world.catalog, semantic_router=NoSemanticRouter())
    )
    return [document.path for document in found.documents]


async def test_old_and_new_are_read_until_the_old_one_is_decommissioned(world: Migrating) -> None:
    await world.put()
    assert await shown(world) == ["global.json"]
    await world.run()
    assert await shown(world) == ["user_static.json", "user_dynamic.json", "global.json"]
    await world.prefer("Use tables.", DYNAMIC)
    assert (await world.decommission()).done == [GLOBAL]
    assert await shown(world) == ["user_static.json", "user_dynamic.json"]
    assert (await world.content(DYNAMIC))["preferences"] == ["Short answers.", "Use tables."]


async def test_the_old_document_takes_no_patch_under_the_profile_of_the_window(world: Migrating) -> None:
    etag = await world.put()
    command = PatchDocument(
        key=GLOBAL,
        actor=LIVE,
        precondition=IfMatch(etag),
        idempotency_key="k",
        profile_id="transition-v1",
        binding_id="global",
        ops=[{"op": "add", "path": "/content/preferences/-", "value": "More."}],
        reason=Reason.LIVE_UPDATE,
    )
    with pytest.raises(PathNotWritable, match="read-only"):
        await patch_document(command, service_of(catalog=world.catalog, **world.ports()))
