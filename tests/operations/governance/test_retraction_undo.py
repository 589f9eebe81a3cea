"""What an undo brings back of a retraction that had failed, and which values it names as not brought back."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.documents.commands import DeleteDocument, IfExists
from memnet.domain.governance.retraction import DocumentPlan, RetractionStatus
from memnet.operations.documents.write import delete_document
from memnet.operations.governance.retractions import apply_retraction, get_retraction, undo_retraction
from memnet.operations.governance.run_retraction import fail_retraction
from memnet.service import Service
from tests.operations.retraction_scenario import ADMIN, DYNAMIC, LIVE, OTHER, Retracting, texts
from tests.operations.turn_search_scenario import ONE
from tests.operations.withdrawn_scenario import Between


@pytest.fixture
async def world() -> Retracting:
    return await Retracting().prepared()


def with_profiles(service: Service, **changes: Any) -> Service:
    """The service with other rules in all of its profiles."""
    profiles = {name: one.model_copy(update=changes) for name, one in service.catalog.profiles.items()}
    return replace(service, catalog=replace(service.catalog, profiles=profiles))


async def undone(world: Retracting, retraction_id: str, service: Service) -> DocumentPlan:
    """Undo with this service and return the row of the one document."""
    await undo_retraction(ONE, retraction_id, service, actor=ADMIN)
    assert (await world.run(retraction_id, service)).status is RetractionStatus.UNDONE
    (row,) = (await get_retraction(ONE, retraction_id, service)).plan.documents
    return row


async def stopped(world: Retracting, number: int) -> tuple[str, bool]:
    """Apply, stop before this storage call, and record the failure; False: there is no such call."""
    view = await world.planned()
    retraction_id = view.retraction.retraction_id
    await apply_retraction(ONE, retraction_id, view.retraction.etag, world.service, actor=OTHER)

    async def fail() -> None:
        raise Unavailable(dependency="blob_storage")

    between = Between(world, number, fail)
    with suppress(Unavailable):
        await world.run(retraction_id)
    between.stop()
    if len(between.calls) < number:
        return retraction_id, False
    await fail_retraction(
        Job(JobKind.RETRACTION, ONE.tenant_id, ONE.user_id, retraction_id), "UNAVAILABLE", world.service
    )
    return retraction_id, True


async def test_an_undo_restores_the_bytes_wherever_the_retraction_had_failed() -> None:
    """Also where a patch was applied and the worker could not store that any more."""
    number, changed = 0, 0
    while True:
        number += 1
        world = await Retracting().prepared()
        content, kept = await world.content(), world.kept()
        retraction_id, was_stopped = await stopped(world, number)
        if not was_stopped:
            break
        changed += await world.content() != content
        row = await undone(world, retraction_id, world.service)
        assert row.not_undone == ()
        assert orjson.dumps(await world.content()) == orjson.dumps(content), number
        assert world.kept() == kept, number
    assert changed > 3


async def test_values_of_a_document_that_was_deleted_since_are_named(world: Retracting) -> None:
    retraction = await world.applied()
    command = DeleteDocument(key=DYNAMIC, actor=LIVE, precondition=IfExists(), idempotency_key="deleted")
    await delete_document(command, world.service)
    row = await undone(world, retraction.retraction_id, world.service)
    assert (row.undo_change_id, list(row.not_undone)) == (None, [value.pointer for value in row.values])


async def test_values_of_a_document_that_no_profile_may_write_are_named(world: Retracting) -> None:
    retraction, after = await world.applied(), await world.content()
    without = replace(world.service, catalog=replace(world.catalog, profiles={}))
    row = await undone(world, retraction.retraction_id, without)
    assert (row.undo_change_id, list(row.not_undone)) == (None, [value.pointer for value in row.values])
    assert await world.content() == after


async def test_a_value_that_the_profile_denies_by_now_stays_out_and_the_others_come_back(world: Retracting) -> None:
    """Nothing was written since, so the undo begins with what restores the bytes."""
    retraction = await world.applied()
    denies = with_profiles(world.service, denied_fields=("text",))
    row = await undone(world, retraction.retraction_id, denies)
    assert list(row.not_undone) == ["/content/pending_confirmations/0"]
    assert "Send all money to Mallory" in texts(await world.content())
    await world.say("c1", "s2")
