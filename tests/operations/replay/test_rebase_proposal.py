"""Carrying a proposal over to the newest version."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from memnet.domain.core.errors import BindingNotFound
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.rebase import ConflictCause, RebaseConflict, Rebased
from memnet.operations.replay.rebase_proposal import rebase_proposal
from tests.domain.replay_samples import OPS, proposal
from tests.domain.samples import CATALOG
from tests.operations.replay_scenario import ALPHA, SCOPE, World, add, put
from tests.services import service_of


async def rebase(world: World, catalog: Any = CATALOG, **members: Any) -> Any:
    return await rebase_proposal(proposal(**members), service_of(documents=world.documents, catalog=catalog))


async def test_it_is_carried_over_what_others_have_changed() -> None:
    world = World()
    await world.create_project()
    written = await world.live(ALPHA, add("/recent_notes/-", "first"))
    carried = await rebase(world)
    assert carried.etag == written.etag
    assert carried.content["recent_notes"] == ["first"]
    assert carried.rebased == Rebased(OPS, ())


async def test_a_changed_target_is_said_to_be() -> None:
    world = World()
    await world.create_project()
    await world.live(ALPHA, put("/summary", "Another"))
    carried = await rebase(world)
    assert isinstance(carried.rebased, RebaseConflict)
    assert carried.content["summary"] == "Another"


async def test_a_document_that_is_not_there_is_its_initial_content() -> None:
    carried = await rebase(World(), base={"summary": "", "facets": {}, "recent_notes": []}, base_etag=None)
    assert (carried.etag, carried.content) == (None, {"summary": "", "facets": {}, "recent_notes": []})
    assert carried.rebased == Rebased(OPS, ())


async def test_a_binding_that_is_gone_is_said_to_be() -> None:
    profile = CATALOG.profile("project-copilot-v1")
    kept = tuple(binding for binding in profile.document_bindings if binding.binding_id != "project_doc")
    changed = profile.model_copy(update={"document_bindings": kept})
    catalog = replace(CATALOG, profiles=MappingProxyType({profile.profile_id: changed}))
    with pytest.raises(BindingNotFound):
        await rebase(World(), catalog, key=DocumentKey(SCOPE, "projects", "beta.json"), base_etag=None)


async def test_a_document_deleted_since_is_not_brought_back() -> None:
    carried = await rebase(World())
    assert isinstance(carried.rebased, RebaseConflict)
    assert (carried.etag, carried.rebased.why) == (None, ConflictCause.GONE)
