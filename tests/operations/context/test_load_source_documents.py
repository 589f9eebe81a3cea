"""Which documents a replay may propose changes to."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.domain.core.errors import HistoryCorrupt, ProfileForbidden, ProfileNotFound
from memnet.domain.core.scope import Actor
from memnet.domain.replay.extraction import SourceDocument
from memnet.domain.replay.injected_context import wrap
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.context.load_source_documents import load_source_documents
from tests.domain.replay_samples import snapshot
from tests.domain.samples import CATALOG
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import ALPHA, DYNAMIC, WORKER, World, add
from tests.services import service_of


async def show(world: World, of: Snapshot, catalog: Any = CATALOG) -> list[SourceDocument]:
    return await load_source_documents(
        of,
        service_of(documents=world.documents, catalog=catalog, semantic_router=NoSemanticRouter()),
        actor=Actor(WORKER, frozenset()),
    )


async def shown_paths(*messages: tuple[str, str, str]) -> list[str]:
    world = World()
    await world.create_project()
    return [document.key.path for document in await show(world, snapshot(*messages))]


async def test_writable_documents_are_shown_and_the_routed_one_among_them() -> None:
    world = World()
    await world.create_project()
    written = await world.live(DYNAMIC, add("/preferences/-", "Wants diagrams"))
    dynamic, alpha = await show(world, snapshot(("m1", "user", "About alpha.")))
    assert (dynamic.binding_id, dynamic.key, dynamic.etag) == ("user_dynamic", DYNAMIC, written.etag)
    assert dynamic.content["preferences"] == ["Wants diagrams"]
    assert (alpha.binding_id, alpha.key, alpha.content["summary"]) == ("project_doc", ALPHA, "Search as it was")


async def test_what_is_not_there_is_shown_with_its_initial_content() -> None:
    (dynamic,) = await show(World(), snapshot())
    assert (dynamic.etag, dynamic.content["preferences"]) == (None, [])


async def test_only_what_the_user_said_routes() -> None:
    assert await shown_paths(("m1", "user", "About alpha.")) == ["user_dynamic.json", "alpha.json"]
    assert await shown_paths(("m1", "assistant", "About alpha.")) == ["user_dynamic.json"]
    injected = wrap("About alpha.")
    assert await shown_paths(("m1", "user", f"{injected} Hello.")) == ["user_dynamic.json"]


async def test_a_document_that_cannot_be_read_ends_the_replay() -> None:
    world = World()
    await world.create_project()
    storage_of(world.documents).overwrite(ALPHA.blob_name, b"{")
    with pytest.raises(HistoryCorrupt):
        await show(world, snapshot(("m1", "user", "About alpha.")))


async def test_a_profile_that_does_not_admit_the_worker_shows_nothing() -> None:
    profile = CATALOG.profile("project-copilot-v1").model_copy(update={"allowed_principals": ("svc-chat",)})
    catalog = replace(CATALOG, profiles=MappingProxyType({profile.profile_id: profile}))
    with pytest.raises(ProfileForbidden, match=WORKER):
        await show(World(), snapshot(), catalog)
    with pytest.raises(ProfileNotFound):
        await show(World(), snapshot(), replace(CATALOG, profiles=MappingProxyType({})))
